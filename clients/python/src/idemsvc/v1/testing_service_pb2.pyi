import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from idemsvc.v1 import options_pb2 as _options_pb2
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class TestClock(_message.Message):
    __slots__ = ("time", "frozen")
    TIME_FIELD_NUMBER: _ClassVar[int]
    FROZEN_FIELD_NUMBER: _ClassVar[int]
    time: _timestamp_pb2.Timestamp
    frozen: bool
    def __init__(self, time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., frozen: _Optional[bool] = ...) -> None: ...

class GetClockRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetClockResponse(_message.Message):
    __slots__ = ("clock",)
    CLOCK_FIELD_NUMBER: _ClassVar[int]
    clock: TestClock
    def __init__(self, clock: _Optional[_Union[TestClock, _Mapping]] = ...) -> None: ...

class AdvanceClockRequest(_message.Message):
    __slots__ = ("by",)
    BY_FIELD_NUMBER: _ClassVar[int]
    by: _duration_pb2.Duration
    def __init__(self, by: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class AdvanceClockResponse(_message.Message):
    __slots__ = ("clock",)
    CLOCK_FIELD_NUMBER: _ClassVar[int]
    clock: TestClock
    def __init__(self, clock: _Optional[_Union[TestClock, _Mapping]] = ...) -> None: ...

class SetClockRequest(_message.Message):
    __slots__ = ("time", "frozen")
    TIME_FIELD_NUMBER: _ClassVar[int]
    FROZEN_FIELD_NUMBER: _ClassVar[int]
    time: _timestamp_pb2.Timestamp
    frozen: bool
    def __init__(self, time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., frozen: _Optional[bool] = ...) -> None: ...

class SetClockResponse(_message.Message):
    __slots__ = ("clock",)
    CLOCK_FIELD_NUMBER: _ClassVar[int]
    clock: TestClock
    def __init__(self, clock: _Optional[_Union[TestClock, _Mapping]] = ...) -> None: ...
