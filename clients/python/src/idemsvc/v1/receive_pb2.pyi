import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from idemsvc.v1 import claim_pb2 as _claim_pb2
from idemsvc.v1 import delivery_pb2 as _delivery_pb2
from idemsvc.v1 import errors_pb2 as _errors_pb2
from idemsvc.v1 import event_pb2 as _event_pb2
from idemsvc.v1 import state_pb2 as _state_pb2
from idemsvc.v1 import version_pb2 as _version_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ReceiveOutcome(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RECEIVE_OUTCOME_UNSPECIFIED: _ClassVar[ReceiveOutcome]
    RECEIVE_OUTCOME_RECEIVED: _ClassVar[ReceiveOutcome]
    RECEIVE_OUTCOME_DUPLICATE: _ClassVar[ReceiveOutcome]
    RECEIVE_OUTCOME_SELF_ORIGINATED: _ClassVar[ReceiveOutcome]
    RECEIVE_OUTCOME_REJECTED_SIGNATURE: _ClassVar[ReceiveOutcome]
    RECEIVE_OUTCOME_PAYLOAD_MISMATCH: _ClassVar[ReceiveOutcome]
RECEIVE_OUTCOME_UNSPECIFIED: ReceiveOutcome
RECEIVE_OUTCOME_RECEIVED: ReceiveOutcome
RECEIVE_OUTCOME_DUPLICATE: ReceiveOutcome
RECEIVE_OUTCOME_SELF_ORIGINATED: ReceiveOutcome
RECEIVE_OUTCOME_REJECTED_SIGNATURE: ReceiveOutcome
RECEIVE_OUTCOME_PAYLOAD_MISMATCH: ReceiveOutcome

class ReceiveEventRequest(_message.Message):
    __slots__ = ("namespace", "consumers", "event", "delivery", "ordering", "stale_claim")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    CONSUMERS_FIELD_NUMBER: _ClassVar[int]
    EVENT_FIELD_NUMBER: _ClassVar[int]
    DELIVERY_FIELD_NUMBER: _ClassVar[int]
    ORDERING_FIELD_NUMBER: _ClassVar[int]
    STALE_CLAIM_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    consumers: _containers.RepeatedScalarFieldContainer[str]
    event: _event_pb2.Event
    delivery: _delivery_pb2.Delivery
    ordering: _version_pb2.Ordering
    stale_claim: _state_pb2.StaleClaim
    def __init__(self, namespace: _Optional[str] = ..., consumers: _Optional[_Iterable[str]] = ..., event: _Optional[_Union[_event_pb2.Event, _Mapping]] = ..., delivery: _Optional[_Union[_delivery_pb2.Delivery, _Mapping]] = ..., ordering: _Optional[_Union[_version_pb2.Ordering, _Mapping]] = ..., stale_claim: _Optional[_Union[_state_pb2.StaleClaim, str]] = ...) -> None: ...

class ReceiveEventResponse(_message.Message):
    __slots__ = ("advice", "retry_after", "results")
    ADVICE_FIELD_NUMBER: _ClassVar[int]
    RETRY_AFTER_FIELD_NUMBER: _ClassVar[int]
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    advice: _claim_pb2.Advice
    retry_after: _duration_pb2.Duration
    results: _containers.RepeatedCompositeFieldContainer[ReceiptResult]
    def __init__(self, advice: _Optional[_Union[_claim_pb2.Advice, str]] = ..., retry_after: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., results: _Optional[_Iterable[_Union[ReceiptResult, _Mapping]]] = ...) -> None: ...

class ReceiptResult(_message.Message):
    __slots__ = ("receipt", "error")
    RECEIPT_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    receipt: Receipt
    error: _errors_pb2.ItemError
    def __init__(self, receipt: _Optional[_Union[Receipt, _Mapping]] = ..., error: _Optional[_Union[_errors_pb2.ItemError, _Mapping]] = ...) -> None: ...

class Receipt(_message.Message):
    __slots__ = ("consumer", "outcome", "advice", "existing", "anomalies", "disposition", "repeated")
    CONSUMER_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    ADVICE_FIELD_NUMBER: _ClassVar[int]
    EXISTING_FIELD_NUMBER: _ClassVar[int]
    ANOMALIES_FIELD_NUMBER: _ClassVar[int]
    DISPOSITION_FIELD_NUMBER: _ClassVar[int]
    REPEATED_FIELD_NUMBER: _ClassVar[int]
    consumer: str
    outcome: ReceiveOutcome
    advice: _claim_pb2.Advice
    existing: _claim_pb2.ExistingEvent
    anomalies: _containers.RepeatedScalarFieldContainer[_delivery_pb2.Anomaly]
    disposition: _delivery_pb2.Disposition
    repeated: bool
    def __init__(self, consumer: _Optional[str] = ..., outcome: _Optional[_Union[ReceiveOutcome, str]] = ..., advice: _Optional[_Union[_claim_pb2.Advice, str]] = ..., existing: _Optional[_Union[_claim_pb2.ExistingEvent, _Mapping]] = ..., anomalies: _Optional[_Iterable[_Union[_delivery_pb2.Anomaly, str]]] = ..., disposition: _Optional[_Union[_delivery_pb2.Disposition, str]] = ..., repeated: _Optional[bool] = ...) -> None: ...
