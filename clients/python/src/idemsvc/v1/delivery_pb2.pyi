import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class DeliveryKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DELIVERY_KIND_UNSPECIFIED: _ClassVar[DeliveryKind]
    DELIVERY_KIND_PROVIDER_FIRST: _ClassVar[DeliveryKind]
    DELIVERY_KIND_PROVIDER_RETRY: _ClassVar[DeliveryKind]
    DELIVERY_KIND_PROVIDER_REPLAY: _ClassVar[DeliveryKind]
    DELIVERY_KIND_CONSUMER_REQUEUE: _ClassVar[DeliveryKind]
    DELIVERY_KIND_CLIENT_REPEAT: _ClassVar[DeliveryKind]

class SignatureStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SIGNATURE_STATUS_UNSPECIFIED: _ClassVar[SignatureStatus]
    SIGNATURE_STATUS_VERIFIED: _ClassVar[SignatureStatus]
    SIGNATURE_STATUS_VERIFIED_LATE: _ClassVar[SignatureStatus]
    SIGNATURE_STATUS_FAILED: _ClassVar[SignatureStatus]
    SIGNATURE_STATUS_NOT_CHECKED: _ClassVar[SignatureStatus]

class Disposition(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DISPOSITION_UNSPECIFIED: _ClassVar[Disposition]
    DISPOSITION_ACCEPTED: _ClassVar[Disposition]
    DISPOSITION_IGNORED_DUPLICATE: _ClassVar[Disposition]
    DISPOSITION_IGNORED_STALE: _ClassVar[Disposition]
    DISPOSITION_IGNORED_SELF_ORIGINATED: _ClassVar[Disposition]
    DISPOSITION_BLOCKED_LOOP: _ClassVar[Disposition]
    DISPOSITION_REJECTED_SIGNATURE: _ClassVar[Disposition]
    DISPOSITION_REDELIVERED_AFTER_FAILURE: _ClassVar[Disposition]

class Anomaly(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ANOMALY_UNSPECIFIED: _ClassVar[Anomaly]
    ANOMALY_PAYLOAD_MISMATCH: _ClassVar[Anomaly]
    ANOMALY_UNCHANGED: _ClassVar[Anomaly]
    ANOMALY_VERIFIED_LATE: _ClassVar[Anomaly]
    ANOMALY_POST_RESTORE: _ClassVar[Anomaly]
DELIVERY_KIND_UNSPECIFIED: DeliveryKind
DELIVERY_KIND_PROVIDER_FIRST: DeliveryKind
DELIVERY_KIND_PROVIDER_RETRY: DeliveryKind
DELIVERY_KIND_PROVIDER_REPLAY: DeliveryKind
DELIVERY_KIND_CONSUMER_REQUEUE: DeliveryKind
DELIVERY_KIND_CLIENT_REPEAT: DeliveryKind
SIGNATURE_STATUS_UNSPECIFIED: SignatureStatus
SIGNATURE_STATUS_VERIFIED: SignatureStatus
SIGNATURE_STATUS_VERIFIED_LATE: SignatureStatus
SIGNATURE_STATUS_FAILED: SignatureStatus
SIGNATURE_STATUS_NOT_CHECKED: SignatureStatus
DISPOSITION_UNSPECIFIED: Disposition
DISPOSITION_ACCEPTED: Disposition
DISPOSITION_IGNORED_DUPLICATE: Disposition
DISPOSITION_IGNORED_STALE: Disposition
DISPOSITION_IGNORED_SELF_ORIGINATED: Disposition
DISPOSITION_BLOCKED_LOOP: Disposition
DISPOSITION_REJECTED_SIGNATURE: Disposition
DISPOSITION_REDELIVERED_AFTER_FAILURE: Disposition
ANOMALY_UNSPECIFIED: Anomaly
ANOMALY_PAYLOAD_MISMATCH: Anomaly
ANOMALY_UNCHANGED: Anomaly
ANOMALY_VERIFIED_LATE: Anomaly
ANOMALY_POST_RESTORE: Anomaly

class Header(_message.Message):
    __slots__ = ("name", "value")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    name: str
    value: str
    def __init__(self, name: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...

class Delivery(_message.Message):
    __slots__ = ("request_id", "kind", "attempt", "signature", "received_at", "respond_by", "headers")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    RECEIVED_AT_FIELD_NUMBER: _ClassVar[int]
    RESPOND_BY_FIELD_NUMBER: _ClassVar[int]
    HEADERS_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    kind: DeliveryKind
    attempt: int
    signature: SignatureStatus
    received_at: _timestamp_pb2.Timestamp
    respond_by: _timestamp_pb2.Timestamp
    headers: _containers.RepeatedCompositeFieldContainer[Header]
    def __init__(self, request_id: _Optional[str] = ..., kind: _Optional[_Union[DeliveryKind, str]] = ..., attempt: _Optional[int] = ..., signature: _Optional[_Union[SignatureStatus, str]] = ..., received_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., respond_by: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., headers: _Optional[_Iterable[_Union[Header, _Mapping]]] = ...) -> None: ...

class DeliveryAnswer(_message.Message):
    __slots__ = ("http_status", "at")
    HTTP_STATUS_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    http_status: int
    at: _timestamp_pb2.Timestamp
    def __init__(self, http_status: _Optional[int] = ..., at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class RecordDeliveryAnswerRequest(_message.Message):
    __slots__ = ("namespace", "consumer", "source", "event_ids", "request_id", "answer")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    CONSUMER_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    EVENT_IDS_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    consumer: str
    source: str
    event_ids: _containers.RepeatedScalarFieldContainer[str]
    request_id: str
    answer: DeliveryAnswer
    def __init__(self, namespace: _Optional[str] = ..., consumer: _Optional[str] = ..., source: _Optional[str] = ..., event_ids: _Optional[_Iterable[str]] = ..., request_id: _Optional[str] = ..., answer: _Optional[_Union[DeliveryAnswer, _Mapping]] = ...) -> None: ...

class RecordDeliveryAnswerResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...
