import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from idemsvc.v1 import acquire_pb2 as _acquire_pb2
from idemsvc.v1 import batch_pb2 as _batch_pb2
from idemsvc.v1 import check_version_pb2 as _check_version_pb2
from idemsvc.v1 import claim_pb2 as _claim_pb2
from idemsvc.v1 import completion_pb2 as _completion_pb2
from idemsvc.v1 import effect_pb2 as _effect_pb2
from idemsvc.v1 import errors_pb2 as _errors_pb2
from idemsvc.v1 import receive_pb2 as _receive_pb2
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class SessionRequest(_message.Message):
    __slots__ = ("correlation", "claim_event", "complete_event", "fail_event", "extend_claim", "release_claim", "check_version", "record_side_effect", "claim_events", "complete_events", "receive_event", "acquire_events", "receive_events", "subscribe", "add_credit", "unsubscribe", "timeout", "traceparent")
    CORRELATION_FIELD_NUMBER: _ClassVar[int]
    CLAIM_EVENT_FIELD_NUMBER: _ClassVar[int]
    COMPLETE_EVENT_FIELD_NUMBER: _ClassVar[int]
    FAIL_EVENT_FIELD_NUMBER: _ClassVar[int]
    EXTEND_CLAIM_FIELD_NUMBER: _ClassVar[int]
    RELEASE_CLAIM_FIELD_NUMBER: _ClassVar[int]
    CHECK_VERSION_FIELD_NUMBER: _ClassVar[int]
    RECORD_SIDE_EFFECT_FIELD_NUMBER: _ClassVar[int]
    CLAIM_EVENTS_FIELD_NUMBER: _ClassVar[int]
    COMPLETE_EVENTS_FIELD_NUMBER: _ClassVar[int]
    RECEIVE_EVENT_FIELD_NUMBER: _ClassVar[int]
    ACQUIRE_EVENTS_FIELD_NUMBER: _ClassVar[int]
    RECEIVE_EVENTS_FIELD_NUMBER: _ClassVar[int]
    SUBSCRIBE_FIELD_NUMBER: _ClassVar[int]
    ADD_CREDIT_FIELD_NUMBER: _ClassVar[int]
    UNSUBSCRIBE_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    TRACEPARENT_FIELD_NUMBER: _ClassVar[int]
    correlation: int
    claim_event: _claim_pb2.ClaimEventRequest
    complete_event: _completion_pb2.CompleteEventRequest
    fail_event: _completion_pb2.FailEventRequest
    extend_claim: _completion_pb2.ExtendClaimRequest
    release_claim: _completion_pb2.ReleaseClaimRequest
    check_version: _check_version_pb2.CheckVersionRequest
    record_side_effect: _effect_pb2.RecordSideEffectRequest
    claim_events: _batch_pb2.ClaimEventsRequest
    complete_events: _batch_pb2.CompleteEventsRequest
    receive_event: _receive_pb2.ReceiveEventRequest
    acquire_events: _acquire_pb2.AcquireEventsRequest
    receive_events: _batch_pb2.ReceiveEventsRequest
    subscribe: SubscribeRequest
    add_credit: AddCreditRequest
    unsubscribe: UnsubscribeRequest
    timeout: _duration_pb2.Duration
    traceparent: str
    def __init__(self, correlation: _Optional[int] = ..., claim_event: _Optional[_Union[_claim_pb2.ClaimEventRequest, _Mapping]] = ..., complete_event: _Optional[_Union[_completion_pb2.CompleteEventRequest, _Mapping]] = ..., fail_event: _Optional[_Union[_completion_pb2.FailEventRequest, _Mapping]] = ..., extend_claim: _Optional[_Union[_completion_pb2.ExtendClaimRequest, _Mapping]] = ..., release_claim: _Optional[_Union[_completion_pb2.ReleaseClaimRequest, _Mapping]] = ..., check_version: _Optional[_Union[_check_version_pb2.CheckVersionRequest, _Mapping]] = ..., record_side_effect: _Optional[_Union[_effect_pb2.RecordSideEffectRequest, _Mapping]] = ..., claim_events: _Optional[_Union[_batch_pb2.ClaimEventsRequest, _Mapping]] = ..., complete_events: _Optional[_Union[_batch_pb2.CompleteEventsRequest, _Mapping]] = ..., receive_event: _Optional[_Union[_receive_pb2.ReceiveEventRequest, _Mapping]] = ..., acquire_events: _Optional[_Union[_acquire_pb2.AcquireEventsRequest, _Mapping]] = ..., receive_events: _Optional[_Union[_batch_pb2.ReceiveEventsRequest, _Mapping]] = ..., subscribe: _Optional[_Union[SubscribeRequest, _Mapping]] = ..., add_credit: _Optional[_Union[AddCreditRequest, _Mapping]] = ..., unsubscribe: _Optional[_Union[UnsubscribeRequest, _Mapping]] = ..., timeout: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., traceparent: _Optional[str] = ...) -> None: ...

class SessionResponse(_message.Message):
    __slots__ = ("correlation", "claim_event", "complete_event", "fail_event", "extend_claim", "release_claim", "check_version", "record_side_effect", "claim_events", "complete_events", "receive_event", "acquire_events", "receive_events", "add_credit", "unsubscribe", "subscription_ended", "error", "go_away")
    CORRELATION_FIELD_NUMBER: _ClassVar[int]
    CLAIM_EVENT_FIELD_NUMBER: _ClassVar[int]
    COMPLETE_EVENT_FIELD_NUMBER: _ClassVar[int]
    FAIL_EVENT_FIELD_NUMBER: _ClassVar[int]
    EXTEND_CLAIM_FIELD_NUMBER: _ClassVar[int]
    RELEASE_CLAIM_FIELD_NUMBER: _ClassVar[int]
    CHECK_VERSION_FIELD_NUMBER: _ClassVar[int]
    RECORD_SIDE_EFFECT_FIELD_NUMBER: _ClassVar[int]
    CLAIM_EVENTS_FIELD_NUMBER: _ClassVar[int]
    COMPLETE_EVENTS_FIELD_NUMBER: _ClassVar[int]
    RECEIVE_EVENT_FIELD_NUMBER: _ClassVar[int]
    ACQUIRE_EVENTS_FIELD_NUMBER: _ClassVar[int]
    RECEIVE_EVENTS_FIELD_NUMBER: _ClassVar[int]
    ADD_CREDIT_FIELD_NUMBER: _ClassVar[int]
    UNSUBSCRIBE_FIELD_NUMBER: _ClassVar[int]
    SUBSCRIPTION_ENDED_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    GO_AWAY_FIELD_NUMBER: _ClassVar[int]
    correlation: int
    claim_event: _claim_pb2.ClaimEventResponse
    complete_event: _completion_pb2.CompleteEventResponse
    fail_event: _completion_pb2.FailEventResponse
    extend_claim: _completion_pb2.ExtendClaimResponse
    release_claim: _completion_pb2.ReleaseClaimResponse
    check_version: _check_version_pb2.CheckVersionResponse
    record_side_effect: _effect_pb2.RecordSideEffectResponse
    claim_events: _batch_pb2.ClaimEventsResponse
    complete_events: _batch_pb2.CompleteEventsResponse
    receive_event: _receive_pb2.ReceiveEventResponse
    acquire_events: _acquire_pb2.AcquireEventsResponse
    receive_events: _batch_pb2.ReceiveEventsResponse
    add_credit: AddCreditResponse
    unsubscribe: UnsubscribeResponse
    subscription_ended: SubscriptionEnded
    error: _errors_pb2.ItemError
    go_away: GoAway
    def __init__(self, correlation: _Optional[int] = ..., claim_event: _Optional[_Union[_claim_pb2.ClaimEventResponse, _Mapping]] = ..., complete_event: _Optional[_Union[_completion_pb2.CompleteEventResponse, _Mapping]] = ..., fail_event: _Optional[_Union[_completion_pb2.FailEventResponse, _Mapping]] = ..., extend_claim: _Optional[_Union[_completion_pb2.ExtendClaimResponse, _Mapping]] = ..., release_claim: _Optional[_Union[_completion_pb2.ReleaseClaimResponse, _Mapping]] = ..., check_version: _Optional[_Union[_check_version_pb2.CheckVersionResponse, _Mapping]] = ..., record_side_effect: _Optional[_Union[_effect_pb2.RecordSideEffectResponse, _Mapping]] = ..., claim_events: _Optional[_Union[_batch_pb2.ClaimEventsResponse, _Mapping]] = ..., complete_events: _Optional[_Union[_batch_pb2.CompleteEventsResponse, _Mapping]] = ..., receive_event: _Optional[_Union[_receive_pb2.ReceiveEventResponse, _Mapping]] = ..., acquire_events: _Optional[_Union[_acquire_pb2.AcquireEventsResponse, _Mapping]] = ..., receive_events: _Optional[_Union[_batch_pb2.ReceiveEventsResponse, _Mapping]] = ..., add_credit: _Optional[_Union[AddCreditResponse, _Mapping]] = ..., unsubscribe: _Optional[_Union[UnsubscribeResponse, _Mapping]] = ..., subscription_ended: _Optional[_Union[SubscriptionEnded, _Mapping]] = ..., error: _Optional[_Union[_errors_pb2.ItemError, _Mapping]] = ..., go_away: _Optional[_Union[GoAway, _Mapping]] = ...) -> None: ...

class GoAway(_message.Message):
    __slots__ = ("drain", "reason")
    DRAIN_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    drain: _duration_pb2.Duration
    reason: str
    def __init__(self, drain: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., reason: _Optional[str] = ...) -> None: ...

class SubscribeRequest(_message.Message):
    __slots__ = ("namespace", "consumer", "claimant", "credit", "lease", "want_payload", "resume_after")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    CONSUMER_FIELD_NUMBER: _ClassVar[int]
    CLAIMANT_FIELD_NUMBER: _ClassVar[int]
    CREDIT_FIELD_NUMBER: _ClassVar[int]
    LEASE_FIELD_NUMBER: _ClassVar[int]
    WANT_PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    RESUME_AFTER_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    consumer: str
    claimant: str
    credit: int
    lease: _duration_pb2.Duration
    want_payload: bool
    resume_after: int
    def __init__(self, namespace: _Optional[str] = ..., consumer: _Optional[str] = ..., claimant: _Optional[str] = ..., credit: _Optional[int] = ..., lease: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., want_payload: _Optional[bool] = ..., resume_after: _Optional[int] = ...) -> None: ...

class AddCreditRequest(_message.Message):
    __slots__ = ("subscription", "credit")
    SUBSCRIPTION_FIELD_NUMBER: _ClassVar[int]
    CREDIT_FIELD_NUMBER: _ClassVar[int]
    subscription: int
    credit: int
    def __init__(self, subscription: _Optional[int] = ..., credit: _Optional[int] = ...) -> None: ...

class AddCreditResponse(_message.Message):
    __slots__ = ("open",)
    OPEN_FIELD_NUMBER: _ClassVar[int]
    open: int
    def __init__(self, open: _Optional[int] = ...) -> None: ...

class UnsubscribeRequest(_message.Message):
    __slots__ = ("subscription",)
    SUBSCRIPTION_FIELD_NUMBER: _ClassVar[int]
    subscription: int
    def __init__(self, subscription: _Optional[int] = ...) -> None: ...

class UnsubscribeResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class SubscriptionEnded(_message.Message):
    __slots__ = ("reason",)
    REASON_FIELD_NUMBER: _ClassVar[int]
    reason: str
    def __init__(self, reason: _Optional[str] = ...) -> None: ...
