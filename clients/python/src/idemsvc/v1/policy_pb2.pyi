import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from idemsvc.v1 import effect_pb2 as _effect_pb2
from idemsvc.v1 import state_pb2 as _state_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class HeldLanesRule(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    HELD_LANES_RULE_UNSPECIFIED: _ClassVar[HeldLanesRule]
    HELD_LANES_RULE_KEEP: _ClassVar[HeldLanesRule]
    HELD_LANES_RULE_FREE: _ClassVar[HeldLanesRule]

class PayloadMismatchRule(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PAYLOAD_MISMATCH_RULE_UNSPECIFIED: _ClassVar[PayloadMismatchRule]
    PAYLOAD_MISMATCH_RULE_FLAG: _ClassVar[PayloadMismatchRule]
    PAYLOAD_MISMATCH_RULE_REFUSE: _ClassVar[PayloadMismatchRule]

class SignatureRule(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SIGNATURE_RULE_UNSPECIFIED: _ClassVar[SignatureRule]
    SIGNATURE_RULE_LEARNED: _ClassVar[SignatureRule]
    SIGNATURE_RULE_OPTIONAL: _ClassVar[SignatureRule]
    SIGNATURE_RULE_REQUIRED: _ClassVar[SignatureRule]

class TieRule(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TIE_RULE_UNSPECIFIED: _ClassVar[TieRule]
    TIE_RULE_HOLD: _ClassVar[TieRule]
    TIE_RULE_APPLY: _ClassVar[TieRule]
    TIE_RULE_SKIP: _ClassVar[TieRule]

class GapRule(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    GAP_RULE_UNSPECIFIED: _ClassVar[GapRule]
    GAP_RULE_WAIT: _ClassVar[GapRule]
    GAP_RULE_SKIP: _ClassVar[GapRule]
    GAP_RULE_HOLD: _ClassVar[GapRule]

class DeadPredecessorRule(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DEAD_PREDECESSOR_RULE_UNSPECIFIED: _ClassVar[DeadPredecessorRule]
    DEAD_PREDECESSOR_RULE_HOLD: _ClassVar[DeadPredecessorRule]
    DEAD_PREDECESSOR_RULE_SKIP: _ClassVar[DeadPredecessorRule]
    DEAD_PREDECESSOR_RULE_WAIT: _ClassVar[DeadPredecessorRule]

class IllegalTransitionRule(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ILLEGAL_TRANSITION_RULE_UNSPECIFIED: _ClassVar[IllegalTransitionRule]
    ILLEGAL_TRANSITION_RULE_WAIT: _ClassVar[IllegalTransitionRule]
    ILLEGAL_TRANSITION_RULE_FAIL: _ClassVar[IllegalTransitionRule]
HELD_LANES_RULE_UNSPECIFIED: HeldLanesRule
HELD_LANES_RULE_KEEP: HeldLanesRule
HELD_LANES_RULE_FREE: HeldLanesRule
PAYLOAD_MISMATCH_RULE_UNSPECIFIED: PayloadMismatchRule
PAYLOAD_MISMATCH_RULE_FLAG: PayloadMismatchRule
PAYLOAD_MISMATCH_RULE_REFUSE: PayloadMismatchRule
SIGNATURE_RULE_UNSPECIFIED: SignatureRule
SIGNATURE_RULE_LEARNED: SignatureRule
SIGNATURE_RULE_OPTIONAL: SignatureRule
SIGNATURE_RULE_REQUIRED: SignatureRule
TIE_RULE_UNSPECIFIED: TieRule
TIE_RULE_HOLD: TieRule
TIE_RULE_APPLY: TieRule
TIE_RULE_SKIP: TieRule
GAP_RULE_UNSPECIFIED: GapRule
GAP_RULE_WAIT: GapRule
GAP_RULE_SKIP: GapRule
GAP_RULE_HOLD: GapRule
DEAD_PREDECESSOR_RULE_UNSPECIFIED: DeadPredecessorRule
DEAD_PREDECESSOR_RULE_HOLD: DeadPredecessorRule
DEAD_PREDECESSOR_RULE_SKIP: DeadPredecessorRule
DEAD_PREDECESSOR_RULE_WAIT: DeadPredecessorRule
ILLEGAL_TRANSITION_RULE_UNSPECIFIED: IllegalTransitionRule
ILLEGAL_TRANSITION_RULE_WAIT: IllegalTransitionRule
ILLEGAL_TRANSITION_RULE_FAIL: IllegalTransitionRule

class PolicyNames(_message.Message):
    __slots__ = ("names",)
    NAMES_FIELD_NUMBER: _ClassVar[int]
    names: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, names: _Optional[_Iterable[str]] = ...) -> None: ...

class PolicyMachines(_message.Message):
    __slots__ = ("machines",)
    class MachinesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: PolicyMachine
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[PolicyMachine, _Mapping]] = ...) -> None: ...
    MACHINES_FIELD_NUMBER: _ClassVar[int]
    machines: _containers.MessageMap[str, PolicyMachine]
    def __init__(self, machines: _Optional[_Mapping[str, PolicyMachine]] = ...) -> None: ...

class PolicyMachine(_message.Message):
    __slots__ = ("initial", "steps")
    INITIAL_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    initial: str
    steps: _containers.RepeatedCompositeFieldContainer[PolicyStep]
    def __init__(self, initial: _Optional[str] = ..., steps: _Optional[_Iterable[_Union[PolicyStep, _Mapping]]] = ...) -> None: ...

class PolicyStep(_message.Message):
    __slots__ = ("to",)
    FROM_FIELD_NUMBER: _ClassVar[int]
    TO_FIELD_NUMBER: _ClassVar[int]
    to: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, to: _Optional[_Iterable[str]] = ..., **kwargs) -> None: ...

class PolicyMatch(_message.Message):
    __slots__ = ("consumer", "source", "type")
    CONSUMER_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    consumer: str
    source: str
    type: str
    def __init__(self, consumer: _Optional[str] = ..., source: _Optional[str] = ..., type: _Optional[str] = ...) -> None: ...

class Policy(_message.Message):
    __slots__ = ("match", "lease", "max_lease", "max_claim_age", "stale_claim", "held_lanes", "max_attempts", "backoff_base", "backoff_factor", "backoff_cap", "not_yet_budget", "redelivery_min_interval", "release_delay", "max_releases", "payload_mismatch", "signature", "self_origins", "tie_sequence", "tie_instant", "gap", "gap_after", "dead_predecessor", "sequence_start", "machines", "illegal_transition", "effect_lease", "effect_on_unknown", "retain_events", "retain_payloads", "retain_versions", "retain_effects", "longest_resend", "stuck_after")
    MATCH_FIELD_NUMBER: _ClassVar[int]
    LEASE_FIELD_NUMBER: _ClassVar[int]
    MAX_LEASE_FIELD_NUMBER: _ClassVar[int]
    MAX_CLAIM_AGE_FIELD_NUMBER: _ClassVar[int]
    STALE_CLAIM_FIELD_NUMBER: _ClassVar[int]
    HELD_LANES_FIELD_NUMBER: _ClassVar[int]
    MAX_ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    BACKOFF_BASE_FIELD_NUMBER: _ClassVar[int]
    BACKOFF_FACTOR_FIELD_NUMBER: _ClassVar[int]
    BACKOFF_CAP_FIELD_NUMBER: _ClassVar[int]
    NOT_YET_BUDGET_FIELD_NUMBER: _ClassVar[int]
    REDELIVERY_MIN_INTERVAL_FIELD_NUMBER: _ClassVar[int]
    RELEASE_DELAY_FIELD_NUMBER: _ClassVar[int]
    MAX_RELEASES_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_MISMATCH_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    SELF_ORIGINS_FIELD_NUMBER: _ClassVar[int]
    TIE_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    TIE_INSTANT_FIELD_NUMBER: _ClassVar[int]
    GAP_FIELD_NUMBER: _ClassVar[int]
    GAP_AFTER_FIELD_NUMBER: _ClassVar[int]
    DEAD_PREDECESSOR_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_START_FIELD_NUMBER: _ClassVar[int]
    MACHINES_FIELD_NUMBER: _ClassVar[int]
    ILLEGAL_TRANSITION_FIELD_NUMBER: _ClassVar[int]
    EFFECT_LEASE_FIELD_NUMBER: _ClassVar[int]
    EFFECT_ON_UNKNOWN_FIELD_NUMBER: _ClassVar[int]
    RETAIN_EVENTS_FIELD_NUMBER: _ClassVar[int]
    RETAIN_PAYLOADS_FIELD_NUMBER: _ClassVar[int]
    RETAIN_VERSIONS_FIELD_NUMBER: _ClassVar[int]
    RETAIN_EFFECTS_FIELD_NUMBER: _ClassVar[int]
    LONGEST_RESEND_FIELD_NUMBER: _ClassVar[int]
    STUCK_AFTER_FIELD_NUMBER: _ClassVar[int]
    match: PolicyMatch
    lease: _duration_pb2.Duration
    max_lease: _duration_pb2.Duration
    max_claim_age: _duration_pb2.Duration
    stale_claim: _state_pb2.StaleClaim
    held_lanes: HeldLanesRule
    max_attempts: int
    backoff_base: _duration_pb2.Duration
    backoff_factor: float
    backoff_cap: _duration_pb2.Duration
    not_yet_budget: _duration_pb2.Duration
    redelivery_min_interval: _duration_pb2.Duration
    release_delay: _duration_pb2.Duration
    max_releases: int
    payload_mismatch: PayloadMismatchRule
    signature: SignatureRule
    self_origins: PolicyNames
    tie_sequence: TieRule
    tie_instant: TieRule
    gap: GapRule
    gap_after: _duration_pb2.Duration
    dead_predecessor: DeadPredecessorRule
    sequence_start: int
    machines: PolicyMachines
    illegal_transition: IllegalTransitionRule
    effect_lease: _duration_pb2.Duration
    effect_on_unknown: _effect_pb2.OnUnknown
    retain_events: _duration_pb2.Duration
    retain_payloads: _duration_pb2.Duration
    retain_versions: _duration_pb2.Duration
    retain_effects: _duration_pb2.Duration
    longest_resend: _duration_pb2.Duration
    stuck_after: _duration_pb2.Duration
    def __init__(self, match: _Optional[_Union[PolicyMatch, _Mapping]] = ..., lease: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., max_lease: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., max_claim_age: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., stale_claim: _Optional[_Union[_state_pb2.StaleClaim, str]] = ..., held_lanes: _Optional[_Union[HeldLanesRule, str]] = ..., max_attempts: _Optional[int] = ..., backoff_base: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., backoff_factor: _Optional[float] = ..., backoff_cap: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., not_yet_budget: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., redelivery_min_interval: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., release_delay: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., max_releases: _Optional[int] = ..., payload_mismatch: _Optional[_Union[PayloadMismatchRule, str]] = ..., signature: _Optional[_Union[SignatureRule, str]] = ..., self_origins: _Optional[_Union[PolicyNames, _Mapping]] = ..., tie_sequence: _Optional[_Union[TieRule, str]] = ..., tie_instant: _Optional[_Union[TieRule, str]] = ..., gap: _Optional[_Union[GapRule, str]] = ..., gap_after: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., dead_predecessor: _Optional[_Union[DeadPredecessorRule, str]] = ..., sequence_start: _Optional[int] = ..., machines: _Optional[_Union[PolicyMachines, _Mapping]] = ..., illegal_transition: _Optional[_Union[IllegalTransitionRule, str]] = ..., effect_lease: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., effect_on_unknown: _Optional[_Union[_effect_pb2.OnUnknown, str]] = ..., retain_events: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., retain_payloads: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., retain_versions: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., retain_effects: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., longest_resend: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., stuck_after: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class PolicySetting(_message.Message):
    __slots__ = ("name", "value", "default_value", "meaning", "reason", "limits")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    DEFAULT_VALUE_FIELD_NUMBER: _ClassVar[int]
    MEANING_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    FROM_FIELD_NUMBER: _ClassVar[int]
    name: str
    value: str
    default_value: str
    meaning: str
    reason: str
    limits: str
    def __init__(self, name: _Optional[str] = ..., value: _Optional[str] = ..., default_value: _Optional[str] = ..., meaning: _Optional[str] = ..., reason: _Optional[str] = ..., limits: _Optional[str] = ..., **kwargs) -> None: ...

class PolicyVersion(_message.Message):
    __slots__ = ("version", "applied_at", "applied_by", "why")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    APPLIED_AT_FIELD_NUMBER: _ClassVar[int]
    APPLIED_BY_FIELD_NUMBER: _ClassVar[int]
    WHY_FIELD_NUMBER: _ClassVar[int]
    version: int
    applied_at: _timestamp_pb2.Timestamp
    applied_by: str
    why: str
    def __init__(self, version: _Optional[int] = ..., applied_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., applied_by: _Optional[str] = ..., why: _Optional[str] = ...) -> None: ...

class PolicyChange(_message.Message):
    __slots__ = ("match", "setting", "old_value", "new_value")
    MATCH_FIELD_NUMBER: _ClassVar[int]
    SETTING_FIELD_NUMBER: _ClassVar[int]
    OLD_VALUE_FIELD_NUMBER: _ClassVar[int]
    NEW_VALUE_FIELD_NUMBER: _ClassVar[int]
    match: PolicyMatch
    setting: str
    old_value: str
    new_value: str
    def __init__(self, match: _Optional[_Union[PolicyMatch, _Mapping]] = ..., setting: _Optional[str] = ..., old_value: _Optional[str] = ..., new_value: _Optional[str] = ...) -> None: ...

class GetPoliciesRequest(_message.Message):
    __slots__ = ("namespace", "version", "effective_for", "history", "history_before")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    EFFECTIVE_FOR_FIELD_NUMBER: _ClassVar[int]
    HISTORY_FIELD_NUMBER: _ClassVar[int]
    HISTORY_BEFORE_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    version: int
    effective_for: PolicyMatch
    history: int
    history_before: int
    def __init__(self, namespace: _Optional[str] = ..., version: _Optional[int] = ..., effective_for: _Optional[_Union[PolicyMatch, _Mapping]] = ..., history: _Optional[int] = ..., history_before: _Optional[int] = ...) -> None: ...

class GetPoliciesResponse(_message.Message):
    __slots__ = ("version", "policies", "effective", "history")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    POLICIES_FIELD_NUMBER: _ClassVar[int]
    EFFECTIVE_FIELD_NUMBER: _ClassVar[int]
    HISTORY_FIELD_NUMBER: _ClassVar[int]
    version: PolicyVersion
    policies: _containers.RepeatedCompositeFieldContainer[Policy]
    effective: _containers.RepeatedCompositeFieldContainer[PolicySetting]
    history: _containers.RepeatedCompositeFieldContainer[PolicyVersion]
    def __init__(self, version: _Optional[_Union[PolicyVersion, _Mapping]] = ..., policies: _Optional[_Iterable[_Union[Policy, _Mapping]]] = ..., effective: _Optional[_Iterable[_Union[PolicySetting, _Mapping]]] = ..., history: _Optional[_Iterable[_Union[PolicyVersion, _Mapping]]] = ...) -> None: ...

class ApplyPoliciesRequest(_message.Message):
    __slots__ = ("namespace", "policies", "base_version", "dry_run", "why")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    POLICIES_FIELD_NUMBER: _ClassVar[int]
    BASE_VERSION_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    WHY_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    policies: _containers.RepeatedCompositeFieldContainer[Policy]
    base_version: int
    dry_run: bool
    why: str
    def __init__(self, namespace: _Optional[str] = ..., policies: _Optional[_Iterable[_Union[Policy, _Mapping]]] = ..., base_version: _Optional[int] = ..., dry_run: _Optional[bool] = ..., why: _Optional[str] = ...) -> None: ...

class ApplyPoliciesResponse(_message.Message):
    __slots__ = ("version", "changes")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    CHANGES_FIELD_NUMBER: _ClassVar[int]
    version: PolicyVersion
    changes: _containers.RepeatedCompositeFieldContainer[PolicyChange]
    def __init__(self, version: _Optional[_Union[PolicyVersion, _Mapping]] = ..., changes: _Optional[_Iterable[_Union[PolicyChange, _Mapping]]] = ...) -> None: ...
