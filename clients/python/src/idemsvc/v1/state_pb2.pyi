import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class EventState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    EVENT_STATE_UNSPECIFIED: _ClassVar[EventState]
    EVENT_STATE_RECEIVED: _ClassVar[EventState]
    EVENT_STATE_PROCESSING: _ClassVar[EventState]
    EVENT_STATE_PROCESSED: _ClassVar[EventState]
    EVENT_STATE_FAILED_RETRYABLE: _ClassVar[EventState]
    EVENT_STATE_FAILED_TERMINAL: _ClassVar[EventState]
    EVENT_STATE_DEAD_LETTERED: _ClassVar[EventState]
    EVENT_STATE_IGNORED_STALE: _ClassVar[EventState]
    EVENT_STATE_HELD: _ClassVar[EventState]
    EVENT_STATE_BLOCKED_LOOP: _ClassVar[EventState]
    EVENT_STATE_IGNORED_SELF_ORIGINATED: _ClassVar[EventState]

class HeldReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    HELD_REASON_UNSPECIFIED: _ClassVar[HeldReason]
    HELD_REASON_LEASE_EXPIRED: _ClassVar[HeldReason]
    HELD_REASON_EFFECT_UNKNOWN: _ClassVar[HeldReason]
    HELD_REASON_TIED: _ClassVar[HeldReason]
    HELD_REASON_DEAD_PREDECESSOR: _ClassVar[HeldReason]
    HELD_REASON_SKIPPED_GAP: _ClassVar[HeldReason]
    HELD_REASON_POST_RESTORE: _ClassVar[HeldReason]
    HELD_REASON_GAP_TIMEOUT: _ClassVar[HeldReason]

class WaitingFor(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    WAITING_FOR_UNSPECIFIED: _ClassVar[WaitingFor]
    WAITING_FOR_LANE: _ClassVar[WaitingFor]
    WAITING_FOR_PREDECESSOR: _ClassVar[WaitingFor]
    WAITING_FOR_TRANSITION: _ClassVar[WaitingFor]
    WAITING_FOR_RELEASE_DELAY: _ClassVar[WaitingFor]

class FailureKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FAILURE_KIND_UNSPECIFIED: _ClassVar[FailureKind]
    FAILURE_KIND_RETRYABLE: _ClassVar[FailureKind]
    FAILURE_KIND_TERMINAL: _ClassVar[FailureKind]
    FAILURE_KIND_NOT_YET: _ClassVar[FailureKind]

class StaleClaim(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    STALE_CLAIM_UNSPECIFIED: _ClassVar[StaleClaim]
    STALE_CLAIM_RECLAIM: _ClassVar[StaleClaim]
    STALE_CLAIM_HOLD: _ClassVar[StaleClaim]

class AttemptEnd(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ATTEMPT_END_UNSPECIFIED: _ClassVar[AttemptEnd]
    ATTEMPT_END_COMPLETED: _ClassVar[AttemptEnd]
    ATTEMPT_END_FAILED_RETRYABLE: _ClassVar[AttemptEnd]
    ATTEMPT_END_FAILED_TERMINAL: _ClassVar[AttemptEnd]
    ATTEMPT_END_RELEASED: _ClassVar[AttemptEnd]
    ATTEMPT_END_LEASE_EXPIRED: _ClassVar[AttemptEnd]
    ATTEMPT_END_UNDELIVERED: _ClassVar[AttemptEnd]
    ATTEMPT_END_RESOLVED: _ClassVar[AttemptEnd]
EVENT_STATE_UNSPECIFIED: EventState
EVENT_STATE_RECEIVED: EventState
EVENT_STATE_PROCESSING: EventState
EVENT_STATE_PROCESSED: EventState
EVENT_STATE_FAILED_RETRYABLE: EventState
EVENT_STATE_FAILED_TERMINAL: EventState
EVENT_STATE_DEAD_LETTERED: EventState
EVENT_STATE_IGNORED_STALE: EventState
EVENT_STATE_HELD: EventState
EVENT_STATE_BLOCKED_LOOP: EventState
EVENT_STATE_IGNORED_SELF_ORIGINATED: EventState
HELD_REASON_UNSPECIFIED: HeldReason
HELD_REASON_LEASE_EXPIRED: HeldReason
HELD_REASON_EFFECT_UNKNOWN: HeldReason
HELD_REASON_TIED: HeldReason
HELD_REASON_DEAD_PREDECESSOR: HeldReason
HELD_REASON_SKIPPED_GAP: HeldReason
HELD_REASON_POST_RESTORE: HeldReason
HELD_REASON_GAP_TIMEOUT: HeldReason
WAITING_FOR_UNSPECIFIED: WaitingFor
WAITING_FOR_LANE: WaitingFor
WAITING_FOR_PREDECESSOR: WaitingFor
WAITING_FOR_TRANSITION: WaitingFor
WAITING_FOR_RELEASE_DELAY: WaitingFor
FAILURE_KIND_UNSPECIFIED: FailureKind
FAILURE_KIND_RETRYABLE: FailureKind
FAILURE_KIND_TERMINAL: FailureKind
FAILURE_KIND_NOT_YET: FailureKind
STALE_CLAIM_UNSPECIFIED: StaleClaim
STALE_CLAIM_RECLAIM: StaleClaim
STALE_CLAIM_HOLD: StaleClaim
ATTEMPT_END_UNSPECIFIED: AttemptEnd
ATTEMPT_END_COMPLETED: AttemptEnd
ATTEMPT_END_FAILED_RETRYABLE: AttemptEnd
ATTEMPT_END_FAILED_TERMINAL: AttemptEnd
ATTEMPT_END_RELEASED: AttemptEnd
ATTEMPT_END_LEASE_EXPIRED: AttemptEnd
ATTEMPT_END_UNDELIVERED: AttemptEnd
ATTEMPT_END_RESOLVED: AttemptEnd

class ProcessingError(_message.Message):
    __slots__ = ("code", "message", "kind", "message_cut")
    CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_CUT_FIELD_NUMBER: _ClassVar[int]
    code: str
    message: str
    kind: FailureKind
    message_cut: bool
    def __init__(self, code: _Optional[str] = ..., message: _Optional[str] = ..., kind: _Optional[_Union[FailureKind, str]] = ..., message_cut: _Optional[bool] = ...) -> None: ...

class LateReport(_message.Message):
    __slots__ = ("fence", "attempt", "reported_at", "completed", "failed")
    FENCE_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    REPORTED_AT_FIELD_NUMBER: _ClassVar[int]
    COMPLETED_FIELD_NUMBER: _ClassVar[int]
    FAILED_FIELD_NUMBER: _ClassVar[int]
    fence: int
    attempt: int
    reported_at: _timestamp_pb2.Timestamp
    completed: LateCompletion
    failed: ProcessingError
    def __init__(self, fence: _Optional[int] = ..., attempt: _Optional[int] = ..., reported_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., completed: _Optional[_Union[LateCompletion, _Mapping]] = ..., failed: _Optional[_Union[ProcessingError, _Mapping]] = ...) -> None: ...

class LateCompletion(_message.Message):
    __slots__ = ("result", "content_type", "outputs", "result_omitted", "completion_hash")
    RESULT_FIELD_NUMBER: _ClassVar[int]
    CONTENT_TYPE_FIELD_NUMBER: _ClassVar[int]
    OUTPUTS_FIELD_NUMBER: _ClassVar[int]
    RESULT_OMITTED_FIELD_NUMBER: _ClassVar[int]
    COMPLETION_HASH_FIELD_NUMBER: _ClassVar[int]
    result: bytes
    content_type: str
    outputs: _containers.RepeatedScalarFieldContainer[str]
    result_omitted: bool
    completion_hash: bytes
    def __init__(self, result: _Optional[bytes] = ..., content_type: _Optional[str] = ..., outputs: _Optional[_Iterable[str]] = ..., result_omitted: _Optional[bool] = ..., completion_hash: _Optional[bytes] = ...) -> None: ...
