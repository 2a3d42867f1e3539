from idemsvc.v1 import errors_pb2 as _errors_pb2
from idemsvc.v1 import event_pb2 as _event_pb2
from idemsvc.v1 import list_pb2 as _list_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ReplayOutcome(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    REPLAY_OUTCOME_UNSPECIFIED: _ClassVar[ReplayOutcome]
    REPLAY_OUTCOME_STARTED: _ClassVar[ReplayOutcome]
    REPLAY_OUTCOME_ALREADY_STARTED: _ClassVar[ReplayOutcome]
    REPLAY_OUTCOME_REFUSED: _ClassVar[ReplayOutcome]
    REPLAY_OUTCOME_FAILED: _ClassVar[ReplayOutcome]
    REPLAY_OUTCOME_ALREADY_RECEIVED: _ClassVar[ReplayOutcome]
REPLAY_OUTCOME_UNSPECIFIED: ReplayOutcome
REPLAY_OUTCOME_STARTED: ReplayOutcome
REPLAY_OUTCOME_ALREADY_STARTED: ReplayOutcome
REPLAY_OUTCOME_REFUSED: ReplayOutcome
REPLAY_OUTCOME_FAILED: ReplayOutcome
REPLAY_OUTCOME_ALREADY_RECEIVED: ReplayOutcome

class ReplayEventsRequest(_message.Message):
    __slots__ = ("namespace", "request_id", "why", "events", "filter", "max_events", "dry_run", "include_processed", "to_consumer", "page_token")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    WHY_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    MAX_EVENTS_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_PROCESSED_FIELD_NUMBER: _ClassVar[int]
    TO_CONSUMER_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    request_id: str
    why: str
    events: ReplaySelection
    filter: _list_pb2.EventFilter
    max_events: int
    dry_run: bool
    include_processed: bool
    to_consumer: str
    page_token: bytes
    def __init__(self, namespace: _Optional[str] = ..., request_id: _Optional[str] = ..., why: _Optional[str] = ..., events: _Optional[_Union[ReplaySelection, _Mapping]] = ..., filter: _Optional[_Union[_list_pb2.EventFilter, _Mapping]] = ..., max_events: _Optional[int] = ..., dry_run: _Optional[bool] = ..., include_processed: _Optional[bool] = ..., to_consumer: _Optional[str] = ..., page_token: _Optional[bytes] = ...) -> None: ...

class ReplaySelection(_message.Message):
    __slots__ = ("targets",)
    TARGETS_FIELD_NUMBER: _ClassVar[int]
    targets: _containers.RepeatedCompositeFieldContainer[ReplayTarget]
    def __init__(self, targets: _Optional[_Iterable[_Union[ReplayTarget, _Mapping]]] = ...) -> None: ...

class ReplayTarget(_message.Message):
    __slots__ = ("consumer", "event")
    CONSUMER_FIELD_NUMBER: _ClassVar[int]
    EVENT_FIELD_NUMBER: _ClassVar[int]
    consumer: str
    event: _event_pb2.EventRef
    def __init__(self, consumer: _Optional[str] = ..., event: _Optional[_Union[_event_pb2.EventRef, _Mapping]] = ...) -> None: ...

class ReplayEventsResponse(_message.Message):
    __slots__ = ("selected", "started", "already_started", "refused", "more_match", "results", "results_omitted", "dry_run", "already_received", "next_page_token", "failed")
    SELECTED_FIELD_NUMBER: _ClassVar[int]
    STARTED_FIELD_NUMBER: _ClassVar[int]
    ALREADY_STARTED_FIELD_NUMBER: _ClassVar[int]
    REFUSED_FIELD_NUMBER: _ClassVar[int]
    MORE_MATCH_FIELD_NUMBER: _ClassVar[int]
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    RESULTS_OMITTED_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    ALREADY_RECEIVED_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    FAILED_FIELD_NUMBER: _ClassVar[int]
    selected: int
    started: int
    already_started: int
    refused: int
    more_match: bool
    results: _containers.RepeatedCompositeFieldContainer[ReplayResult]
    results_omitted: int
    dry_run: bool
    already_received: int
    next_page_token: bytes
    failed: int
    def __init__(self, selected: _Optional[int] = ..., started: _Optional[int] = ..., already_started: _Optional[int] = ..., refused: _Optional[int] = ..., more_match: _Optional[bool] = ..., results: _Optional[_Iterable[_Union[ReplayResult, _Mapping]]] = ..., results_omitted: _Optional[int] = ..., dry_run: _Optional[bool] = ..., already_received: _Optional[int] = ..., next_page_token: _Optional[bytes] = ..., failed: _Optional[int] = ...) -> None: ...

class ReplayResult(_message.Message):
    __slots__ = ("event", "outcome", "reason", "error")
    EVENT_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    event: _event_pb2.EventKey
    outcome: ReplayOutcome
    reason: str
    error: _errors_pb2.ItemError
    def __init__(self, event: _Optional[_Union[_event_pb2.EventKey, _Mapping]] = ..., outcome: _Optional[_Union[ReplayOutcome, str]] = ..., reason: _Optional[str] = ..., error: _Optional[_Union[_errors_pb2.ItemError, _Mapping]] = ...) -> None: ...
