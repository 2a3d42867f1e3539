import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from idemsvc.v1 import claim_pb2 as _claim_pb2
from idemsvc.v1 import completion_pb2 as _completion_pb2
from idemsvc.v1 import delivery_pb2 as _delivery_pb2
from idemsvc.v1 import errors_pb2 as _errors_pb2
from idemsvc.v1 import event_pb2 as _event_pb2
from idemsvc.v1 import receive_pb2 as _receive_pb2
from idemsvc.v1 import state_pb2 as _state_pb2
from idemsvc.v1 import version_pb2 as _version_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ClaimEventsRequest(_message.Message):
    __slots__ = ("namespace", "consumer", "claimant", "items", "delivery", "lease", "stale_claim", "want_payload", "accept_replay")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    CONSUMER_FIELD_NUMBER: _ClassVar[int]
    CLAIMANT_FIELD_NUMBER: _ClassVar[int]
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    DELIVERY_FIELD_NUMBER: _ClassVar[int]
    LEASE_FIELD_NUMBER: _ClassVar[int]
    STALE_CLAIM_FIELD_NUMBER: _ClassVar[int]
    WANT_PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    ACCEPT_REPLAY_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    consumer: str
    claimant: str
    items: _containers.RepeatedCompositeFieldContainer[ClaimItem]
    delivery: _delivery_pb2.Delivery
    lease: _duration_pb2.Duration
    stale_claim: _state_pb2.StaleClaim
    want_payload: bool
    accept_replay: bool
    def __init__(self, namespace: _Optional[str] = ..., consumer: _Optional[str] = ..., claimant: _Optional[str] = ..., items: _Optional[_Iterable[_Union[ClaimItem, _Mapping]]] = ..., delivery: _Optional[_Union[_delivery_pb2.Delivery, _Mapping]] = ..., lease: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., stale_claim: _Optional[_Union[_state_pb2.StaleClaim, str]] = ..., want_payload: _Optional[bool] = ..., accept_replay: _Optional[bool] = ...) -> None: ...

class ClaimItem(_message.Message):
    __slots__ = ("event", "ordering", "delivery")
    EVENT_FIELD_NUMBER: _ClassVar[int]
    ORDERING_FIELD_NUMBER: _ClassVar[int]
    DELIVERY_FIELD_NUMBER: _ClassVar[int]
    event: _event_pb2.Event
    ordering: _version_pb2.Ordering
    delivery: _delivery_pb2.Delivery
    def __init__(self, event: _Optional[_Union[_event_pb2.Event, _Mapping]] = ..., ordering: _Optional[_Union[_version_pb2.Ordering, _Mapping]] = ..., delivery: _Optional[_Union[_delivery_pb2.Delivery, _Mapping]] = ...) -> None: ...

class ClaimEventsResponse(_message.Message):
    __slots__ = ("results",)
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[ClaimItemResult]
    def __init__(self, results: _Optional[_Iterable[_Union[ClaimItemResult, _Mapping]]] = ...) -> None: ...

class ClaimItemResult(_message.Message):
    __slots__ = ("response", "error")
    RESPONSE_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    response: _claim_pb2.ClaimEventResponse
    error: _errors_pb2.ItemError
    def __init__(self, response: _Optional[_Union[_claim_pb2.ClaimEventResponse, _Mapping]] = ..., error: _Optional[_Union[_errors_pb2.ItemError, _Mapping]] = ...) -> None: ...

class CompleteEventsRequest(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[_completion_pb2.CompleteEventRequest]
    def __init__(self, items: _Optional[_Iterable[_Union[_completion_pb2.CompleteEventRequest, _Mapping]]] = ...) -> None: ...

class CompleteEventsResponse(_message.Message):
    __slots__ = ("results",)
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[CompleteItemResult]
    def __init__(self, results: _Optional[_Iterable[_Union[CompleteItemResult, _Mapping]]] = ...) -> None: ...

class CompleteItemResult(_message.Message):
    __slots__ = ("response", "error")
    RESPONSE_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    response: _completion_pb2.CompleteEventResponse
    error: _errors_pb2.ItemError
    def __init__(self, response: _Optional[_Union[_completion_pb2.CompleteEventResponse, _Mapping]] = ..., error: _Optional[_Union[_errors_pb2.ItemError, _Mapping]] = ...) -> None: ...

class ReceiveEventsRequest(_message.Message):
    __slots__ = ("namespace", "consumers", "items", "delivery", "stale_claim")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    CONSUMERS_FIELD_NUMBER: _ClassVar[int]
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    DELIVERY_FIELD_NUMBER: _ClassVar[int]
    STALE_CLAIM_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    consumers: _containers.RepeatedScalarFieldContainer[str]
    items: _containers.RepeatedCompositeFieldContainer[ReceiveItem]
    delivery: _delivery_pb2.Delivery
    stale_claim: _state_pb2.StaleClaim
    def __init__(self, namespace: _Optional[str] = ..., consumers: _Optional[_Iterable[str]] = ..., items: _Optional[_Iterable[_Union[ReceiveItem, _Mapping]]] = ..., delivery: _Optional[_Union[_delivery_pb2.Delivery, _Mapping]] = ..., stale_claim: _Optional[_Union[_state_pb2.StaleClaim, str]] = ...) -> None: ...

class ReceiveItem(_message.Message):
    __slots__ = ("event", "ordering", "delivery", "consumers")
    EVENT_FIELD_NUMBER: _ClassVar[int]
    ORDERING_FIELD_NUMBER: _ClassVar[int]
    DELIVERY_FIELD_NUMBER: _ClassVar[int]
    CONSUMERS_FIELD_NUMBER: _ClassVar[int]
    event: _event_pb2.Event
    ordering: _version_pb2.Ordering
    delivery: _delivery_pb2.Delivery
    consumers: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, event: _Optional[_Union[_event_pb2.Event, _Mapping]] = ..., ordering: _Optional[_Union[_version_pb2.Ordering, _Mapping]] = ..., delivery: _Optional[_Union[_delivery_pb2.Delivery, _Mapping]] = ..., consumers: _Optional[_Iterable[str]] = ...) -> None: ...

class ReceiveEventsResponse(_message.Message):
    __slots__ = ("results",)
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[ReceiveItemResult]
    def __init__(self, results: _Optional[_Iterable[_Union[ReceiveItemResult, _Mapping]]] = ...) -> None: ...

class ReceiveItemResult(_message.Message):
    __slots__ = ("response", "error")
    RESPONSE_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    response: _receive_pb2.ReceiveEventResponse
    error: _errors_pb2.ItemError
    def __init__(self, response: _Optional[_Union[_receive_pb2.ReceiveEventResponse, _Mapping]] = ..., error: _Optional[_Union[_errors_pb2.ItemError, _Mapping]] = ...) -> None: ...
