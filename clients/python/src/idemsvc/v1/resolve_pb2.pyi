from idemsvc.v1 import effect_pb2 as _effect_pb2
from idemsvc.v1 import event_pb2 as _event_pb2
from idemsvc.v1 import state_pb2 as _state_pb2
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ResolveEventRequest(_message.Message):
    __slots__ = ("namespace", "consumer", "event", "request_id", "why", "processed", "retry", "terminal")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    CONSUMER_FIELD_NUMBER: _ClassVar[int]
    EVENT_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    WHY_FIELD_NUMBER: _ClassVar[int]
    PROCESSED_FIELD_NUMBER: _ClassVar[int]
    RETRY_FIELD_NUMBER: _ClassVar[int]
    TERMINAL_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    consumer: str
    event: _event_pb2.EventRef
    request_id: str
    why: str
    processed: ResolveAsProcessed
    retry: ResolveAsRetry
    terminal: ResolveAsTerminal
    def __init__(self, namespace: _Optional[str] = ..., consumer: _Optional[str] = ..., event: _Optional[_Union[_event_pb2.EventRef, _Mapping]] = ..., request_id: _Optional[str] = ..., why: _Optional[str] = ..., processed: _Optional[_Union[ResolveAsProcessed, _Mapping]] = ..., retry: _Optional[_Union[ResolveAsRetry, _Mapping]] = ..., terminal: _Optional[_Union[ResolveAsTerminal, _Mapping]] = ...) -> None: ...

class ResolveAsProcessed(_message.Message):
    __slots__ = ("result", "content_type")
    RESULT_FIELD_NUMBER: _ClassVar[int]
    CONTENT_TYPE_FIELD_NUMBER: _ClassVar[int]
    result: bytes
    content_type: str
    def __init__(self, result: _Optional[bytes] = ..., content_type: _Optional[str] = ...) -> None: ...

class ResolveAsRetry(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ResolveAsTerminal(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ResolveEventResponse(_message.Message):
    __slots__ = ("state", "already_resolved")
    STATE_FIELD_NUMBER: _ClassVar[int]
    ALREADY_RESOLVED_FIELD_NUMBER: _ClassVar[int]
    state: _state_pb2.EventState
    already_resolved: bool
    def __init__(self, state: _Optional[_Union[_state_pb2.EventState, str]] = ..., already_resolved: _Optional[bool] = ...) -> None: ...

class ResolveSideEffectRequest(_message.Message):
    __slots__ = ("namespace", "scope", "key", "consumer", "event", "request_id", "why", "done", "not_done", "redo")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    CONSUMER_FIELD_NUMBER: _ClassVar[int]
    EVENT_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    WHY_FIELD_NUMBER: _ClassVar[int]
    DONE_FIELD_NUMBER: _ClassVar[int]
    NOT_DONE_FIELD_NUMBER: _ClassVar[int]
    REDO_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    scope: _effect_pb2.EffectScope
    key: str
    consumer: str
    event: _event_pb2.EventRef
    request_id: str
    why: str
    done: ResolveEffectDone
    not_done: ResolveEffectNotDone
    redo: ResolveEffectRedo
    def __init__(self, namespace: _Optional[str] = ..., scope: _Optional[_Union[_effect_pb2.EffectScope, str]] = ..., key: _Optional[str] = ..., consumer: _Optional[str] = ..., event: _Optional[_Union[_event_pb2.EventRef, _Mapping]] = ..., request_id: _Optional[str] = ..., why: _Optional[str] = ..., done: _Optional[_Union[ResolveEffectDone, _Mapping]] = ..., not_done: _Optional[_Union[ResolveEffectNotDone, _Mapping]] = ..., redo: _Optional[_Union[ResolveEffectRedo, _Mapping]] = ...) -> None: ...

class ResolveEffectDone(_message.Message):
    __slots__ = ("result", "content_type")
    RESULT_FIELD_NUMBER: _ClassVar[int]
    CONTENT_TYPE_FIELD_NUMBER: _ClassVar[int]
    result: bytes
    content_type: str
    def __init__(self, result: _Optional[bytes] = ..., content_type: _Optional[str] = ...) -> None: ...

class ResolveEffectNotDone(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ResolveEffectRedo(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ResolveSideEffectResponse(_message.Message):
    __slots__ = ("state", "generation", "already_resolved")
    STATE_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    ALREADY_RESOLVED_FIELD_NUMBER: _ClassVar[int]
    state: _effect_pb2.EffectState
    generation: int
    already_resolved: bool
    def __init__(self, state: _Optional[_Union[_effect_pb2.EffectState, str]] = ..., generation: _Optional[int] = ..., already_resolved: _Optional[bool] = ...) -> None: ...
