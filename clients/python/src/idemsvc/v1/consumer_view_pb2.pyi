import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from idemsvc.v1 import blocker_pb2 as _blocker_pb2
from idemsvc.v1 import effect_pb2 as _effect_pb2
from idemsvc.v1 import event_pb2 as _event_pb2
from idemsvc.v1 import state_pb2 as _state_pb2
from idemsvc.v1 import version_pb2 as _version_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ConsumerView(_message.Message):
    __slots__ = ("consumer", "state", "reason", "held_reason", "attempts_total", "round", "round_attempts", "max_attempts", "attempts", "attempts_omitted", "claim", "effects", "effects_omitted", "resources", "last_error", "result_size", "result", "result_content_type", "result_omitted", "result_gone", "outputs", "waiting", "next_attempt_at", "first_seen_at", "settled_at", "stale_claim", "replay_in_progress", "settled_as", "version", "row_version", "replays", "replay_failed", "carried_by")
    CONSUMER_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    HELD_REASON_FIELD_NUMBER: _ClassVar[int]
    ATTEMPTS_TOTAL_FIELD_NUMBER: _ClassVar[int]
    ROUND_FIELD_NUMBER: _ClassVar[int]
    ROUND_ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    MAX_ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    ATTEMPTS_OMITTED_FIELD_NUMBER: _ClassVar[int]
    CLAIM_FIELD_NUMBER: _ClassVar[int]
    EFFECTS_FIELD_NUMBER: _ClassVar[int]
    EFFECTS_OMITTED_FIELD_NUMBER: _ClassVar[int]
    RESOURCES_FIELD_NUMBER: _ClassVar[int]
    LAST_ERROR_FIELD_NUMBER: _ClassVar[int]
    RESULT_SIZE_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    RESULT_CONTENT_TYPE_FIELD_NUMBER: _ClassVar[int]
    RESULT_OMITTED_FIELD_NUMBER: _ClassVar[int]
    RESULT_GONE_FIELD_NUMBER: _ClassVar[int]
    OUTPUTS_FIELD_NUMBER: _ClassVar[int]
    WAITING_FIELD_NUMBER: _ClassVar[int]
    NEXT_ATTEMPT_AT_FIELD_NUMBER: _ClassVar[int]
    FIRST_SEEN_AT_FIELD_NUMBER: _ClassVar[int]
    SETTLED_AT_FIELD_NUMBER: _ClassVar[int]
    STALE_CLAIM_FIELD_NUMBER: _ClassVar[int]
    REPLAY_IN_PROGRESS_FIELD_NUMBER: _ClassVar[int]
    SETTLED_AS_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    ROW_VERSION_FIELD_NUMBER: _ClassVar[int]
    REPLAYS_FIELD_NUMBER: _ClassVar[int]
    REPLAY_FAILED_FIELD_NUMBER: _ClassVar[int]
    CARRIED_BY_FIELD_NUMBER: _ClassVar[int]
    consumer: str
    state: _state_pb2.EventState
    reason: str
    held_reason: _state_pb2.HeldReason
    attempts_total: int
    round: int
    round_attempts: int
    max_attempts: int
    attempts: _containers.RepeatedCompositeFieldContainer[AttemptView]
    attempts_omitted: int
    claim: CurrentClaimView
    effects: _containers.RepeatedCompositeFieldContainer[_effect_pb2.SideEffect]
    effects_omitted: int
    resources: _containers.RepeatedCompositeFieldContainer[ResourceView]
    last_error: _state_pb2.ProcessingError
    result_size: int
    result: bytes
    result_content_type: str
    result_omitted: bool
    result_gone: bool
    outputs: _containers.RepeatedScalarFieldContainer[str]
    waiting: WaitingView
    next_attempt_at: _timestamp_pb2.Timestamp
    first_seen_at: _timestamp_pb2.Timestamp
    settled_at: _timestamp_pb2.Timestamp
    stale_claim: _state_pb2.StaleClaim
    replay_in_progress: bool
    settled_as: _state_pb2.EventState
    version: _version_pb2.Version
    row_version: int
    replays: int
    replay_failed: bool
    carried_by: _event_pb2.EventKey
    def __init__(self, consumer: _Optional[str] = ..., state: _Optional[_Union[_state_pb2.EventState, str]] = ..., reason: _Optional[str] = ..., held_reason: _Optional[_Union[_state_pb2.HeldReason, str]] = ..., attempts_total: _Optional[int] = ..., round: _Optional[int] = ..., round_attempts: _Optional[int] = ..., max_attempts: _Optional[int] = ..., attempts: _Optional[_Iterable[_Union[AttemptView, _Mapping]]] = ..., attempts_omitted: _Optional[int] = ..., claim: _Optional[_Union[CurrentClaimView, _Mapping]] = ..., effects: _Optional[_Iterable[_Union[_effect_pb2.SideEffect, _Mapping]]] = ..., effects_omitted: _Optional[int] = ..., resources: _Optional[_Iterable[_Union[ResourceView, _Mapping]]] = ..., last_error: _Optional[_Union[_state_pb2.ProcessingError, _Mapping]] = ..., result_size: _Optional[int] = ..., result: _Optional[bytes] = ..., result_content_type: _Optional[str] = ..., result_omitted: _Optional[bool] = ..., result_gone: _Optional[bool] = ..., outputs: _Optional[_Iterable[str]] = ..., waiting: _Optional[_Union[WaitingView, _Mapping]] = ..., next_attempt_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., first_seen_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., settled_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., stale_claim: _Optional[_Union[_state_pb2.StaleClaim, str]] = ..., replay_in_progress: _Optional[bool] = ..., settled_as: _Optional[_Union[_state_pb2.EventState, str]] = ..., version: _Optional[_Union[_version_pb2.Version, _Mapping]] = ..., row_version: _Optional[int] = ..., replays: _Optional[int] = ..., replay_failed: _Optional[bool] = ..., carried_by: _Optional[_Union[_event_pb2.EventKey, _Mapping]] = ...) -> None: ...

class AttemptView(_message.Message):
    __slots__ = ("attempt", "round", "fence", "lane_fence", "started_at", "ended_at", "end", "error", "owner", "is_replay", "late", "counted", "result_size", "payload_hash", "late_reports", "release_reason", "trace")
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    ROUND_FIELD_NUMBER: _ClassVar[int]
    FENCE_FIELD_NUMBER: _ClassVar[int]
    LANE_FENCE_FIELD_NUMBER: _ClassVar[int]
    STARTED_AT_FIELD_NUMBER: _ClassVar[int]
    ENDED_AT_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    IS_REPLAY_FIELD_NUMBER: _ClassVar[int]
    LATE_FIELD_NUMBER: _ClassVar[int]
    COUNTED_FIELD_NUMBER: _ClassVar[int]
    RESULT_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_HASH_FIELD_NUMBER: _ClassVar[int]
    LATE_REPORTS_FIELD_NUMBER: _ClassVar[int]
    RELEASE_REASON_FIELD_NUMBER: _ClassVar[int]
    TRACE_FIELD_NUMBER: _ClassVar[int]
    attempt: int
    round: int
    fence: int
    lane_fence: int
    started_at: _timestamp_pb2.Timestamp
    ended_at: _timestamp_pb2.Timestamp
    end: _state_pb2.AttemptEnd
    error: _state_pb2.ProcessingError
    owner: str
    is_replay: bool
    late: bool
    counted: bool
    result_size: int
    payload_hash: bytes
    late_reports: _containers.RepeatedCompositeFieldContainer[_state_pb2.LateReport]
    release_reason: str
    trace: str
    def __init__(self, attempt: _Optional[int] = ..., round: _Optional[int] = ..., fence: _Optional[int] = ..., lane_fence: _Optional[int] = ..., started_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., ended_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., end: _Optional[_Union[_state_pb2.AttemptEnd, str]] = ..., error: _Optional[_Union[_state_pb2.ProcessingError, _Mapping]] = ..., owner: _Optional[str] = ..., is_replay: _Optional[bool] = ..., late: _Optional[bool] = ..., counted: _Optional[bool] = ..., result_size: _Optional[int] = ..., payload_hash: _Optional[bytes] = ..., late_reports: _Optional[_Iterable[_Union[_state_pb2.LateReport, _Mapping]]] = ..., release_reason: _Optional[str] = ..., trace: _Optional[str] = ...) -> None: ...

class CurrentClaimView(_message.Message):
    __slots__ = ("owner", "fence", "lane_fence", "granted_at", "lease_expires_at", "reentries", "attempt")
    OWNER_FIELD_NUMBER: _ClassVar[int]
    FENCE_FIELD_NUMBER: _ClassVar[int]
    LANE_FENCE_FIELD_NUMBER: _ClassVar[int]
    GRANTED_AT_FIELD_NUMBER: _ClassVar[int]
    LEASE_EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    REENTRIES_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    owner: str
    fence: int
    lane_fence: int
    granted_at: _timestamp_pb2.Timestamp
    lease_expires_at: _timestamp_pb2.Timestamp
    reentries: int
    attempt: int
    def __init__(self, owner: _Optional[str] = ..., fence: _Optional[int] = ..., lane_fence: _Optional[int] = ..., granted_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., lease_expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., reentries: _Optional[int] = ..., attempt: _Optional[int] = ...) -> None: ...

class ResourceView(_message.Message):
    __slots__ = ("resource", "mode", "applied_version", "applied_by", "current_state", "lane_owner", "lane_fence", "fingerprint")
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    APPLIED_VERSION_FIELD_NUMBER: _ClassVar[int]
    APPLIED_BY_FIELD_NUMBER: _ClassVar[int]
    CURRENT_STATE_FIELD_NUMBER: _ClassVar[int]
    LANE_OWNER_FIELD_NUMBER: _ClassVar[int]
    LANE_FENCE_FIELD_NUMBER: _ClassVar[int]
    FINGERPRINT_FIELD_NUMBER: _ClassVar[int]
    resource: _event_pb2.Resource
    mode: _version_pb2.OrderingMode
    applied_version: _version_pb2.Version
    applied_by: _event_pb2.EventKey
    current_state: str
    lane_owner: _event_pb2.EventKey
    lane_fence: int
    fingerprint: bytes
    def __init__(self, resource: _Optional[_Union[_event_pb2.Resource, _Mapping]] = ..., mode: _Optional[_Union[_version_pb2.OrderingMode, str]] = ..., applied_version: _Optional[_Union[_version_pb2.Version, _Mapping]] = ..., applied_by: _Optional[_Union[_event_pb2.EventKey, _Mapping]] = ..., current_state: _Optional[str] = ..., lane_owner: _Optional[_Union[_event_pb2.EventKey, _Mapping]] = ..., lane_fence: _Optional[int] = ..., fingerprint: _Optional[bytes] = ...) -> None: ...

class WaitingView(_message.Message):
    __slots__ = ("waiting_for", "waiting_since", "blocked_by")
    WAITING_FOR_FIELD_NUMBER: _ClassVar[int]
    WAITING_SINCE_FIELD_NUMBER: _ClassVar[int]
    BLOCKED_BY_FIELD_NUMBER: _ClassVar[int]
    waiting_for: _state_pb2.WaitingFor
    waiting_since: _timestamp_pb2.Timestamp
    blocked_by: _blocker_pb2.Blocker
    def __init__(self, waiting_for: _Optional[_Union[_state_pb2.WaitingFor, str]] = ..., waiting_since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., blocked_by: _Optional[_Union[_blocker_pb2.Blocker, _Mapping]] = ...) -> None: ...
