import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from idemsvc.v1 import claim_pb2 as _claim_pb2
from idemsvc.v1 import consumer_view_pb2 as _consumer_view_pb2
from idemsvc.v1 import delivery_pb2 as _delivery_pb2
from idemsvc.v1 import event_pb2 as _event_pb2
from idemsvc.v1 import list_pb2 as _list_pb2
from idemsvc.v1 import options_pb2 as _options_pb2
from idemsvc.v1 import policy_pb2 as _policy_pb2
from idemsvc.v1 import replay_pb2 as _replay_pb2
from idemsvc.v1 import resolve_pb2 as _resolve_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class GetEventRequest(_message.Message):
    __slots__ = ("namespace", "source", "event_id", "include_payload", "include_results", "include_rejected_deliveries")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    EVENT_ID_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_RESULTS_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_REJECTED_DELIVERIES_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    source: str
    event_id: str
    include_payload: bool
    include_results: bool
    include_rejected_deliveries: bool
    def __init__(self, namespace: _Optional[str] = ..., source: _Optional[str] = ..., event_id: _Optional[str] = ..., include_payload: _Optional[bool] = ..., include_results: _Optional[bool] = ..., include_rejected_deliveries: _Optional[bool] = ...) -> None: ...

class GetEventResponse(_message.Message):
    __slots__ = ("events", "index_lag", "truncated")
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    INDEX_LAG_FIELD_NUMBER: _ClassVar[int]
    TRUNCATED_FIELD_NUMBER: _ClassVar[int]
    events: _containers.RepeatedCompositeFieldContainer[EventView]
    index_lag: _duration_pb2.Duration
    truncated: bool
    def __init__(self, events: _Optional[_Iterable[_Union[EventView, _Mapping]]] = ..., index_lag: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., truncated: _Optional[bool] = ...) -> None: ...

class EventView(_message.Message):
    __slots__ = ("event", "payload_size", "payload_gone", "payload_omitted", "first_seen_at", "first_delivery_trace", "deliveries", "deliveries_omitted", "consumers", "consequences", "consequences_omitted")
    EVENT_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_GONE_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_OMITTED_FIELD_NUMBER: _ClassVar[int]
    FIRST_SEEN_AT_FIELD_NUMBER: _ClassVar[int]
    FIRST_DELIVERY_TRACE_FIELD_NUMBER: _ClassVar[int]
    DELIVERIES_FIELD_NUMBER: _ClassVar[int]
    DELIVERIES_OMITTED_FIELD_NUMBER: _ClassVar[int]
    CONSUMERS_FIELD_NUMBER: _ClassVar[int]
    CONSEQUENCES_FIELD_NUMBER: _ClassVar[int]
    CONSEQUENCES_OMITTED_FIELD_NUMBER: _ClassVar[int]
    event: _event_pb2.Event
    payload_size: int
    payload_gone: bool
    payload_omitted: bool
    first_seen_at: _timestamp_pb2.Timestamp
    first_delivery_trace: str
    deliveries: _containers.RepeatedCompositeFieldContainer[DeliveryView]
    deliveries_omitted: int
    consumers: _containers.RepeatedCompositeFieldContainer[_consumer_view_pb2.ConsumerView]
    consequences: _containers.RepeatedCompositeFieldContainer[_event_pb2.EventRef]
    consequences_omitted: bool
    def __init__(self, event: _Optional[_Union[_event_pb2.Event, _Mapping]] = ..., payload_size: _Optional[int] = ..., payload_gone: _Optional[bool] = ..., payload_omitted: _Optional[bool] = ..., first_seen_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., first_delivery_trace: _Optional[str] = ..., deliveries: _Optional[_Iterable[_Union[DeliveryView, _Mapping]]] = ..., deliveries_omitted: _Optional[int] = ..., consumers: _Optional[_Iterable[_Union[_consumer_view_pb2.ConsumerView, _Mapping]]] = ..., consequences: _Optional[_Iterable[_Union[_event_pb2.EventRef, _Mapping]]] = ..., consequences_omitted: _Optional[bool] = ...) -> None: ...

class DeliveryView(_message.Message):
    __slots__ = ("delivery", "disposition", "anomalies", "recorded_at", "consumers", "payload_hash", "answer", "trace", "outcome")
    DELIVERY_FIELD_NUMBER: _ClassVar[int]
    DISPOSITION_FIELD_NUMBER: _ClassVar[int]
    ANOMALIES_FIELD_NUMBER: _ClassVar[int]
    RECORDED_AT_FIELD_NUMBER: _ClassVar[int]
    CONSUMERS_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_HASH_FIELD_NUMBER: _ClassVar[int]
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    TRACE_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    delivery: _delivery_pb2.Delivery
    disposition: _delivery_pb2.Disposition
    anomalies: _containers.RepeatedScalarFieldContainer[_delivery_pb2.Anomaly]
    recorded_at: _timestamp_pb2.Timestamp
    consumers: _containers.RepeatedScalarFieldContainer[str]
    payload_hash: bytes
    answer: _delivery_pb2.DeliveryAnswer
    trace: str
    outcome: _claim_pb2.ClaimOutcome
    def __init__(self, delivery: _Optional[_Union[_delivery_pb2.Delivery, _Mapping]] = ..., disposition: _Optional[_Union[_delivery_pb2.Disposition, str]] = ..., anomalies: _Optional[_Iterable[_Union[_delivery_pb2.Anomaly, str]]] = ..., recorded_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., consumers: _Optional[_Iterable[str]] = ..., payload_hash: _Optional[bytes] = ..., answer: _Optional[_Union[_delivery_pb2.DeliveryAnswer, _Mapping]] = ..., trace: _Optional[str] = ..., outcome: _Optional[_Union[_claim_pb2.ClaimOutcome, str]] = ...) -> None: ...

class GetServerInfoRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetServerInfoResponse(_message.Message):
    __slots__ = ("version", "schema_version", "required_schema_version", "limits", "features", "database_time", "epoch", "storage", "retention")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    SCHEMA_VERSION_FIELD_NUMBER: _ClassVar[int]
    REQUIRED_SCHEMA_VERSION_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    FEATURES_FIELD_NUMBER: _ClassVar[int]
    DATABASE_TIME_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    STORAGE_FIELD_NUMBER: _ClassVar[int]
    RETENTION_FIELD_NUMBER: _ClassVar[int]
    version: str
    schema_version: int
    required_schema_version: int
    limits: Limits
    features: _containers.RepeatedScalarFieldContainer[str]
    database_time: _timestamp_pb2.Timestamp
    epoch: int
    storage: str
    retention: RetentionInfo
    def __init__(self, version: _Optional[str] = ..., schema_version: _Optional[int] = ..., required_schema_version: _Optional[int] = ..., limits: _Optional[_Union[Limits, _Mapping]] = ..., features: _Optional[_Iterable[str]] = ..., database_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., epoch: _Optional[int] = ..., storage: _Optional[str] = ..., retention: _Optional[_Union[RetentionInfo, _Mapping]] = ...) -> None: ...

class RetentionInfo(_message.Message):
    __slots__ = ("passed_at", "events", "effects", "resources", "payloads", "partitions")
    PASSED_AT_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    EFFECTS_FIELD_NUMBER: _ClassVar[int]
    RESOURCES_FIELD_NUMBER: _ClassVar[int]
    PAYLOADS_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    passed_at: _timestamp_pb2.Timestamp
    events: int
    effects: int
    resources: int
    payloads: int
    partitions: int
    def __init__(self, passed_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., events: _Optional[int] = ..., effects: _Optional[int] = ..., resources: _Optional[int] = ..., payloads: _Optional[int] = ..., partitions: _Optional[int] = ...) -> None: ...

class Limits(_message.Message):
    __slots__ = ("max_key_part_bytes", "max_identity_bytes", "max_payload_bytes", "max_result_bytes", "max_message_bytes", "max_batch_items", "max_error_message_bytes", "max_headers", "max_outputs", "max_effects", "max_effect_bytes", "max_effect_intent_bytes", "min_lease", "max_lease", "max_wait", "max_retry_after")
    MAX_KEY_PART_BYTES_FIELD_NUMBER: _ClassVar[int]
    MAX_IDENTITY_BYTES_FIELD_NUMBER: _ClassVar[int]
    MAX_PAYLOAD_BYTES_FIELD_NUMBER: _ClassVar[int]
    MAX_RESULT_BYTES_FIELD_NUMBER: _ClassVar[int]
    MAX_MESSAGE_BYTES_FIELD_NUMBER: _ClassVar[int]
    MAX_BATCH_ITEMS_FIELD_NUMBER: _ClassVar[int]
    MAX_ERROR_MESSAGE_BYTES_FIELD_NUMBER: _ClassVar[int]
    MAX_HEADERS_FIELD_NUMBER: _ClassVar[int]
    MAX_OUTPUTS_FIELD_NUMBER: _ClassVar[int]
    MAX_EFFECTS_FIELD_NUMBER: _ClassVar[int]
    MAX_EFFECT_BYTES_FIELD_NUMBER: _ClassVar[int]
    MAX_EFFECT_INTENT_BYTES_FIELD_NUMBER: _ClassVar[int]
    MIN_LEASE_FIELD_NUMBER: _ClassVar[int]
    MAX_LEASE_FIELD_NUMBER: _ClassVar[int]
    MAX_WAIT_FIELD_NUMBER: _ClassVar[int]
    MAX_RETRY_AFTER_FIELD_NUMBER: _ClassVar[int]
    max_key_part_bytes: int
    max_identity_bytes: int
    max_payload_bytes: int
    max_result_bytes: int
    max_message_bytes: int
    max_batch_items: int
    max_error_message_bytes: int
    max_headers: int
    max_outputs: int
    max_effects: int
    max_effect_bytes: int
    max_effect_intent_bytes: int
    min_lease: _duration_pb2.Duration
    max_lease: _duration_pb2.Duration
    max_wait: _duration_pb2.Duration
    max_retry_after: _duration_pb2.Duration
    def __init__(self, max_key_part_bytes: _Optional[int] = ..., max_identity_bytes: _Optional[int] = ..., max_payload_bytes: _Optional[int] = ..., max_result_bytes: _Optional[int] = ..., max_message_bytes: _Optional[int] = ..., max_batch_items: _Optional[int] = ..., max_error_message_bytes: _Optional[int] = ..., max_headers: _Optional[int] = ..., max_outputs: _Optional[int] = ..., max_effects: _Optional[int] = ..., max_effect_bytes: _Optional[int] = ..., max_effect_intent_bytes: _Optional[int] = ..., min_lease: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., max_lease: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., max_wait: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., max_retry_after: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...
