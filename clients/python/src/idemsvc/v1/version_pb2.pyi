import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class OrderingMode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ORDERING_MODE_UNSPECIFIED: _ClassVar[OrderingMode]
    ORDERING_MODE_LATEST_WINS: _ClassVar[OrderingMode]
    ORDERING_MODE_SEQUENTIAL: _ClassVar[OrderingMode]
    ORDERING_MODE_SIGNAL: _ClassVar[OrderingMode]
ORDERING_MODE_UNSPECIFIED: OrderingMode
ORDERING_MODE_LATEST_WINS: OrderingMode
ORDERING_MODE_SEQUENTIAL: OrderingMode
ORDERING_MODE_SIGNAL: OrderingMode

class Version(_message.Message):
    __slots__ = ("sequence", "instant", "epoch")
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    INSTANT_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    sequence: int
    instant: _timestamp_pb2.Timestamp
    epoch: int
    def __init__(self, sequence: _Optional[int] = ..., instant: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., epoch: _Optional[int] = ...) -> None: ...

class Transition(_message.Message):
    __slots__ = ("machine", "to_state")
    MACHINE_FIELD_NUMBER: _ClassVar[int]
    TO_STATE_FIELD_NUMBER: _ClassVar[int]
    machine: str
    to_state: str
    def __init__(self, machine: _Optional[str] = ..., to_state: _Optional[str] = ...) -> None: ...

class Ordering(_message.Message):
    __slots__ = ("version", "mode", "transition")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    TRANSITION_FIELD_NUMBER: _ClassVar[int]
    version: Version
    mode: OrderingMode
    transition: Transition
    def __init__(self, version: _Optional[_Union[Version, _Mapping]] = ..., mode: _Optional[_Union[OrderingMode, str]] = ..., transition: _Optional[_Union[Transition, _Mapping]] = ...) -> None: ...
