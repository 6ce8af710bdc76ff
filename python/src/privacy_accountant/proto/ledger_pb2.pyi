from . import mechanism_pb2 as _mechanism_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class AccessPolicy(_message.Message):
    __slots__ = ["sha256", "text"]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    sha256: bytes
    text: bytes
    def __init__(self, sha256: _Optional[bytes] = ..., text: _Optional[bytes] = ...) -> None: ...

class Acknowledge(_message.Message):
    __slots__ = ["reason", "warning"]
    REASON_FIELD_NUMBER: _ClassVar[int]
    WARNING_FIELD_NUMBER: _ClassVar[int]
    reason: str
    warning: str
    def __init__(self, warning: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class Acknowledgement(_message.Message):
    __slots__ = ["position", "principal", "reason", "time", "warning"]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    PRINCIPAL_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    WARNING_FIELD_NUMBER: _ClassVar[int]
    position: int
    principal: str
    reason: str
    time: _timestamp_pb2.Timestamp
    warning: str
    def __init__(self, position: _Optional[int] = ..., warning: _Optional[str] = ..., principal: _Optional[str] = ..., time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., reason: _Optional[str] = ...) -> None: ...

class Adopt(_message.Message):
    __slots__ = ["charged", "dataset", "independent_of_outputs", "ledgers", "reason"]
    CHARGED_FIELD_NUMBER: _ClassVar[int]
    DATASET_FIELD_NUMBER: _ClassVar[int]
    INDEPENDENT_OF_OUTPUTS_FIELD_NUMBER: _ClassVar[int]
    LEDGERS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    charged: bool
    dataset: str
    independent_of_outputs: bool
    ledgers: int
    reason: str
    def __init__(self, dataset: _Optional[str] = ..., ledgers: _Optional[int] = ..., charged: bool = ..., independent_of_outputs: bool = ..., reason: _Optional[str] = ...) -> None: ...

class AmendDataset(_message.Message):
    __slots__ = ["add_version", "budgets", "caps", "confirm", "independent_of_outputs", "labels", "late", "owners", "reason", "resolution", "title"]
    class LabelsEntry(_message.Message):
        __slots__ = ["key", "value"]
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    ADD_VERSION_FIELD_NUMBER: _ClassVar[int]
    BUDGETS_FIELD_NUMBER: _ClassVar[int]
    CAPS_FIELD_NUMBER: _ClassVar[int]
    CONFIRM_FIELD_NUMBER: _ClassVar[int]
    INDEPENDENT_OF_OUTPUTS_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    LATE_FIELD_NUMBER: _ClassVar[int]
    OWNERS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    RESOLUTION_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    add_version: DatasetVersion
    budgets: _containers.RepeatedCompositeFieldContainer[Budget]
    caps: DatasetCaps
    confirm: bool
    independent_of_outputs: bool
    labels: _containers.ScalarMap[str, str]
    late: bool
    owners: _containers.RepeatedScalarFieldContainer[str]
    reason: str
    resolution: Resolution
    title: str
    def __init__(self, title: _Optional[str] = ..., owners: _Optional[_Iterable[str]] = ..., labels: _Optional[_Mapping[str, str]] = ..., caps: _Optional[_Union[DatasetCaps, _Mapping]] = ..., budgets: _Optional[_Iterable[_Union[Budget, _Mapping]]] = ..., independent_of_outputs: bool = ..., add_version: _Optional[_Union[DatasetVersion, _Mapping]] = ..., reason: _Optional[str] = ..., confirm: bool = ..., resolution: _Optional[_Union[Resolution, _Mapping]] = ..., late: bool = ...) -> None: ...

class Amount(_message.Message):
    __slots__ = ["limit", "remaining", "reserved", "spent", "unit"]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    REMAINING_FIELD_NUMBER: _ClassVar[int]
    RESERVED_FIELD_NUMBER: _ClassVar[int]
    SPENT_FIELD_NUMBER: _ClassVar[int]
    UNIT_FIELD_NUMBER: _ClassVar[int]
    limit: float
    remaining: float
    reserved: float
    spent: float
    unit: str
    def __init__(self, unit: _Optional[str] = ..., limit: _Optional[float] = ..., spent: _Optional[float] = ..., reserved: _Optional[float] = ..., remaining: _Optional[float] = ...) -> None: ...

class Approval(_message.Message):
    __slots__ = ["comment", "person", "proposal", "proposer"]
    COMMENT_FIELD_NUMBER: _ClassVar[int]
    PERSON_FIELD_NUMBER: _ClassVar[int]
    PROPOSAL_FIELD_NUMBER: _ClassVar[int]
    PROPOSER_FIELD_NUMBER: _ClassVar[int]
    comment: str
    person: str
    proposal: int
    proposer: str
    def __init__(self, proposal: _Optional[int] = ..., proposer: _Optional[str] = ..., person: _Optional[str] = ..., comment: _Optional[str] = ...) -> None: ...

class Approve(_message.Message):
    __slots__ = ["comment", "proposal"]
    COMMENT_FIELD_NUMBER: _ClassVar[int]
    PROPOSAL_FIELD_NUMBER: _ClassVar[int]
    comment: str
    proposal: int
    def __init__(self, proposal: _Optional[int] = ..., comment: _Optional[str] = ...) -> None: ...

class Assumption(_message.Message):
    __slots__ = ["descriptive", "kind", "position", "text"]
    DESCRIPTIVE_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    descriptive: bool
    kind: str
    position: int
    text: str
    def __init__(self, position: _Optional[int] = ..., kind: _Optional[str] = ..., text: _Optional[str] = ..., descriptive: bool = ...) -> None: ...

class Budget(_message.Message):
    __slots__ = ["delta", "epsilon", "guard", "mu", "order", "rho"]
    class Guard(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = []
    APPROXIMATE_ZCDP: Budget.Guard
    BASIC: Budget.Guard
    DELTA_FIELD_NUMBER: _ClassVar[int]
    EPSILON_FIELD_NUMBER: _ClassVar[int]
    GDP: Budget.Guard
    GUARD_FIELD_NUMBER: _ClassVar[int]
    GUARD_UNSPECIFIED: Budget.Guard
    MU_FIELD_NUMBER: _ClassVar[int]
    ORDER_FIELD_NUMBER: _ClassVar[int]
    RDP: Budget.Guard
    RHO_FIELD_NUMBER: _ClassVar[int]
    ZCDP: Budget.Guard
    delta: float
    epsilon: float
    guard: Budget.Guard
    mu: float
    order: float
    rho: float
    def __init__(self, epsilon: _Optional[float] = ..., delta: _Optional[float] = ..., rho: _Optional[float] = ..., mu: _Optional[float] = ..., guard: _Optional[_Union[Budget.Guard, str]] = ..., order: _Optional[float] = ...) -> None: ...

class BudgetBalance(_message.Message):
    __slots__ = ["budget", "delta", "value"]
    BUDGET_FIELD_NUMBER: _ClassVar[int]
    DELTA_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    budget: Budget
    delta: Amount
    value: Amount
    def __init__(self, budget: _Optional[_Union[Budget, _Mapping]] = ..., value: _Optional[_Union[Amount, _Mapping]] = ..., delta: _Optional[_Union[Amount, _Mapping]] = ...) -> None: ...

class CanaryRun(_message.Message):
    __slots__ = ["confidence", "correct", "delta", "guesses", "inserted"]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    CORRECT_FIELD_NUMBER: _ClassVar[int]
    DELTA_FIELD_NUMBER: _ClassVar[int]
    GUESSES_FIELD_NUMBER: _ClassVar[int]
    INSERTED_FIELD_NUMBER: _ClassVar[int]
    confidence: float
    correct: int
    delta: float
    guesses: int
    inserted: int
    def __init__(self, inserted: _Optional[int] = ..., guesses: _Optional[int] = ..., correct: _Optional[int] = ..., delta: _Optional[float] = ..., confidence: _Optional[float] = ...) -> None: ...

class Charge(_message.Message):
    __slots__ = ["events", "labels"]
    class LabelsEntry(_message.Message):
        __slots__ = ["key", "value"]
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    events: _containers.RepeatedCompositeFieldContainer[_mechanism_pb2.Event]
    labels: _containers.ScalarMap[str, str]
    def __init__(self, events: _Optional[_Iterable[_Union[_mechanism_pb2.Event, _Mapping]]] = ..., labels: _Optional[_Mapping[str, str]] = ...) -> None: ...

class Close(_message.Message):
    __slots__ = ["reason"]
    REASON_FIELD_NUMBER: _ClassVar[int]
    reason: str
    def __init__(self, reason: _Optional[str] = ...) -> None: ...

class Commit(_message.Message):
    __slots__ = ["events", "holder", "labels", "reservation"]
    class LabelsEntry(_message.Message):
        __slots__ = ["key", "value"]
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    HOLDER_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    RESERVATION_FIELD_NUMBER: _ClassVar[int]
    events: _containers.RepeatedCompositeFieldContainer[_mechanism_pb2.Event]
    holder: str
    labels: _containers.ScalarMap[str, str]
    reservation: int
    def __init__(self, events: _Optional[_Iterable[_Union[_mechanism_pb2.Event, _Mapping]]] = ..., labels: _Optional[_Mapping[str, str]] = ..., reservation: _Optional[int] = ..., holder: _Optional[str] = ...) -> None: ...

class Dataset(_message.Message):
    __slots__ = ["budget_of", "confirmation", "confirmed_by", "needs_confirming", "spec", "versions"]
    BUDGET_OF_FIELD_NUMBER: _ClassVar[int]
    CONFIRMATION_FIELD_NUMBER: _ClassVar[int]
    CONFIRMED_BY_FIELD_NUMBER: _ClassVar[int]
    NEEDS_CONFIRMING_FIELD_NUMBER: _ClassVar[int]
    SPEC_FIELD_NUMBER: _ClassVar[int]
    VERSIONS_FIELD_NUMBER: _ClassVar[int]
    budget_of: str
    confirmation: Approval
    confirmed_by: str
    needs_confirming: bool
    spec: DatasetSpec
    versions: _containers.RepeatedCompositeFieldContainer[DatasetVersion]
    def __init__(self, spec: _Optional[_Union[DatasetSpec, _Mapping]] = ..., budget_of: _Optional[str] = ..., versions: _Optional[_Iterable[_Union[DatasetVersion, _Mapping]]] = ..., needs_confirming: bool = ..., confirmation: _Optional[_Union[Approval, _Mapping]] = ..., confirmed_by: _Optional[str] = ...) -> None: ...

class DatasetCaps(_message.Message):
    __slots__ = ["charge", "ledger"]
    CHARGE_FIELD_NUMBER: _ClassVar[int]
    LEDGER_FIELD_NUMBER: _ClassVar[int]
    charge: float
    ledger: float
    def __init__(self, charge: _Optional[float] = ..., ledger: _Optional[float] = ...) -> None: ...

class DatasetReference(_message.Message):
    __slots__ = ["id", "version"]
    ID_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    id: str
    version: str
    def __init__(self, id: _Optional[str] = ..., version: _Optional[str] = ...) -> None: ...

class DatasetSpec(_message.Message):
    __slots__ = ["adjacency", "bound_enforced_by", "budgets", "caps", "derived_from", "id", "independence", "labels", "max_records_per_unit", "owners", "privacy_unit", "title", "version"]
    class LabelsEntry(_message.Message):
        __slots__ = ["key", "value"]
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    ADJACENCY_FIELD_NUMBER: _ClassVar[int]
    BOUND_ENFORCED_BY_FIELD_NUMBER: _ClassVar[int]
    BUDGETS_FIELD_NUMBER: _ClassVar[int]
    CAPS_FIELD_NUMBER: _ClassVar[int]
    DERIVED_FROM_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    INDEPENDENCE_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    MAX_RECORDS_PER_UNIT_FIELD_NUMBER: _ClassVar[int]
    OWNERS_FIELD_NUMBER: _ClassVar[int]
    PRIVACY_UNIT_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    adjacency: _mechanism_pb2.Workload.Adjacency
    bound_enforced_by: str
    budgets: _containers.RepeatedCompositeFieldContainer[Budget]
    caps: DatasetCaps
    derived_from: _containers.RepeatedCompositeFieldContainer[DatasetReference]
    id: str
    independence: str
    labels: _containers.ScalarMap[str, str]
    max_records_per_unit: int
    owners: _containers.RepeatedScalarFieldContainer[str]
    privacy_unit: str
    title: str
    version: str
    def __init__(self, id: _Optional[str] = ..., version: _Optional[str] = ..., title: _Optional[str] = ..., owners: _Optional[_Iterable[str]] = ..., adjacency: _Optional[_Union[_mechanism_pb2.Workload.Adjacency, str]] = ..., privacy_unit: _Optional[str] = ..., max_records_per_unit: _Optional[int] = ..., bound_enforced_by: _Optional[str] = ..., budgets: _Optional[_Iterable[_Union[Budget, _Mapping]]] = ..., caps: _Optional[_Union[DatasetCaps, _Mapping]] = ..., labels: _Optional[_Mapping[str, str]] = ..., derived_from: _Optional[_Iterable[_Union[DatasetReference, _Mapping]]] = ..., independence: _Optional[str] = ...) -> None: ...

class DatasetVersion(_message.Message):
    __slots__ = ["derived_from", "of"]
    DERIVED_FROM_FIELD_NUMBER: _ClassVar[int]
    OF_FIELD_NUMBER: _ClassVar[int]
    derived_from: _containers.RepeatedCompositeFieldContainer[DatasetReference]
    of: DatasetReference
    def __init__(self, of: _Optional[_Union[DatasetReference, _Mapping]] = ..., derived_from: _Optional[_Iterable[_Union[DatasetReference, _Mapping]]] = ...) -> None: ...

class Entry(_message.Message):
    __slots__ = ["access_policy", "acknowledge", "adopt", "amend_dataset", "approval", "charge", "close", "commit", "expire", "free", "hash", "observe", "policy", "position", "principal", "propose", "raw", "reconcile", "refund", "release", "reserve", "restored", "sequence", "set", "time", "together", "withdraw", "writer"]
    ACCESS_POLICY_FIELD_NUMBER: _ClassVar[int]
    ACKNOWLEDGE_FIELD_NUMBER: _ClassVar[int]
    ADOPT_FIELD_NUMBER: _ClassVar[int]
    AMEND_DATASET_FIELD_NUMBER: _ClassVar[int]
    APPROVAL_FIELD_NUMBER: _ClassVar[int]
    CHARGE_FIELD_NUMBER: _ClassVar[int]
    CLOSE_FIELD_NUMBER: _ClassVar[int]
    COMMIT_FIELD_NUMBER: _ClassVar[int]
    EXPIRE_FIELD_NUMBER: _ClassVar[int]
    FREE_FIELD_NUMBER: _ClassVar[int]
    HASH_FIELD_NUMBER: _ClassVar[int]
    OBSERVE_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    PRINCIPAL_FIELD_NUMBER: _ClassVar[int]
    PROPOSE_FIELD_NUMBER: _ClassVar[int]
    RAISE_FIELD_NUMBER: _ClassVar[int]
    RAW_FIELD_NUMBER: _ClassVar[int]
    RECONCILE_FIELD_NUMBER: _ClassVar[int]
    REFUND_FIELD_NUMBER: _ClassVar[int]
    RELEASE_FIELD_NUMBER: _ClassVar[int]
    RESERVE_FIELD_NUMBER: _ClassVar[int]
    RESTORED_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    SET_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    TOGETHER_FIELD_NUMBER: _ClassVar[int]
    WITHDRAW_FIELD_NUMBER: _ClassVar[int]
    WRITER_FIELD_NUMBER: _ClassVar[int]
    access_policy: AccessPolicy
    acknowledge: Acknowledge
    adopt: Adopt
    amend_dataset: AmendDataset
    approval: Approval
    charge: Charge
    close: Close
    commit: Commit
    expire: Expire
    free: Free
    hash: bytes
    observe: Observe
    policy: int
    position: int
    principal: str
    propose: Propose
    raw: bytes
    reconcile: Reconcile
    refund: Refund
    release: Release
    reserve: Reserve
    restored: Restored
    sequence: int
    set: SetPart
    time: _timestamp_pb2.Timestamp
    together: Together
    withdraw: Withdraw
    writer: str
    def __init__(self, position: _Optional[int] = ..., writer: _Optional[str] = ..., sequence: _Optional[int] = ..., principal: _Optional[str] = ..., time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., charge: _Optional[_Union[Charge, _Mapping]] = ..., close: _Optional[_Union[Close, _Mapping]] = ..., reserve: _Optional[_Union[Reserve, _Mapping]] = ..., commit: _Optional[_Union[Commit, _Mapping]] = ..., release: _Optional[_Union[Release, _Mapping]] = ..., expire: _Optional[_Union[Expire, _Mapping]] = ..., refund: _Optional[_Union[Refund, _Mapping]] = ..., restored: _Optional[_Union[Restored, _Mapping]] = ..., reconcile: _Optional[_Union[Reconcile, _Mapping]] = ..., free: _Optional[_Union[Free, _Mapping]] = ..., acknowledge: _Optional[_Union[Acknowledge, _Mapping]] = ..., propose: _Optional[_Union[Propose, _Mapping]] = ..., withdraw: _Optional[_Union[Withdraw, _Mapping]] = ..., access_policy: _Optional[_Union[AccessPolicy, _Mapping]] = ..., adopt: _Optional[_Union[Adopt, _Mapping]] = ..., amend_dataset: _Optional[_Union[AmendDataset, _Mapping]] = ..., together: _Optional[_Union[Together, _Mapping]] = ..., observe: _Optional[_Union[Observe, _Mapping]] = ..., hash: _Optional[bytes] = ..., raw: _Optional[bytes] = ..., set: _Optional[_Union[SetPart, _Mapping]] = ..., approval: _Optional[_Union[Approval, _Mapping]] = ..., policy: _Optional[int] = ..., **kwargs) -> None: ...

class Expire(_message.Message):
    __slots__ = ["reservation"]
    RESERVATION_FIELD_NUMBER: _ClassVar[int]
    reservation: int
    def __init__(self, reservation: _Optional[int] = ...) -> None: ...

class Free(_message.Message):
    __slots__ = ["events", "nothing_released", "reason", "reservation"]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    NOTHING_RELEASED_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    RESERVATION_FIELD_NUMBER: _ClassVar[int]
    events: _containers.RepeatedCompositeFieldContainer[_mechanism_pb2.Event]
    nothing_released: bool
    reason: str
    reservation: int
    def __init__(self, reservation: _Optional[int] = ..., nothing_released: bool = ..., reason: _Optional[str] = ..., events: _Optional[_Iterable[_Union[_mechanism_pb2.Event, _Mapping]]] = ...) -> None: ...

class Ledger(_message.Message):
    __slots__ = ["acknowledgements", "assumptions", "budgets", "closed", "create_time", "dataset", "distinct_mechanisms", "head_hash", "name", "needs_reconciling", "plan", "position", "principal", "proposals", "reservations", "spec", "store_id", "total_count"]
    ACKNOWLEDGEMENTS_FIELD_NUMBER: _ClassVar[int]
    ASSUMPTIONS_FIELD_NUMBER: _ClassVar[int]
    BUDGETS_FIELD_NUMBER: _ClassVar[int]
    CLOSED_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    DATASET_FIELD_NUMBER: _ClassVar[int]
    DISTINCT_MECHANISMS_FIELD_NUMBER: _ClassVar[int]
    HEAD_HASH_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    NEEDS_RECONCILING_FIELD_NUMBER: _ClassVar[int]
    PLAN_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    PRINCIPAL_FIELD_NUMBER: _ClassVar[int]
    PROPOSALS_FIELD_NUMBER: _ClassVar[int]
    RESERVATIONS_FIELD_NUMBER: _ClassVar[int]
    SPEC_FIELD_NUMBER: _ClassVar[int]
    STORE_ID_FIELD_NUMBER: _ClassVar[int]
    TOTAL_COUNT_FIELD_NUMBER: _ClassVar[int]
    acknowledgements: _containers.RepeatedCompositeFieldContainer[Acknowledgement]
    assumptions: _containers.RepeatedCompositeFieldContainer[Assumption]
    budgets: _containers.RepeatedCompositeFieldContainer[BudgetBalance]
    closed: bool
    create_time: _timestamp_pb2.Timestamp
    dataset: Dataset
    distinct_mechanisms: int
    head_hash: bytes
    name: str
    needs_reconciling: bool
    plan: _containers.RepeatedCompositeFieldContainer[PlanBalance]
    position: int
    principal: str
    proposals: _containers.RepeatedCompositeFieldContainer[Proposal]
    reservations: _containers.RepeatedCompositeFieldContainer[Reservation]
    spec: LedgerSpec
    store_id: str
    total_count: int
    def __init__(self, spec: _Optional[_Union[LedgerSpec, _Mapping]] = ..., create_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., principal: _Optional[str] = ..., position: _Optional[int] = ..., head_hash: _Optional[bytes] = ..., closed: bool = ..., distinct_mechanisms: _Optional[int] = ..., total_count: _Optional[int] = ..., store_id: _Optional[str] = ..., name: _Optional[str] = ..., budgets: _Optional[_Iterable[_Union[BudgetBalance, _Mapping]]] = ..., plan: _Optional[_Iterable[_Union[PlanBalance, _Mapping]]] = ..., reservations: _Optional[_Iterable[_Union[Reservation, _Mapping]]] = ..., assumptions: _Optional[_Iterable[_Union[Assumption, _Mapping]]] = ..., needs_reconciling: bool = ..., acknowledgements: _Optional[_Iterable[_Union[Acknowledgement, _Mapping]]] = ..., proposals: _Optional[_Iterable[_Union[Proposal, _Mapping]]] = ..., dataset: _Optional[_Union[Dataset, _Mapping]] = ...) -> None: ...

class LedgerRange(_message.Message):
    __slots__ = ["first", "last", "prefix"]
    FIRST_FIELD_NUMBER: _ClassVar[int]
    LAST_FIELD_NUMBER: _ClassVar[int]
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    first: str
    last: str
    prefix: str
    def __init__(self, prefix: _Optional[str] = ..., first: _Optional[str] = ..., last: _Optional[str] = ...) -> None: ...

class LedgerSet(_message.Message):
    __slots__ = ["ledgers", "range"]
    LEDGERS_FIELD_NUMBER: _ClassVar[int]
    RANGE_FIELD_NUMBER: _ClassVar[int]
    ledgers: _containers.RepeatedScalarFieldContainer[str]
    range: LedgerRange
    def __init__(self, ledgers: _Optional[_Iterable[str]] = ..., range: _Optional[_Union[LedgerRange, _Mapping]] = ...) -> None: ...

class LedgerSpec(_message.Message):
    __slots__ = ["adjacency", "budgets", "dataset_id", "dataset_version", "expected_run", "labels", "name", "over_all_only", "owner", "parent", "plan", "policy", "privacy_unit"]
    class Policy(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = []
    class LabelsEntry(_message.Message):
        __slots__ = ["key", "value"]
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    ADJACENCY_FIELD_NUMBER: _ClassVar[int]
    BUDGETS_FIELD_NUMBER: _ClassVar[int]
    DATASET_ID_FIELD_NUMBER: _ClassVar[int]
    DATASET_VERSION_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTIVE: LedgerSpec.Policy
    EXPECTED_RUN_FIELD_NUMBER: _ClassVar[int]
    FILTER: LedgerSpec.Policy
    LABELS_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    OVER_ALL_ONLY_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    PARENT_FIELD_NUMBER: _ClassVar[int]
    PLAN: LedgerSpec.Policy
    PLAN_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    POLICY_UNSPECIFIED: LedgerSpec.Policy
    PRIVACY_UNIT_FIELD_NUMBER: _ClassVar[int]
    adjacency: _mechanism_pb2.Workload.Adjacency
    budgets: _containers.RepeatedCompositeFieldContainer[Budget]
    dataset_id: str
    dataset_version: str
    expected_run: _mechanism_pb2.Workload
    labels: _containers.ScalarMap[str, str]
    name: str
    over_all_only: bool
    owner: str
    parent: str
    plan: _mechanism_pb2.Workload
    policy: LedgerSpec.Policy
    privacy_unit: str
    def __init__(self, name: _Optional[str] = ..., adjacency: _Optional[_Union[_mechanism_pb2.Workload.Adjacency, str]] = ..., privacy_unit: _Optional[str] = ..., dataset_id: _Optional[str] = ..., dataset_version: _Optional[str] = ..., owner: _Optional[str] = ..., labels: _Optional[_Mapping[str, str]] = ..., policy: _Optional[_Union[LedgerSpec.Policy, str]] = ..., plan: _Optional[_Union[_mechanism_pb2.Workload, _Mapping]] = ..., budgets: _Optional[_Iterable[_Union[Budget, _Mapping]]] = ..., expected_run: _Optional[_Union[_mechanism_pb2.Workload, _Mapping]] = ..., parent: _Optional[str] = ..., over_all_only: bool = ...) -> None: ...

class Limit(_message.Message):
    __slots__ = ["delta", "guard", "order", "value"]
    DELTA_FIELD_NUMBER: _ClassVar[int]
    GUARD_FIELD_NUMBER: _ClassVar[int]
    ORDER_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    delta: float
    guard: Budget.Guard
    order: float
    value: float
    def __init__(self, guard: _Optional[_Union[Budget.Guard, str]] = ..., value: _Optional[float] = ..., delta: _Optional[float] = ..., order: _Optional[float] = ...) -> None: ...

class LostEntry(_message.Message):
    __slots__ = ["hash", "position"]
    HASH_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    hash: bytes
    position: int
    def __init__(self, position: _Optional[int] = ..., hash: _Optional[bytes] = ...) -> None: ...

class Observe(_message.Message):
    __slots__ = ["canaries", "charged", "reason"]
    CANARIES_FIELD_NUMBER: _ClassVar[int]
    CHARGED_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    canaries: CanaryRun
    charged: _containers.RepeatedCompositeFieldContainer[_mechanism_pb2.Event]
    reason: str
    def __init__(self, canaries: _Optional[_Union[CanaryRun, _Mapping]] = ..., reason: _Optional[str] = ..., charged: _Optional[_Iterable[_Union[_mechanism_pb2.Event, _Mapping]]] = ...) -> None: ...

class Part(_message.Message):
    __slots__ = ["count", "mechanism"]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    MECHANISM_FIELD_NUMBER: _ClassVar[int]
    count: int
    mechanism: _mechanism_pb2.Mechanism
    def __init__(self, mechanism: _Optional[_Union[_mechanism_pb2.Mechanism, _Mapping]] = ..., count: _Optional[int] = ...) -> None: ...

class PlanBalance(_message.Message):
    __slots__ = ["mechanism", "planned", "remaining", "reserved", "spent"]
    MECHANISM_FIELD_NUMBER: _ClassVar[int]
    PLANNED_FIELD_NUMBER: _ClassVar[int]
    REMAINING_FIELD_NUMBER: _ClassVar[int]
    RESERVED_FIELD_NUMBER: _ClassVar[int]
    SPENT_FIELD_NUMBER: _ClassVar[int]
    mechanism: _mechanism_pb2.Mechanism
    planned: int
    remaining: int
    reserved: int
    spent: int
    def __init__(self, mechanism: _Optional[_Union[_mechanism_pb2.Mechanism, _Mapping]] = ..., planned: _Optional[int] = ..., spent: _Optional[int] = ..., reserved: _Optional[int] = ..., remaining: _Optional[int] = ...) -> None: ...

class Proposal(_message.Message):
    __slots__ = ["expire_time", "position", "principal", "propose"]
    EXPIRE_TIME_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    PRINCIPAL_FIELD_NUMBER: _ClassVar[int]
    PROPOSE_FIELD_NUMBER: _ClassVar[int]
    expire_time: _timestamp_pb2.Timestamp
    position: int
    principal: str
    propose: Propose
    def __init__(self, position: _Optional[int] = ..., principal: _Optional[str] = ..., expire_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., propose: _Optional[_Union[Propose, _Mapping]] = ...) -> None: ...

class Propose(_message.Message):
    __slots__ = ["amend_dataset", "free", "lifetime_seconds", "person", "reconcile", "refund"]
    AMEND_DATASET_FIELD_NUMBER: _ClassVar[int]
    FREE_FIELD_NUMBER: _ClassVar[int]
    LIFETIME_SECONDS_FIELD_NUMBER: _ClassVar[int]
    PERSON_FIELD_NUMBER: _ClassVar[int]
    RAISE_FIELD_NUMBER: _ClassVar[int]
    RECONCILE_FIELD_NUMBER: _ClassVar[int]
    REFUND_FIELD_NUMBER: _ClassVar[int]
    amend_dataset: AmendDataset
    free: Free
    lifetime_seconds: int
    person: str
    reconcile: Reconcile
    refund: Refund
    def __init__(self, refund: _Optional[_Union[Refund, _Mapping]] = ..., free: _Optional[_Union[Free, _Mapping]] = ..., reconcile: _Optional[_Union[Reconcile, _Mapping]] = ..., amend_dataset: _Optional[_Union[AmendDataset, _Mapping]] = ..., lifetime_seconds: _Optional[int] = ..., person: _Optional[str] = ..., **kwargs) -> None: ...

class Raise(_message.Message):
    __slots__ = ["budgets", "independent_of_outputs", "late", "plan", "reason", "resolution"]
    BUDGETS_FIELD_NUMBER: _ClassVar[int]
    INDEPENDENT_OF_OUTPUTS_FIELD_NUMBER: _ClassVar[int]
    LATE_FIELD_NUMBER: _ClassVar[int]
    PLAN_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    RESOLUTION_FIELD_NUMBER: _ClassVar[int]
    budgets: _containers.RepeatedCompositeFieldContainer[Budget]
    independent_of_outputs: bool
    late: bool
    plan: _mechanism_pb2.Workload
    reason: str
    resolution: Resolution
    def __init__(self, budgets: _Optional[_Iterable[_Union[Budget, _Mapping]]] = ..., plan: _Optional[_Union[_mechanism_pb2.Workload, _Mapping]] = ..., independent_of_outputs: bool = ..., reason: _Optional[str] = ..., resolution: _Optional[_Union[Resolution, _Mapping]] = ..., late: bool = ...) -> None: ...

class Receipt(_message.Message):
    __slots__ = ["contribution", "head_hash", "ledger", "members", "position", "sequence", "store_id", "time", "writer"]
    CONTRIBUTION_FIELD_NUMBER: _ClassVar[int]
    HEAD_HASH_FIELD_NUMBER: _ClassVar[int]
    LEDGER_FIELD_NUMBER: _ClassVar[int]
    MEMBERS_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    STORE_ID_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    WRITER_FIELD_NUMBER: _ClassVar[int]
    contribution: SetPart.Contribution
    head_hash: bytes
    ledger: str
    members: _containers.RepeatedCompositeFieldContainer[ReceiptMember]
    position: int
    sequence: int
    store_id: str
    time: _timestamp_pb2.Timestamp
    writer: str
    def __init__(self, store_id: _Optional[str] = ..., ledger: _Optional[str] = ..., writer: _Optional[str] = ..., sequence: _Optional[int] = ..., position: _Optional[int] = ..., head_hash: _Optional[bytes] = ..., time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., members: _Optional[_Iterable[_Union[ReceiptMember, _Mapping]]] = ..., contribution: _Optional[_Union[SetPart.Contribution, str]] = ...) -> None: ...

class ReceiptMember(_message.Message):
    __slots__ = ["head_hash", "ledger", "position"]
    HEAD_HASH_FIELD_NUMBER: _ClassVar[int]
    LEDGER_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    head_hash: bytes
    ledger: str
    position: int
    def __init__(self, ledger: _Optional[str] = ..., position: _Optional[int] = ..., head_hash: _Optional[bytes] = ...) -> None: ...

class Reconcile(_message.Message):
    __slots__ = ["accept_loss", "contribution", "events", "over_budget", "reason"]
    ACCEPT_LOSS_FIELD_NUMBER: _ClassVar[int]
    CONTRIBUTION_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    OVER_BUDGET_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    accept_loss: bool
    contribution: SetPart.Contribution
    events: _containers.RepeatedCompositeFieldContainer[_mechanism_pb2.Event]
    over_budget: bool
    reason: str
    def __init__(self, events: _Optional[_Iterable[_Union[_mechanism_pb2.Event, _Mapping]]] = ..., accept_loss: bool = ..., reason: _Optional[str] = ..., over_budget: bool = ..., contribution: _Optional[_Union[SetPart.Contribution, str]] = ...) -> None: ...

class Refund(_message.Message):
    __slots__ = ["events", "nothing_released", "position", "reason"]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    NOTHING_RELEASED_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    events: _containers.RepeatedCompositeFieldContainer[_mechanism_pb2.Event]
    nothing_released: bool
    position: int
    reason: str
    def __init__(self, position: _Optional[int] = ..., nothing_released: bool = ..., reason: _Optional[str] = ..., events: _Optional[_Iterable[_Union[_mechanism_pb2.Event, _Mapping]]] = ...) -> None: ...

class Release(_message.Message):
    __slots__ = ["holder", "reason", "reservation"]
    HOLDER_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    RESERVATION_FIELD_NUMBER: _ClassVar[int]
    holder: str
    reason: str
    reservation: int
    def __init__(self, reservation: _Optional[int] = ..., reason: _Optional[str] = ..., holder: _Optional[str] = ...) -> None: ...

class Reservation(_message.Message):
    __slots__ = ["child", "contribution", "expire_time", "holder", "position", "principal", "rest", "rest_count", "rest_omitted"]
    CHILD_FIELD_NUMBER: _ClassVar[int]
    CONTRIBUTION_FIELD_NUMBER: _ClassVar[int]
    EXPIRE_TIME_FIELD_NUMBER: _ClassVar[int]
    HOLDER_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    PRINCIPAL_FIELD_NUMBER: _ClassVar[int]
    REST_COUNT_FIELD_NUMBER: _ClassVar[int]
    REST_FIELD_NUMBER: _ClassVar[int]
    REST_OMITTED_FIELD_NUMBER: _ClassVar[int]
    child: str
    contribution: SetPart.Contribution
    expire_time: _timestamp_pb2.Timestamp
    holder: str
    position: int
    principal: str
    rest: _containers.RepeatedCompositeFieldContainer[_mechanism_pb2.Event]
    rest_count: int
    rest_omitted: bool
    def __init__(self, position: _Optional[int] = ..., expire_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., rest: _Optional[_Iterable[_Union[_mechanism_pb2.Event, _Mapping]]] = ..., child: _Optional[str] = ..., principal: _Optional[str] = ..., rest_omitted: bool = ..., rest_count: _Optional[int] = ..., holder: _Optional[str] = ..., contribution: _Optional[_Union[SetPart.Contribution, str]] = ...) -> None: ...

class Reserve(_message.Message):
    __slots__ = ["child", "events", "holder", "labels", "lifetime_seconds"]
    class LabelsEntry(_message.Message):
        __slots__ = ["key", "value"]
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    CHILD_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    HOLDER_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    LIFETIME_SECONDS_FIELD_NUMBER: _ClassVar[int]
    child: str
    events: _containers.RepeatedCompositeFieldContainer[_mechanism_pb2.Event]
    holder: str
    labels: _containers.ScalarMap[str, str]
    lifetime_seconds: int
    def __init__(self, events: _Optional[_Iterable[_Union[_mechanism_pb2.Event, _Mapping]]] = ..., labels: _Optional[_Mapping[str, str]] = ..., lifetime_seconds: _Optional[int] = ..., child: _Optional[str] = ..., holder: _Optional[str] = ...) -> None: ...

class Resolution(_message.Message):
    __slots__ = ["limits", "plan"]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    PLAN_FIELD_NUMBER: _ClassVar[int]
    limits: _containers.RepeatedCompositeFieldContainer[Limit]
    plan: _containers.RepeatedCompositeFieldContainer[Part]
    def __init__(self, limits: _Optional[_Iterable[_Union[Limit, _Mapping]]] = ..., plan: _Optional[_Iterable[_Union[Part, _Mapping]]] = ...) -> None: ...

class Restored(_message.Message):
    __slots__ = ["backup_sha256", "from_store_id", "lost", "newest_time", "store_id"]
    BACKUP_SHA256_FIELD_NUMBER: _ClassVar[int]
    FROM_STORE_ID_FIELD_NUMBER: _ClassVar[int]
    LOST_FIELD_NUMBER: _ClassVar[int]
    NEWEST_TIME_FIELD_NUMBER: _ClassVar[int]
    STORE_ID_FIELD_NUMBER: _ClassVar[int]
    backup_sha256: bytes
    from_store_id: str
    lost: LostEntry
    newest_time: _timestamp_pb2.Timestamp
    store_id: str
    def __init__(self, from_store_id: _Optional[str] = ..., store_id: _Optional[str] = ..., backup_sha256: _Optional[bytes] = ..., newest_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., lost: _Optional[_Union[LostEntry, _Mapping]] = ...) -> None: ...

class SetPart(_message.Message):
    __slots__ = ["contribution", "journal", "members", "names_sha256", "position"]
    class Contribution(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = []
    CONTRIBUTION_FIELD_NUMBER: _ClassVar[int]
    CONTRIBUTION_UNSPECIFIED: SetPart.Contribution
    IN_EACH: SetPart.Contribution
    JOURNAL_FIELD_NUMBER: _ClassVar[int]
    MEMBERS_FIELD_NUMBER: _ClassVar[int]
    NAMES_SHA256_FIELD_NUMBER: _ClassVar[int]
    OVER_ALL: SetPart.Contribution
    PEOPLE_DRAWN_IN_EACH: SetPart.Contribution
    POSITION_FIELD_NUMBER: _ClassVar[int]
    ROWS_DRAWN_IN_EACH: SetPart.Contribution
    contribution: SetPart.Contribution
    journal: str
    members: int
    names_sha256: bytes
    position: int
    def __init__(self, journal: _Optional[str] = ..., position: _Optional[int] = ..., members: _Optional[int] = ..., names_sha256: _Optional[bytes] = ..., contribution: _Optional[_Union[SetPart.Contribution, str]] = ...) -> None: ...

class Together(_message.Message):
    __slots__ = ["charge", "commit", "contribution", "journal", "members", "range", "release", "reserve"]
    class Member(_message.Message):
        __slots__ = ["ledger", "position", "reservation"]
        LEDGER_FIELD_NUMBER: _ClassVar[int]
        POSITION_FIELD_NUMBER: _ClassVar[int]
        RESERVATION_FIELD_NUMBER: _ClassVar[int]
        ledger: str
        position: int
        reservation: int
        def __init__(self, ledger: _Optional[str] = ..., position: _Optional[int] = ..., reservation: _Optional[int] = ...) -> None: ...
    CHARGE_FIELD_NUMBER: _ClassVar[int]
    COMMIT_FIELD_NUMBER: _ClassVar[int]
    CONTRIBUTION_FIELD_NUMBER: _ClassVar[int]
    JOURNAL_FIELD_NUMBER: _ClassVar[int]
    MEMBERS_FIELD_NUMBER: _ClassVar[int]
    RANGE_FIELD_NUMBER: _ClassVar[int]
    RELEASE_FIELD_NUMBER: _ClassVar[int]
    RESERVE_FIELD_NUMBER: _ClassVar[int]
    charge: Charge
    commit: Commit
    contribution: SetPart.Contribution
    journal: str
    members: _containers.RepeatedCompositeFieldContainer[Together.Member]
    range: LedgerRange
    release: Release
    reserve: Reserve
    def __init__(self, members: _Optional[_Iterable[_Union[Together.Member, _Mapping]]] = ..., range: _Optional[_Union[LedgerRange, _Mapping]] = ..., journal: _Optional[str] = ..., charge: _Optional[_Union[Charge, _Mapping]] = ..., reserve: _Optional[_Union[Reserve, _Mapping]] = ..., commit: _Optional[_Union[Commit, _Mapping]] = ..., release: _Optional[_Union[Release, _Mapping]] = ..., contribution: _Optional[_Union[SetPart.Contribution, str]] = ...) -> None: ...

class Withdraw(_message.Message):
    __slots__ = ["proposal", "reason"]
    PROPOSAL_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    proposal: int
    reason: str
    def __init__(self, proposal: _Optional[int] = ..., reason: _Optional[str] = ...) -> None: ...
