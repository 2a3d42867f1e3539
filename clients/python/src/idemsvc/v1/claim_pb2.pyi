import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from idemsvc.v1 import blocker_pb2 as _blocker_pb2
from idemsvc.v1 import delivery_pb2 as _delivery_pb2
from idemsvc.v1 import effect_pb2 as _effect_pb2
from idemsvc.v1 import event_pb2 as _event_pb2
from idemsvc.v1 import state_pb2 as _state_pb2
from idemsvc.v1 import version_pb2 as _version_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Advice(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ADVICE_UNSPECIFIED: _ClassVar[Advice]
    ADVICE_PROCESS: _ClassVar[Advice]
    ADVICE_ACKNOWLEDGE: _ClassVar[Advice]
    ADVICE_REPEAT_LATER: _ClassVar[Advice]

class ClaimOutcome(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CLAIM_OUTCOME_UNSPECIFIED: _ClassVar[ClaimOutcome]
    CLAIM_OUTCOME_CLAIMED: _ClassVar[ClaimOutcome]
    CLAIM_OUTCOME_ALREADY_PROCESSED: _ClassVar[ClaimOutcome]
    CLAIM_OUTCOME_IN_PROGRESS: _ClassVar[ClaimOutcome]
    CLAIM_OUTCOME_HELD: _ClassVar[ClaimOutcome]
    CLAIM_OUTCOME_FAILED_TERMINAL: _ClassVar[ClaimOutcome]
    CLAIM_OUTCOME_DEAD_LETTERED: _ClassVar[ClaimOutcome]
    CLAIM_OUTCOME_STALE: _ClassVar[ClaimOutcome]
    CLAIM_OUTCOME_RESOURCE_BUSY: _ClassVar[ClaimOutcome]
    CLAIM_OUTCOME_AWAITING_PREDECESSOR: _ClassVar[ClaimOutcome]
    CLAIM_OUTCOME_VERSION_TIED: _ClassVar[ClaimOutcome]
    CLAIM_OUTCOME_ILLEGAL_TRANSITION: _ClassVar[ClaimOutcome]
    CLAIM_OUTCOME_LOOP_BLOCKED: _ClassVar[ClaimOutcome]
    CLAIM_OUTCOME_SELF_ORIGINATED: _ClassVar[ClaimOutcome]
    CLAIM_OUTCOME_REJECTED_SIGNATURE: _ClassVar[ClaimOutcome]
    CLAIM_OUTCOME_RETRY_SCHEDULED: _ClassVar[ClaimOutcome]
    CLAIM_OUTCOME_PAYLOAD_MISMATCH: _ClassVar[ClaimOutcome]
ADVICE_UNSPECIFIED: Advice
ADVICE_PROCESS: Advice
ADVICE_ACKNOWLEDGE: Advice
ADVICE_REPEAT_LATER: Advice
CLAIM_OUTCOME_UNSPECIFIED: ClaimOutcome
CLAIM_OUTCOME_CLAIMED: ClaimOutcome
CLAIM_OUTCOME_ALREADY_PROCESSED: ClaimOutcome
CLAIM_OUTCOME_IN_PROGRESS: ClaimOutcome
CLAIM_OUTCOME_HELD: ClaimOutcome
CLAIM_OUTCOME_FAILED_TERMINAL: ClaimOutcome
CLAIM_OUTCOME_DEAD_LETTERED: ClaimOutcome
CLAIM_OUTCOME_STALE: ClaimOutcome
CLAIM_OUTCOME_RESOURCE_BUSY: ClaimOutcome
CLAIM_OUTCOME_AWAITING_PREDECESSOR: ClaimOutcome
CLAIM_OUTCOME_VERSION_TIED: ClaimOutcome
CLAIM_OUTCOME_ILLEGAL_TRANSITION: ClaimOutcome
CLAIM_OUTCOME_LOOP_BLOCKED: ClaimOutcome
CLAIM_OUTCOME_SELF_ORIGINATED: ClaimOutcome
CLAIM_OUTCOME_REJECTED_SIGNATURE: ClaimOutcome
CLAIM_OUTCOME_RETRY_SCHEDULED: ClaimOutcome
CLAIM_OUTCOME_PAYLOAD_MISMATCH: ClaimOutcome

class ClaimEventRequest(_message.Message):
    __slots__ = ("namespace", "consumer", "event", "delivery", "claimant", "lease", "wait", "want_payload", "ordering", "stale_claim", "accept_replay")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    CONSUMER_FIELD_NUMBER: _ClassVar[int]
    EVENT_FIELD_NUMBER: _ClassVar[int]
    DELIVERY_FIELD_NUMBER: _ClassVar[int]
    CLAIMANT_FIELD_NUMBER: _ClassVar[int]
    LEASE_FIELD_NUMBER: _ClassVar[int]
    WAIT_FIELD_NUMBER: _ClassVar[int]
    WANT_PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    ORDERING_FIELD_NUMBER: _ClassVar[int]
    STALE_CLAIM_FIELD_NUMBER: _ClassVar[int]
    ACCEPT_REPLAY_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    consumer: str
    event: _event_pb2.Event
    delivery: _delivery_pb2.Delivery
    claimant: str
    lease: _duration_pb2.Duration
    wait: _duration_pb2.Duration
    want_payload: bool
    ordering: _version_pb2.Ordering
    stale_claim: _state_pb2.StaleClaim
    accept_replay: bool
    def __init__(self, namespace: _Optional[str] = ..., consumer: _Optional[str] = ..., event: _Optional[_Union[_event_pb2.Event, _Mapping]] = ..., delivery: _Optional[_Union[_delivery_pb2.Delivery, _Mapping]] = ..., claimant: _Optional[str] = ..., lease: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., wait: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., want_payload: _Optional[bool] = ..., ordering: _Optional[_Union[_version_pb2.Ordering, _Mapping]] = ..., stale_claim: _Optional[_Union[_state_pb2.StaleClaim, str]] = ..., accept_replay: _Optional[bool] = ...) -> None: ...

class ClaimEventResponse(_message.Message):
    __slots__ = ("outcome", "advice", "retry_after", "claim", "existing", "blocked_by", "anomalies", "first_delivery_trace", "cause_trace", "disposition", "previous_attempt_trace")
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    ADVICE_FIELD_NUMBER: _ClassVar[int]
    RETRY_AFTER_FIELD_NUMBER: _ClassVar[int]
    CLAIM_FIELD_NUMBER: _ClassVar[int]
    EXISTING_FIELD_NUMBER: _ClassVar[int]
    BLOCKED_BY_FIELD_NUMBER: _ClassVar[int]
    ANOMALIES_FIELD_NUMBER: _ClassVar[int]
    FIRST_DELIVERY_TRACE_FIELD_NUMBER: _ClassVar[int]
    CAUSE_TRACE_FIELD_NUMBER: _ClassVar[int]
    DISPOSITION_FIELD_NUMBER: _ClassVar[int]
    PREVIOUS_ATTEMPT_TRACE_FIELD_NUMBER: _ClassVar[int]
    outcome: ClaimOutcome
    advice: Advice
    retry_after: _duration_pb2.Duration
    claim: Claim
    existing: ExistingEvent
    blocked_by: _blocker_pb2.Blocker
    anomalies: _containers.RepeatedScalarFieldContainer[_delivery_pb2.Anomaly]
    first_delivery_trace: str
    cause_trace: str
    disposition: _delivery_pb2.Disposition
    previous_attempt_trace: str
    def __init__(self, outcome: _Optional[_Union[ClaimOutcome, str]] = ..., advice: _Optional[_Union[Advice, str]] = ..., retry_after: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., claim: _Optional[_Union[Claim, _Mapping]] = ..., existing: _Optional[_Union[ExistingEvent, _Mapping]] = ..., blocked_by: _Optional[_Union[_blocker_pb2.Blocker, _Mapping]] = ..., anomalies: _Optional[_Iterable[_Union[_delivery_pb2.Anomaly, str]]] = ..., first_delivery_trace: _Optional[str] = ..., cause_trace: _Optional[str] = ..., disposition: _Optional[_Union[_delivery_pb2.Disposition, str]] = ..., previous_attempt_trace: _Optional[str] = ...) -> None: ...

class Claim(_message.Message):
    __slots__ = ("token", "fence", "lane_fence", "attempt", "max_attempts", "lease_expires_at", "is_replay", "tied", "effects", "previous_error", "late_reports", "payload", "payload_hash", "lease", "content_type", "payload_ref", "payload_gone", "correlation_id", "stale_claim", "round", "round_attempt", "repeated", "effects_omitted", "payload_omitted")
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    FENCE_FIELD_NUMBER: _ClassVar[int]
    LANE_FENCE_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    MAX_ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    LEASE_EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    IS_REPLAY_FIELD_NUMBER: _ClassVar[int]
    TIED_FIELD_NUMBER: _ClassVar[int]
    EFFECTS_FIELD_NUMBER: _ClassVar[int]
    PREVIOUS_ERROR_FIELD_NUMBER: _ClassVar[int]
    LATE_REPORTS_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_HASH_FIELD_NUMBER: _ClassVar[int]
    LEASE_FIELD_NUMBER: _ClassVar[int]
    CONTENT_TYPE_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_REF_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_GONE_FIELD_NUMBER: _ClassVar[int]
    CORRELATION_ID_FIELD_NUMBER: _ClassVar[int]
    STALE_CLAIM_FIELD_NUMBER: _ClassVar[int]
    ROUND_FIELD_NUMBER: _ClassVar[int]
    ROUND_ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    REPEATED_FIELD_NUMBER: _ClassVar[int]
    EFFECTS_OMITTED_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_OMITTED_FIELD_NUMBER: _ClassVar[int]
    token: bytes
    fence: int
    lane_fence: int
    attempt: int
    max_attempts: int
    lease_expires_at: _timestamp_pb2.Timestamp
    is_replay: bool
    tied: bool
    effects: _containers.RepeatedCompositeFieldContainer[_effect_pb2.SideEffect]
    previous_error: _state_pb2.ProcessingError
    late_reports: _containers.RepeatedCompositeFieldContainer[_state_pb2.LateReport]
    payload: bytes
    payload_hash: bytes
    lease: _duration_pb2.Duration
    content_type: str
    payload_ref: str
    payload_gone: bool
    correlation_id: str
    stale_claim: _state_pb2.StaleClaim
    round: int
    round_attempt: int
    repeated: bool
    effects_omitted: bool
    payload_omitted: bool
    def __init__(self, token: _Optional[bytes] = ..., fence: _Optional[int] = ..., lane_fence: _Optional[int] = ..., attempt: _Optional[int] = ..., max_attempts: _Optional[int] = ..., lease_expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., is_replay: _Optional[bool] = ..., tied: _Optional[bool] = ..., effects: _Optional[_Iterable[_Union[_effect_pb2.SideEffect, _Mapping]]] = ..., previous_error: _Optional[_Union[_state_pb2.ProcessingError, _Mapping]] = ..., late_reports: _Optional[_Iterable[_Union[_state_pb2.LateReport, _Mapping]]] = ..., payload: _Optional[bytes] = ..., payload_hash: _Optional[bytes] = ..., lease: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., content_type: _Optional[str] = ..., payload_ref: _Optional[str] = ..., payload_gone: _Optional[bool] = ..., correlation_id: _Optional[str] = ..., stale_claim: _Optional[_Union[_state_pb2.StaleClaim, str]] = ..., round: _Optional[int] = ..., round_attempt: _Optional[int] = ..., repeated: _Optional[bool] = ..., effects_omitted: _Optional[bool] = ..., payload_omitted: _Optional[bool] = ...) -> None: ...

class ExistingEvent(_message.Message):
    __slots__ = ("state", "result", "result_content_type", "result_omitted", "result_gone", "error", "owner_since", "lease_expires_at", "outputs", "attempts", "settled_at", "next_attempt_at", "replay_in_progress", "held_reason", "reason", "waiting_for")
    STATE_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    RESULT_CONTENT_TYPE_FIELD_NUMBER: _ClassVar[int]
    RESULT_OMITTED_FIELD_NUMBER: _ClassVar[int]
    RESULT_GONE_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    OWNER_SINCE_FIELD_NUMBER: _ClassVar[int]
    LEASE_EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    OUTPUTS_FIELD_NUMBER: _ClassVar[int]
    ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    SETTLED_AT_FIELD_NUMBER: _ClassVar[int]
    NEXT_ATTEMPT_AT_FIELD_NUMBER: _ClassVar[int]
    REPLAY_IN_PROGRESS_FIELD_NUMBER: _ClassVar[int]
    HELD_REASON_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    WAITING_FOR_FIELD_NUMBER: _ClassVar[int]
    state: _state_pb2.EventState
    result: bytes
    result_content_type: str
    result_omitted: bool
    result_gone: bool
    error: _state_pb2.ProcessingError
    owner_since: _timestamp_pb2.Timestamp
    lease_expires_at: _timestamp_pb2.Timestamp
    outputs: _containers.RepeatedScalarFieldContainer[str]
    attempts: int
    settled_at: _timestamp_pb2.Timestamp
    next_attempt_at: _timestamp_pb2.Timestamp
    replay_in_progress: bool
    held_reason: _state_pb2.HeldReason
    reason: str
    waiting_for: _state_pb2.WaitingFor
    def __init__(self, state: _Optional[_Union[_state_pb2.EventState, str]] = ..., result: _Optional[bytes] = ..., result_content_type: _Optional[str] = ..., result_omitted: _Optional[bool] = ..., result_gone: _Optional[bool] = ..., error: _Optional[_Union[_state_pb2.ProcessingError, _Mapping]] = ..., owner_since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., lease_expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., outputs: _Optional[_Iterable[str]] = ..., attempts: _Optional[int] = ..., settled_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., next_attempt_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., replay_in_progress: _Optional[bool] = ..., held_reason: _Optional[_Union[_state_pb2.HeldReason, str]] = ..., reason: _Optional[str] = ..., waiting_for: _Optional[_Union[_state_pb2.WaitingFor, str]] = ...) -> None: ...
