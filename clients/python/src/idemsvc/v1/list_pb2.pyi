import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from idemsvc.v1 import consumer_view_pb2 as _consumer_view_pb2
from idemsvc.v1 import event_pb2 as _event_pb2
from idemsvc.v1 import state_pb2 as _state_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class EventFilter(_message.Message):
    __slots__ = ("states", "consumer", "source", "type", "resource", "correlation_id", "first_seen_from", "first_seen_until", "stuck", "stuck_after", "replay_failed")
    STATES_FIELD_NUMBER: _ClassVar[int]
    CONSUMER_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    CORRELATION_ID_FIELD_NUMBER: _ClassVar[int]
    FIRST_SEEN_FROM_FIELD_NUMBER: _ClassVar[int]
    FIRST_SEEN_UNTIL_FIELD_NUMBER: _ClassVar[int]
    STUCK_FIELD_NUMBER: _ClassVar[int]
    STUCK_AFTER_FIELD_NUMBER: _ClassVar[int]
    REPLAY_FAILED_FIELD_NUMBER: _ClassVar[int]
    states: _containers.RepeatedScalarFieldContainer[_state_pb2.EventState]
    consumer: str
    source: str
    type: str
    resource: _event_pb2.Resource
    correlation_id: str
    first_seen_from: _timestamp_pb2.Timestamp
    first_seen_until: _timestamp_pb2.Timestamp
    stuck: bool
    stuck_after: _duration_pb2.Duration
    replay_failed: bool
    def __init__(self, states: _Optional[_Iterable[_Union[_state_pb2.EventState, str]]] = ..., consumer: _Optional[str] = ..., source: _Optional[str] = ..., type: _Optional[str] = ..., resource: _Optional[_Union[_event_pb2.Resource, _Mapping]] = ..., correlation_id: _Optional[str] = ..., first_seen_from: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., first_seen_until: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., stuck: _Optional[bool] = ..., stuck_after: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., replay_failed: _Optional[bool] = ...) -> None: ...

class ListEventsRequest(_message.Message):
    __slots__ = ("namespace", "filter", "page_size", "page_token")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    filter: EventFilter
    page_size: int
    page_token: bytes
    def __init__(self, namespace: _Optional[str] = ..., filter: _Optional[_Union[EventFilter, _Mapping]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[bytes] = ...) -> None: ...

class ListEventsResponse(_message.Message):
    __slots__ = ("events", "next_page_token", "index_lag", "database_time")
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    INDEX_LAG_FIELD_NUMBER: _ClassVar[int]
    DATABASE_TIME_FIELD_NUMBER: _ClassVar[int]
    events: _containers.RepeatedCompositeFieldContainer[ListedEvent]
    next_page_token: bytes
    index_lag: _duration_pb2.Duration
    database_time: _timestamp_pb2.Timestamp
    def __init__(self, events: _Optional[_Iterable[_Union[ListedEvent, _Mapping]]] = ..., next_page_token: _Optional[bytes] = ..., index_lag: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., database_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class ListedEvent(_message.Message):
    __slots__ = ("event", "processing", "state_since", "stands_since", "owner", "failures", "first_failed_at", "last_failed_at", "deliveries", "duplicates", "damaged")
    EVENT_FIELD_NUMBER: _ClassVar[int]
    PROCESSING_FIELD_NUMBER: _ClassVar[int]
    STATE_SINCE_FIELD_NUMBER: _ClassVar[int]
    STANDS_SINCE_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    FAILURES_FIELD_NUMBER: _ClassVar[int]
    FIRST_FAILED_AT_FIELD_NUMBER: _ClassVar[int]
    LAST_FAILED_AT_FIELD_NUMBER: _ClassVar[int]
    DELIVERIES_FIELD_NUMBER: _ClassVar[int]
    DUPLICATES_FIELD_NUMBER: _ClassVar[int]
    DAMAGED_FIELD_NUMBER: _ClassVar[int]
    event: _event_pb2.Event
    processing: _consumer_view_pb2.ConsumerView
    state_since: _timestamp_pb2.Timestamp
    stands_since: _timestamp_pb2.Timestamp
    owner: str
    failures: int
    first_failed_at: _timestamp_pb2.Timestamp
    last_failed_at: _timestamp_pb2.Timestamp
    deliveries: int
    duplicates: int
    damaged: bool
    def __init__(self, event: _Optional[_Union[_event_pb2.Event, _Mapping]] = ..., processing: _Optional[_Union[_consumer_view_pb2.ConsumerView, _Mapping]] = ..., state_since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., stands_since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., owner: _Optional[str] = ..., failures: _Optional[int] = ..., first_failed_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., last_failed_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., deliveries: _Optional[int] = ..., duplicates: _Optional[int] = ..., damaged: _Optional[bool] = ...) -> None: ...
