import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from idemsvc.v1 import claim_pb2 as _claim_pb2
from idemsvc.v1 import delivery_pb2 as _delivery_pb2
from idemsvc.v1 import event_pb2 as _event_pb2
from idemsvc.v1 import version_pb2 as _version_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class AcquireEventsRequest(_message.Message):
    __slots__ = ("namespace", "consumer", "claimant", "max_events", "wait", "lease", "want_payload")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    CONSUMER_FIELD_NUMBER: _ClassVar[int]
    CLAIMANT_FIELD_NUMBER: _ClassVar[int]
    MAX_EVENTS_FIELD_NUMBER: _ClassVar[int]
    WAIT_FIELD_NUMBER: _ClassVar[int]
    LEASE_FIELD_NUMBER: _ClassVar[int]
    WANT_PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    consumer: str
    claimant: str
    max_events: int
    wait: _duration_pb2.Duration
    lease: _duration_pb2.Duration
    want_payload: bool
    def __init__(self, namespace: _Optional[str] = ..., consumer: _Optional[str] = ..., claimant: _Optional[str] = ..., max_events: _Optional[int] = ..., wait: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., lease: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., want_payload: _Optional[bool] = ...) -> None: ...

class AcquireEventsResponse(_message.Message):
    __slots__ = ("events", "claimant", "batch")
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    CLAIMANT_FIELD_NUMBER: _ClassVar[int]
    BATCH_FIELD_NUMBER: _ClassVar[int]
    events: _containers.RepeatedCompositeFieldContainer[AcquiredEvent]
    claimant: str
    batch: int
    def __init__(self, events: _Optional[_Iterable[_Union[AcquiredEvent, _Mapping]]] = ..., claimant: _Optional[str] = ..., batch: _Optional[int] = ...) -> None: ...

class AcquiredEvent(_message.Message):
    __slots__ = ("event", "claim", "ordering", "delivery", "anomalies", "first_delivery_trace", "cause_trace")
    EVENT_FIELD_NUMBER: _ClassVar[int]
    CLAIM_FIELD_NUMBER: _ClassVar[int]
    ORDERING_FIELD_NUMBER: _ClassVar[int]
    DELIVERY_FIELD_NUMBER: _ClassVar[int]
    ANOMALIES_FIELD_NUMBER: _ClassVar[int]
    FIRST_DELIVERY_TRACE_FIELD_NUMBER: _ClassVar[int]
    CAUSE_TRACE_FIELD_NUMBER: _ClassVar[int]
    event: _event_pb2.Event
    claim: _claim_pb2.Claim
    ordering: _version_pb2.Ordering
    delivery: _delivery_pb2.Delivery
    anomalies: _containers.RepeatedScalarFieldContainer[_delivery_pb2.Anomaly]
    first_delivery_trace: str
    cause_trace: str
    def __init__(self, event: _Optional[_Union[_event_pb2.Event, _Mapping]] = ..., claim: _Optional[_Union[_claim_pb2.Claim, _Mapping]] = ..., ordering: _Optional[_Union[_version_pb2.Ordering, _Mapping]] = ..., delivery: _Optional[_Union[_delivery_pb2.Delivery, _Mapping]] = ..., anomalies: _Optional[_Iterable[_Union[_delivery_pb2.Anomaly, str]]] = ..., first_delivery_trace: _Optional[str] = ..., cause_trace: _Optional[str] = ...) -> None: ...
