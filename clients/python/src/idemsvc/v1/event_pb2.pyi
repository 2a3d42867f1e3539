import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class KeyQuality(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    KEY_QUALITY_UNSPECIFIED: _ClassVar[KeyQuality]
    KEY_QUALITY_PROVIDER_ID: _ClassVar[KeyQuality]
    KEY_QUALITY_COMPOSITE: _ClassVar[KeyQuality]
    KEY_QUALITY_PAYLOAD_HASH: _ClassVar[KeyQuality]
KEY_QUALITY_UNSPECIFIED: KeyQuality
KEY_QUALITY_PROVIDER_ID: KeyQuality
KEY_QUALITY_COMPOSITE: KeyQuality
KEY_QUALITY_PAYLOAD_HASH: KeyQuality

class EventRef(_message.Message):
    __slots__ = ("source", "event_id")
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    EVENT_ID_FIELD_NUMBER: _ClassVar[int]
    source: str
    event_id: str
    def __init__(self, source: _Optional[str] = ..., event_id: _Optional[str] = ...) -> None: ...

class EventKey(_message.Message):
    __slots__ = ("consumer", "source", "event_id")
    CONSUMER_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    EVENT_ID_FIELD_NUMBER: _ClassVar[int]
    consumer: str
    source: str
    event_id: str
    def __init__(self, consumer: _Optional[str] = ..., source: _Optional[str] = ..., event_id: _Optional[str] = ...) -> None: ...

class Resource(_message.Message):
    __slots__ = ("type", "id")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    type: str
    id: str
    def __init__(self, type: _Optional[str] = ..., id: _Optional[str] = ...) -> None: ...

class Causation(_message.Message):
    __slots__ = ("event_ref", "text")
    EVENT_REF_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    event_ref: EventRef
    text: str
    def __init__(self, event_ref: _Optional[_Union[EventRef, _Mapping]] = ..., text: _Optional[str] = ...) -> None: ...

class Event(_message.Message):
    __slots__ = ("source", "event_id", "type", "resource", "payload", "payload_ref", "payload_hash", "content_type", "key_quality", "occurred_at", "correlation_id", "causation", "origin", "fingerprint")
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    EVENT_ID_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_REF_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_HASH_FIELD_NUMBER: _ClassVar[int]
    CONTENT_TYPE_FIELD_NUMBER: _ClassVar[int]
    KEY_QUALITY_FIELD_NUMBER: _ClassVar[int]
    OCCURRED_AT_FIELD_NUMBER: _ClassVar[int]
    CORRELATION_ID_FIELD_NUMBER: _ClassVar[int]
    CAUSATION_FIELD_NUMBER: _ClassVar[int]
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    FINGERPRINT_FIELD_NUMBER: _ClassVar[int]
    source: str
    event_id: str
    type: str
    resource: Resource
    payload: bytes
    payload_ref: str
    payload_hash: bytes
    content_type: str
    key_quality: KeyQuality
    occurred_at: _timestamp_pb2.Timestamp
    correlation_id: str
    causation: Causation
    origin: str
    fingerprint: bytes
    def __init__(self, source: _Optional[str] = ..., event_id: _Optional[str] = ..., type: _Optional[str] = ..., resource: _Optional[_Union[Resource, _Mapping]] = ..., payload: _Optional[bytes] = ..., payload_ref: _Optional[str] = ..., payload_hash: _Optional[bytes] = ..., content_type: _Optional[str] = ..., key_quality: _Optional[_Union[KeyQuality, str]] = ..., occurred_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., correlation_id: _Optional[str] = ..., causation: _Optional[_Union[Causation, _Mapping]] = ..., origin: _Optional[str] = ..., fingerprint: _Optional[bytes] = ...) -> None: ...
