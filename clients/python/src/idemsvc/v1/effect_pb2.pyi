import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from idemsvc.v1 import event_pb2 as _event_pb2
from idemsvc.v1 import state_pb2 as _state_pb2
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class EffectScope(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    EFFECT_SCOPE_UNSPECIFIED: _ClassVar[EffectScope]
    EFFECT_SCOPE_EVENT: _ClassVar[EffectScope]
    EFFECT_SCOPE_CONSUMER: _ClassVar[EffectScope]
    EFFECT_SCOPE_NAMESPACE: _ClassVar[EffectScope]

class OnUnknown(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ON_UNKNOWN_UNSPECIFIED: _ClassVar[OnUnknown]
    ON_UNKNOWN_RETRY: _ClassVar[OnUnknown]
    ON_UNKNOWN_HOLD: _ClassVar[OnUnknown]

class EffectState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    EFFECT_STATE_UNSPECIFIED: _ClassVar[EffectState]
    EFFECT_STATE_BEGUN: _ClassVar[EffectState]
    EFFECT_STATE_DONE: _ClassVar[EffectState]
    EFFECT_STATE_NOT_DONE: _ClassVar[EffectState]
    EFFECT_STATE_UNKNOWN: _ClassVar[EffectState]

class EffectOutcome(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    EFFECT_OUTCOME_UNSPECIFIED: _ClassVar[EffectOutcome]
    EFFECT_OUTCOME_PERFORM: _ClassVar[EffectOutcome]
    EFFECT_OUTCOME_ALREADY_DONE: _ClassVar[EffectOutcome]
    EFFECT_OUTCOME_IN_PROGRESS: _ClassVar[EffectOutcome]
    EFFECT_OUTCOME_OUTCOME_UNKNOWN: _ClassVar[EffectOutcome]
    EFFECT_OUTCOME_REQUEST_MISMATCH: _ClassVar[EffectOutcome]
    EFFECT_OUTCOME_CIRCUIT_OPEN: _ClassVar[EffectOutcome]
    EFFECT_OUTCOME_DONE: _ClassVar[EffectOutcome]
    EFFECT_OUTCOME_NOT_DONE: _ClassVar[EffectOutcome]
    EFFECT_OUTCOME_RECORDED: _ClassVar[EffectOutcome]
EFFECT_SCOPE_UNSPECIFIED: EffectScope
EFFECT_SCOPE_EVENT: EffectScope
EFFECT_SCOPE_CONSUMER: EffectScope
EFFECT_SCOPE_NAMESPACE: EffectScope
ON_UNKNOWN_UNSPECIFIED: OnUnknown
ON_UNKNOWN_RETRY: OnUnknown
ON_UNKNOWN_HOLD: OnUnknown
EFFECT_STATE_UNSPECIFIED: EffectState
EFFECT_STATE_BEGUN: EffectState
EFFECT_STATE_DONE: EffectState
EFFECT_STATE_NOT_DONE: EffectState
EFFECT_STATE_UNKNOWN: EffectState
EFFECT_OUTCOME_UNSPECIFIED: EffectOutcome
EFFECT_OUTCOME_PERFORM: EffectOutcome
EFFECT_OUTCOME_ALREADY_DONE: EffectOutcome
EFFECT_OUTCOME_IN_PROGRESS: EffectOutcome
EFFECT_OUTCOME_OUTCOME_UNKNOWN: EffectOutcome
EFFECT_OUTCOME_REQUEST_MISMATCH: EffectOutcome
EFFECT_OUTCOME_CIRCUIT_OPEN: EffectOutcome
EFFECT_OUTCOME_DONE: EffectOutcome
EFFECT_OUTCOME_NOT_DONE: EffectOutcome
EFFECT_OUTCOME_RECORDED: EffectOutcome

class SideEffect(_message.Message):
    __slots__ = ("scope", "key", "state", "result", "content_type", "attempt", "generation", "downstream_idempotency_key", "request_hash", "intent", "target", "on_unknown", "error", "begun_at", "settled_at", "lease_expires_at", "conflict", "result_omitted", "result_gone", "fence")
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    CONTENT_TYPE_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    DOWNSTREAM_IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    REQUEST_HASH_FIELD_NUMBER: _ClassVar[int]
    INTENT_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    ON_UNKNOWN_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    BEGUN_AT_FIELD_NUMBER: _ClassVar[int]
    SETTLED_AT_FIELD_NUMBER: _ClassVar[int]
    LEASE_EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    CONFLICT_FIELD_NUMBER: _ClassVar[int]
    RESULT_OMITTED_FIELD_NUMBER: _ClassVar[int]
    RESULT_GONE_FIELD_NUMBER: _ClassVar[int]
    FENCE_FIELD_NUMBER: _ClassVar[int]
    scope: EffectScope
    key: str
    state: EffectState
    result: bytes
    content_type: str
    attempt: int
    generation: int
    downstream_idempotency_key: str
    request_hash: bytes
    intent: bytes
    target: str
    on_unknown: OnUnknown
    error: _state_pb2.ProcessingError
    begun_at: _timestamp_pb2.Timestamp
    settled_at: _timestamp_pb2.Timestamp
    lease_expires_at: _timestamp_pb2.Timestamp
    conflict: bool
    result_omitted: bool
    result_gone: bool
    fence: int
    def __init__(self, scope: _Optional[_Union[EffectScope, str]] = ..., key: _Optional[str] = ..., state: _Optional[_Union[EffectState, str]] = ..., result: _Optional[bytes] = ..., content_type: _Optional[str] = ..., attempt: _Optional[int] = ..., generation: _Optional[int] = ..., downstream_idempotency_key: _Optional[str] = ..., request_hash: _Optional[bytes] = ..., intent: _Optional[bytes] = ..., target: _Optional[str] = ..., on_unknown: _Optional[_Union[OnUnknown, str]] = ..., error: _Optional[_Union[_state_pb2.ProcessingError, _Mapping]] = ..., begun_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., settled_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., lease_expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., conflict: _Optional[bool] = ..., result_omitted: _Optional[bool] = ..., result_gone: _Optional[bool] = ..., fence: _Optional[int] = ...) -> None: ...

class EffectOwner(_message.Message):
    __slots__ = ("namespace", "consumer", "event_ref")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    CONSUMER_FIELD_NUMBER: _ClassVar[int]
    EVENT_REF_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    consumer: str
    event_ref: _event_pb2.EventRef
    def __init__(self, namespace: _Optional[str] = ..., consumer: _Optional[str] = ..., event_ref: _Optional[_Union[_event_pb2.EventRef, _Mapping]] = ...) -> None: ...

class RecordSideEffectRequest(_message.Message):
    __slots__ = ("claim_token", "owner", "begin", "done", "not_done", "unknown", "record")
    CLAIM_TOKEN_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    BEGIN_FIELD_NUMBER: _ClassVar[int]
    DONE_FIELD_NUMBER: _ClassVar[int]
    NOT_DONE_FIELD_NUMBER: _ClassVar[int]
    UNKNOWN_FIELD_NUMBER: _ClassVar[int]
    RECORD_FIELD_NUMBER: _ClassVar[int]
    claim_token: bytes
    owner: EffectOwner
    begin: EffectBegin
    done: EffectDone
    not_done: EffectNotDone
    unknown: EffectUnknown
    record: EffectRecord
    def __init__(self, claim_token: _Optional[bytes] = ..., owner: _Optional[_Union[EffectOwner, _Mapping]] = ..., begin: _Optional[_Union[EffectBegin, _Mapping]] = ..., done: _Optional[_Union[EffectDone, _Mapping]] = ..., not_done: _Optional[_Union[EffectNotDone, _Mapping]] = ..., unknown: _Optional[_Union[EffectUnknown, _Mapping]] = ..., record: _Optional[_Union[EffectRecord, _Mapping]] = ...) -> None: ...

class EffectBegin(_message.Message):
    __slots__ = ("scope", "key", "begin_id", "request_hash", "intent", "target", "on_unknown", "lease")
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    BEGIN_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_HASH_FIELD_NUMBER: _ClassVar[int]
    INTENT_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    ON_UNKNOWN_FIELD_NUMBER: _ClassVar[int]
    LEASE_FIELD_NUMBER: _ClassVar[int]
    scope: EffectScope
    key: str
    begin_id: str
    request_hash: bytes
    intent: bytes
    target: str
    on_unknown: OnUnknown
    lease: _duration_pb2.Duration
    def __init__(self, scope: _Optional[_Union[EffectScope, str]] = ..., key: _Optional[str] = ..., begin_id: _Optional[str] = ..., request_hash: _Optional[bytes] = ..., intent: _Optional[bytes] = ..., target: _Optional[str] = ..., on_unknown: _Optional[_Union[OnUnknown, str]] = ..., lease: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class EffectDone(_message.Message):
    __slots__ = ("effect_token", "result", "content_type")
    EFFECT_TOKEN_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    CONTENT_TYPE_FIELD_NUMBER: _ClassVar[int]
    effect_token: bytes
    result: bytes
    content_type: str
    def __init__(self, effect_token: _Optional[bytes] = ..., result: _Optional[bytes] = ..., content_type: _Optional[str] = ...) -> None: ...

class EffectNotDone(_message.Message):
    __slots__ = ("effect_token", "error")
    EFFECT_TOKEN_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    effect_token: bytes
    error: _state_pb2.ProcessingError
    def __init__(self, effect_token: _Optional[bytes] = ..., error: _Optional[_Union[_state_pb2.ProcessingError, _Mapping]] = ...) -> None: ...

class EffectUnknown(_message.Message):
    __slots__ = ("effect_token", "error")
    EFFECT_TOKEN_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    effect_token: bytes
    error: _state_pb2.ProcessingError
    def __init__(self, effect_token: _Optional[bytes] = ..., error: _Optional[_Union[_state_pb2.ProcessingError, _Mapping]] = ...) -> None: ...

class EffectRecord(_message.Message):
    __slots__ = ("scope", "key", "result", "content_type", "request_hash", "target")
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    CONTENT_TYPE_FIELD_NUMBER: _ClassVar[int]
    REQUEST_HASH_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    scope: EffectScope
    key: str
    result: bytes
    content_type: str
    request_hash: bytes
    target: str
    def __init__(self, scope: _Optional[_Union[EffectScope, str]] = ..., key: _Optional[str] = ..., result: _Optional[bytes] = ..., content_type: _Optional[str] = ..., request_hash: _Optional[bytes] = ..., target: _Optional[str] = ...) -> None: ...

class RecordSideEffectResponse(_message.Message):
    __slots__ = ("outcome", "effect_token", "downstream_idempotency_key", "attempt", "generation", "earlier_intent", "result", "content_type", "conflict", "retry_after", "lease_expires_at", "result_gone", "lease")
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    EFFECT_TOKEN_FIELD_NUMBER: _ClassVar[int]
    DOWNSTREAM_IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    EARLIER_INTENT_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    CONTENT_TYPE_FIELD_NUMBER: _ClassVar[int]
    CONFLICT_FIELD_NUMBER: _ClassVar[int]
    RETRY_AFTER_FIELD_NUMBER: _ClassVar[int]
    LEASE_EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    RESULT_GONE_FIELD_NUMBER: _ClassVar[int]
    LEASE_FIELD_NUMBER: _ClassVar[int]
    outcome: EffectOutcome
    effect_token: bytes
    downstream_idempotency_key: str
    attempt: int
    generation: int
    earlier_intent: bytes
    result: bytes
    content_type: str
    conflict: bool
    retry_after: _duration_pb2.Duration
    lease_expires_at: _timestamp_pb2.Timestamp
    result_gone: bool
    lease: _duration_pb2.Duration
    def __init__(self, outcome: _Optional[_Union[EffectOutcome, str]] = ..., effect_token: _Optional[bytes] = ..., downstream_idempotency_key: _Optional[str] = ..., attempt: _Optional[int] = ..., generation: _Optional[int] = ..., earlier_intent: _Optional[bytes] = ..., result: _Optional[bytes] = ..., content_type: _Optional[str] = ..., conflict: _Optional[bool] = ..., retry_after: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., lease_expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., result_gone: _Optional[bool] = ..., lease: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...
