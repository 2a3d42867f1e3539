import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from idemsvc.v1 import blocker_pb2 as _blocker_pb2
from idemsvc.v1 import event_pb2 as _event_pb2
from idemsvc.v1 import version_pb2 as _version_pb2
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class VersionDecision(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    VERSION_DECISION_UNSPECIFIED: _ClassVar[VersionDecision]
    VERSION_DECISION_APPLY: _ClassVar[VersionDecision]
    VERSION_DECISION_ALREADY_APPLIED: _ClassVar[VersionDecision]
    VERSION_DECISION_STALE: _ClassVar[VersionDecision]
    VERSION_DECISION_TIED: _ClassVar[VersionDecision]
    VERSION_DECISION_GAP: _ClassVar[VersionDecision]
    VERSION_DECISION_BUSY: _ClassVar[VersionDecision]
    VERSION_DECISION_ILLEGAL_TRANSITION: _ClassVar[VersionDecision]
VERSION_DECISION_UNSPECIFIED: VersionDecision
VERSION_DECISION_APPLY: VersionDecision
VERSION_DECISION_ALREADY_APPLIED: VersionDecision
VERSION_DECISION_STALE: VersionDecision
VERSION_DECISION_TIED: VersionDecision
VERSION_DECISION_GAP: VersionDecision
VERSION_DECISION_BUSY: VersionDecision
VERSION_DECISION_ILLEGAL_TRANSITION: VersionDecision

class CheckVersionRequest(_message.Message):
    __slots__ = ("namespace", "consumer", "resource", "version", "mode", "transition", "claim_token", "event_ref", "request_id")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    CONSUMER_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    TRANSITION_FIELD_NUMBER: _ClassVar[int]
    CLAIM_TOKEN_FIELD_NUMBER: _ClassVar[int]
    EVENT_REF_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    consumer: str
    resource: _event_pb2.Resource
    version: _version_pb2.Version
    mode: _version_pb2.OrderingMode
    transition: _version_pb2.Transition
    claim_token: bytes
    event_ref: _event_pb2.EventRef
    request_id: str
    def __init__(self, namespace: _Optional[str] = ..., consumer: _Optional[str] = ..., resource: _Optional[_Union[_event_pb2.Resource, _Mapping]] = ..., version: _Optional[_Union[_version_pb2.Version, _Mapping]] = ..., mode: _Optional[_Union[_version_pb2.OrderingMode, str]] = ..., transition: _Optional[_Union[_version_pb2.Transition, _Mapping]] = ..., claim_token: _Optional[bytes] = ..., event_ref: _Optional[_Union[_event_pb2.EventRef, _Mapping]] = ..., request_id: _Optional[str] = ...) -> None: ...

class CheckVersionResponse(_message.Message):
    __slots__ = ("decision", "lane_fence", "current_version", "current_state", "expected_version", "blocked_by", "retry_after")
    DECISION_FIELD_NUMBER: _ClassVar[int]
    LANE_FENCE_FIELD_NUMBER: _ClassVar[int]
    CURRENT_VERSION_FIELD_NUMBER: _ClassVar[int]
    CURRENT_STATE_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_VERSION_FIELD_NUMBER: _ClassVar[int]
    BLOCKED_BY_FIELD_NUMBER: _ClassVar[int]
    RETRY_AFTER_FIELD_NUMBER: _ClassVar[int]
    decision: VersionDecision
    lane_fence: int
    current_version: _version_pb2.Version
    current_state: str
    expected_version: _version_pb2.Version
    blocked_by: _blocker_pb2.Blocker
    retry_after: _duration_pb2.Duration
    def __init__(self, decision: _Optional[_Union[VersionDecision, str]] = ..., lane_fence: _Optional[int] = ..., current_version: _Optional[_Union[_version_pb2.Version, _Mapping]] = ..., current_state: _Optional[str] = ..., expected_version: _Optional[_Union[_version_pb2.Version, _Mapping]] = ..., blocked_by: _Optional[_Union[_blocker_pb2.Blocker, _Mapping]] = ..., retry_after: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...
