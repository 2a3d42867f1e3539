import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from idemsvc.v1 import delivery_pb2 as _delivery_pb2
from idemsvc.v1 import state_pb2 as _state_pb2
from idemsvc.v1 import version_pb2 as _version_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class CompleteEventRequest(_message.Message):
    __slots__ = ("token", "result", "content_type", "outputs", "applied_version", "allow_unknown_effects", "delivery_answer")
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    CONTENT_TYPE_FIELD_NUMBER: _ClassVar[int]
    OUTPUTS_FIELD_NUMBER: _ClassVar[int]
    APPLIED_VERSION_FIELD_NUMBER: _ClassVar[int]
    ALLOW_UNKNOWN_EFFECTS_FIELD_NUMBER: _ClassVar[int]
    DELIVERY_ANSWER_FIELD_NUMBER: _ClassVar[int]
    token: bytes
    result: bytes
    content_type: str
    outputs: _containers.RepeatedScalarFieldContainer[str]
    applied_version: _version_pb2.Version
    allow_unknown_effects: bool
    delivery_answer: _delivery_pb2.DeliveryAnswer
    def __init__(self, token: _Optional[bytes] = ..., result: _Optional[bytes] = ..., content_type: _Optional[str] = ..., outputs: _Optional[_Iterable[str]] = ..., applied_version: _Optional[_Union[_version_pb2.Version, _Mapping]] = ..., allow_unknown_effects: _Optional[bool] = ..., delivery_answer: _Optional[_Union[_delivery_pb2.DeliveryAnswer, _Mapping]] = ...) -> None: ...

class CompleteEventResponse(_message.Message):
    __slots__ = ("state", "already_completed", "late")
    STATE_FIELD_NUMBER: _ClassVar[int]
    ALREADY_COMPLETED_FIELD_NUMBER: _ClassVar[int]
    LATE_FIELD_NUMBER: _ClassVar[int]
    state: _state_pb2.EventState
    already_completed: bool
    late: bool
    def __init__(self, state: _Optional[_Union[_state_pb2.EventState, str]] = ..., already_completed: _Optional[bool] = ..., late: _Optional[bool] = ...) -> None: ...

class FailEventRequest(_message.Message):
    __slots__ = ("token", "error", "retry_after", "delivery_answer")
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    RETRY_AFTER_FIELD_NUMBER: _ClassVar[int]
    DELIVERY_ANSWER_FIELD_NUMBER: _ClassVar[int]
    token: bytes
    error: _state_pb2.ProcessingError
    retry_after: _duration_pb2.Duration
    delivery_answer: _delivery_pb2.DeliveryAnswer
    def __init__(self, token: _Optional[bytes] = ..., error: _Optional[_Union[_state_pb2.ProcessingError, _Mapping]] = ..., retry_after: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., delivery_answer: _Optional[_Union[_delivery_pb2.DeliveryAnswer, _Mapping]] = ...) -> None: ...

class FailEventResponse(_message.Message):
    __slots__ = ("state", "attempt", "max_attempts", "next_attempt_at", "next_attempt_in", "already_failed", "late")
    STATE_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    MAX_ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_ATTEMPT_AT_FIELD_NUMBER: _ClassVar[int]
    NEXT_ATTEMPT_IN_FIELD_NUMBER: _ClassVar[int]
    ALREADY_FAILED_FIELD_NUMBER: _ClassVar[int]
    LATE_FIELD_NUMBER: _ClassVar[int]
    state: _state_pb2.EventState
    attempt: int
    max_attempts: int
    next_attempt_at: _timestamp_pb2.Timestamp
    next_attempt_in: _duration_pb2.Duration
    already_failed: bool
    late: bool
    def __init__(self, state: _Optional[_Union[_state_pb2.EventState, str]] = ..., attempt: _Optional[int] = ..., max_attempts: _Optional[int] = ..., next_attempt_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., next_attempt_in: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., already_failed: _Optional[bool] = ..., late: _Optional[bool] = ...) -> None: ...

class ExtendClaimRequest(_message.Message):
    __slots__ = ("token", "lease")
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    LEASE_FIELD_NUMBER: _ClassVar[int]
    token: bytes
    lease: _duration_pb2.Duration
    def __init__(self, token: _Optional[bytes] = ..., lease: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class ExtendClaimResponse(_message.Message):
    __slots__ = ("lease_expires_at", "rearmed", "lease")
    LEASE_EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    REARMED_FIELD_NUMBER: _ClassVar[int]
    LEASE_FIELD_NUMBER: _ClassVar[int]
    lease_expires_at: _timestamp_pb2.Timestamp
    rearmed: bool
    lease: _duration_pb2.Duration
    def __init__(self, lease_expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., rearmed: _Optional[bool] = ..., lease: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class ReleaseClaimRequest(_message.Message):
    __slots__ = ("token", "reason")
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    token: bytes
    reason: str
    def __init__(self, token: _Optional[bytes] = ..., reason: _Optional[str] = ...) -> None: ...

class ReleaseClaimResponse(_message.Message):
    __slots__ = ("state", "counted", "available_at", "available_in")
    STATE_FIELD_NUMBER: _ClassVar[int]
    COUNTED_FIELD_NUMBER: _ClassVar[int]
    AVAILABLE_AT_FIELD_NUMBER: _ClassVar[int]
    AVAILABLE_IN_FIELD_NUMBER: _ClassVar[int]
    state: _state_pb2.EventState
    counted: bool
    available_at: _timestamp_pb2.Timestamp
    available_in: _duration_pb2.Duration
    def __init__(self, state: _Optional[_Union[_state_pb2.EventState, str]] = ..., counted: _Optional[bool] = ..., available_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., available_in: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...
