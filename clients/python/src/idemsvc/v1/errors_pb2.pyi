import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from idemsvc.v1 import options_pb2 as _options_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ErrorReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ERROR_REASON_UNSPECIFIED: _ClassVar[ErrorReason]
    ERROR_REASON_CLAIM_LOST: _ClassVar[ErrorReason]
    ERROR_REASON_CLAIM_EXPIRED: _ClassVar[ErrorReason]
    ERROR_REASON_ALREADY_ENDED: _ClassVar[ErrorReason]
    ERROR_REASON_INVALID_TOKEN: _ClassVar[ErrorReason]
    ERROR_REASON_OPEN_EFFECTS: _ClassVar[ErrorReason]
    ERROR_REASON_EFFECT_LOST: _ClassVar[ErrorReason]
    ERROR_REASON_INVALID_ARGUMENT: _ClassVar[ErrorReason]
    ERROR_REASON_UNKNOWN_NAMESPACE: _ClassVar[ErrorReason]
    ERROR_REASON_VERSION_KIND_MISMATCH: _ClassVar[ErrorReason]
    ERROR_REASON_UNAUTHENTICATED: _ClassVar[ErrorReason]
    ERROR_REASON_PERMISSION_DENIED: _ClassVar[ErrorReason]
    ERROR_REASON_OVERLOADED: _ClassVar[ErrorReason]
    ERROR_REASON_UNAVAILABLE: _ClassVar[ErrorReason]
    ERROR_REASON_STORAGE_FULL: _ClassVar[ErrorReason]
    ERROR_REASON_NOT_FOUND: _ClassVar[ErrorReason]
    ERROR_REASON_TOO_LARGE: _ClassVar[ErrorReason]
    ERROR_REASON_EFFECT_LIMIT: _ClassVar[ErrorReason]
    ERROR_REASON_EFFECT_SCOPE_INVALID: _ClassVar[ErrorReason]
    ERROR_REASON_INTERNAL: _ClassVar[ErrorReason]
    ERROR_REASON_SCHEMA_OUTDATED: _ClassVar[ErrorReason]
    ERROR_REASON_RESTORE_DETECTED: _ClassVar[ErrorReason]
    ERROR_REASON_DEADLINE_EXCEEDED: _ClassVar[ErrorReason]
    ERROR_REASON_UNIMPLEMENTED: _ClassVar[ErrorReason]
    ERROR_REASON_CANCELLED: _ClassVar[ErrorReason]
    ERROR_REASON_UNKNOWN_MACHINE: _ClassVar[ErrorReason]
    ERROR_REASON_KEY_COLLISION: _ClassVar[ErrorReason]
    ERROR_REASON_NOT_RESOLVABLE: _ClassVar[ErrorReason]
    ERROR_REASON_REPLAY_REFUSED: _ClassVar[ErrorReason]
    ERROR_REASON_POLICIES_CHANGED: _ClassVar[ErrorReason]
ERROR_REASON_UNSPECIFIED: ErrorReason
ERROR_REASON_CLAIM_LOST: ErrorReason
ERROR_REASON_CLAIM_EXPIRED: ErrorReason
ERROR_REASON_ALREADY_ENDED: ErrorReason
ERROR_REASON_INVALID_TOKEN: ErrorReason
ERROR_REASON_OPEN_EFFECTS: ErrorReason
ERROR_REASON_EFFECT_LOST: ErrorReason
ERROR_REASON_INVALID_ARGUMENT: ErrorReason
ERROR_REASON_UNKNOWN_NAMESPACE: ErrorReason
ERROR_REASON_VERSION_KIND_MISMATCH: ErrorReason
ERROR_REASON_UNAUTHENTICATED: ErrorReason
ERROR_REASON_PERMISSION_DENIED: ErrorReason
ERROR_REASON_OVERLOADED: ErrorReason
ERROR_REASON_UNAVAILABLE: ErrorReason
ERROR_REASON_STORAGE_FULL: ErrorReason
ERROR_REASON_NOT_FOUND: ErrorReason
ERROR_REASON_TOO_LARGE: ErrorReason
ERROR_REASON_EFFECT_LIMIT: ErrorReason
ERROR_REASON_EFFECT_SCOPE_INVALID: ErrorReason
ERROR_REASON_INTERNAL: ErrorReason
ERROR_REASON_SCHEMA_OUTDATED: ErrorReason
ERROR_REASON_RESTORE_DETECTED: ErrorReason
ERROR_REASON_DEADLINE_EXCEEDED: ErrorReason
ERROR_REASON_UNIMPLEMENTED: ErrorReason
ERROR_REASON_CANCELLED: ErrorReason
ERROR_REASON_UNKNOWN_MACHINE: ErrorReason
ERROR_REASON_KEY_COLLISION: ErrorReason
ERROR_REASON_NOT_RESOLVABLE: ErrorReason
ERROR_REASON_REPLAY_REFUSED: ErrorReason
ERROR_REASON_POLICIES_CHANGED: ErrorReason

class ItemError(_message.Message):
    __slots__ = ("code", "reason", "message", "field", "retry_after", "metadata")
    class MetadataEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    CODE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    FIELD_FIELD_NUMBER: _ClassVar[int]
    RETRY_AFTER_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    code: int
    reason: str
    message: str
    field: str
    retry_after: _duration_pb2.Duration
    metadata: _containers.ScalarMap[str, str]
    def __init__(self, code: _Optional[int] = ..., reason: _Optional[str] = ..., message: _Optional[str] = ..., field: _Optional[str] = ..., retry_after: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., metadata: _Optional[_Mapping[str, str]] = ...) -> None: ...
