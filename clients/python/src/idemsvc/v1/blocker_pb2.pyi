import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from idemsvc.v1 import event_pb2 as _event_pb2
from idemsvc.v1 import state_pb2 as _state_pb2
from idemsvc.v1 import version_pb2 as _version_pb2
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Blocker(_message.Message):
    __slots__ = ("event", "waiting_since", "expected_version", "current_version", "current_state", "state", "lease_expires_at", "item_index")
    EVENT_FIELD_NUMBER: _ClassVar[int]
    WAITING_SINCE_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_VERSION_FIELD_NUMBER: _ClassVar[int]
    CURRENT_VERSION_FIELD_NUMBER: _ClassVar[int]
    CURRENT_STATE_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    LEASE_EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    ITEM_INDEX_FIELD_NUMBER: _ClassVar[int]
    event: _event_pb2.EventKey
    waiting_since: _timestamp_pb2.Timestamp
    expected_version: _version_pb2.Version
    current_version: _version_pb2.Version
    current_state: str
    state: _state_pb2.EventState
    lease_expires_at: _timestamp_pb2.Timestamp
    item_index: int
    def __init__(self, event: _Optional[_Union[_event_pb2.EventKey, _Mapping]] = ..., waiting_since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., expected_version: _Optional[_Union[_version_pb2.Version, _Mapping]] = ..., current_version: _Optional[_Union[_version_pb2.Version, _Mapping]] = ..., current_state: _Optional[str] = ..., state: _Optional[_Union[_state_pb2.EventState, str]] = ..., lease_expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., item_index: _Optional[int] = ...) -> None: ...
