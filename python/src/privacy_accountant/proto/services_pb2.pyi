from . import audit_pb2 as _audit_pb2
from . import calibrate_pb2 as _calibrate_pb2
from . import curve_pb2 as _curve_pb2
from . import ledger_pb2 as _ledger_pb2
from . import mechanism_pb2 as _mechanism_pb2
from . import options_pb2 as _options_pb2
from . import overview_pb2 as _overview_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class AcknowledgeRequest(_message.Message):
    __slots__ = ["acknowledge", "lane"]
    ACKNOWLEDGE_FIELD_NUMBER: _ClassVar[int]
    LANE_FIELD_NUMBER: _ClassVar[int]
    acknowledge: _ledger_pb2.Acknowledge
    lane: Lane
    def __init__(self, lane: _Optional[_Union[Lane, _Mapping]] = ..., acknowledge: _Optional[_Union[_ledger_pb2.Acknowledge, _Mapping]] = ...) -> None: ...

class AmendDatasetRequest(_message.Message):
    __slots__ = ["amend", "lane"]
    AMEND_FIELD_NUMBER: _ClassVar[int]
    LANE_FIELD_NUMBER: _ClassVar[int]
    amend: _ledger_pb2.AmendDataset
    lane: Lane
    def __init__(self, lane: _Optional[_Union[Lane, _Mapping]] = ..., amend: _Optional[_Union[_ledger_pb2.AmendDataset, _Mapping]] = ...) -> None: ...

class AnalysisResult(_message.Message):
    __slots__ = ["analysis", "delta", "epsilon", "log_delta", "order", "unsupported"]
    ANALYSIS_FIELD_NUMBER: _ClassVar[int]
    DELTA_FIELD_NUMBER: _ClassVar[int]
    EPSILON_FIELD_NUMBER: _ClassVar[int]
    LOG_DELTA_FIELD_NUMBER: _ClassVar[int]
    ORDER_FIELD_NUMBER: _ClassVar[int]
    UNSUPPORTED_FIELD_NUMBER: _ClassVar[int]
    analysis: str
    delta: float
    epsilon: float
    log_delta: float
    order: float
    unsupported: str
    def __init__(self, analysis: _Optional[str] = ..., epsilon: _Optional[float] = ..., delta: _Optional[float] = ..., log_delta: _Optional[float] = ..., order: _Optional[float] = ..., unsupported: _Optional[str] = ...) -> None: ...

class ApproveRequest(_message.Message):
    __slots__ = ["approve", "lane"]
    APPROVE_FIELD_NUMBER: _ClassVar[int]
    LANE_FIELD_NUMBER: _ClassVar[int]
    approve: _ledger_pb2.Approve
    lane: Lane
    def __init__(self, lane: _Optional[_Union[Lane, _Mapping]] = ..., approve: _Optional[_Union[_ledger_pb2.Approve, _Mapping]] = ...) -> None: ...

class BudgetExceeded(_message.Message):
    __slots__ = ["fits", "plan", "shortfalls", "unplanned"]
    class Difference(_message.Message):
        __slots__ = ["field", "planned", "sent"]
        FIELD_FIELD_NUMBER: _ClassVar[int]
        PLANNED_FIELD_NUMBER: _ClassVar[int]
        SENT_FIELD_NUMBER: _ClassVar[int]
        field: str
        planned: str
        sent: str
        def __init__(self, field: _Optional[str] = ..., sent: _Optional[str] = ..., planned: _Optional[str] = ...) -> None: ...
    class PlanLine(_message.Message):
        __slots__ = ["mechanism", "planned", "remaining"]
        MECHANISM_FIELD_NUMBER: _ClassVar[int]
        PLANNED_FIELD_NUMBER: _ClassVar[int]
        REMAINING_FIELD_NUMBER: _ClassVar[int]
        mechanism: _mechanism_pb2.Mechanism
        planned: int
        remaining: int
        def __init__(self, mechanism: _Optional[_Union[_mechanism_pb2.Mechanism, _Mapping]] = ..., planned: _Optional[int] = ..., remaining: _Optional[int] = ...) -> None: ...
    class Shortfall(_message.Message):
        __slots__ = ["budget", "left", "needed", "reason", "short", "unit"]
        BUDGET_FIELD_NUMBER: _ClassVar[int]
        LEFT_FIELD_NUMBER: _ClassVar[int]
        NEEDED_FIELD_NUMBER: _ClassVar[int]
        REASON_FIELD_NUMBER: _ClassVar[int]
        SHORT_FIELD_NUMBER: _ClassVar[int]
        UNIT_FIELD_NUMBER: _ClassVar[int]
        budget: int
        left: float
        needed: float
        reason: str
        short: float
        unit: str
        def __init__(self, budget: _Optional[int] = ..., unit: _Optional[str] = ..., needed: _Optional[float] = ..., left: _Optional[float] = ..., short: _Optional[float] = ..., reason: _Optional[str] = ...) -> None: ...
    class Unplanned(_message.Message):
        __slots__ = ["differences", "mechanism", "nearest"]
        DIFFERENCES_FIELD_NUMBER: _ClassVar[int]
        MECHANISM_FIELD_NUMBER: _ClassVar[int]
        NEAREST_FIELD_NUMBER: _ClassVar[int]
        differences: _containers.RepeatedCompositeFieldContainer[BudgetExceeded.Difference]
        mechanism: _mechanism_pb2.Mechanism
        nearest: BudgetExceeded.PlanLine
        def __init__(self, mechanism: _Optional[_Union[_mechanism_pb2.Mechanism, _Mapping]] = ..., nearest: _Optional[_Union[BudgetExceeded.PlanLine, _Mapping]] = ..., differences: _Optional[_Iterable[_Union[BudgetExceeded.Difference, _Mapping]]] = ...) -> None: ...
    FITS_FIELD_NUMBER: _ClassVar[int]
    PLAN_FIELD_NUMBER: _ClassVar[int]
    SHORTFALLS_FIELD_NUMBER: _ClassVar[int]
    UNPLANNED_FIELD_NUMBER: _ClassVar[int]
    fits: _containers.RepeatedCompositeFieldContainer[MechanismCount]
    plan: _containers.RepeatedCompositeFieldContainer[BudgetExceeded.PlanLine]
    shortfalls: _containers.RepeatedCompositeFieldContainer[BudgetExceeded.Shortfall]
    unplanned: _containers.RepeatedCompositeFieldContainer[BudgetExceeded.Unplanned]
    def __init__(self, shortfalls: _Optional[_Iterable[_Union[BudgetExceeded.Shortfall, _Mapping]]] = ..., fits: _Optional[_Iterable[_Union[MechanismCount, _Mapping]]] = ..., plan: _Optional[_Iterable[_Union[BudgetExceeded.PlanLine, _Mapping]]] = ..., unplanned: _Optional[_Iterable[_Union[BudgetExceeded.Unplanned, _Mapping]]] = ...) -> None: ...

class CloseLedgerRequest(_message.Message):
    __slots__ = ["close", "lane"]
    CLOSE_FIELD_NUMBER: _ClassVar[int]
    LANE_FIELD_NUMBER: _ClassVar[int]
    close: _ledger_pb2.Close
    lane: Lane
    def __init__(self, lane: _Optional[_Union[Lane, _Mapping]] = ..., close: _Optional[_Union[_ledger_pb2.Close, _Mapping]] = ...) -> None: ...

class CommitRequest(_message.Message):
    __slots__ = ["commit", "lane", "late"]
    COMMIT_FIELD_NUMBER: _ClassVar[int]
    LANE_FIELD_NUMBER: _ClassVar[int]
    LATE_FIELD_NUMBER: _ClassVar[int]
    commit: _ledger_pb2.Commit
    lane: Lane
    late: bool
    def __init__(self, lane: _Optional[_Union[Lane, _Mapping]] = ..., commit: _Optional[_Union[_ledger_pb2.Commit, _Mapping]] = ..., late: bool = ...) -> None: ...

class CreateDatasetRequest(_message.Message):
    __slots__ = ["independent_of_outputs", "propose", "reason", "spec"]
    INDEPENDENT_OF_OUTPUTS_FIELD_NUMBER: _ClassVar[int]
    PROPOSE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    SPEC_FIELD_NUMBER: _ClassVar[int]
    independent_of_outputs: bool
    propose: bool
    reason: str
    spec: _ledger_pb2.DatasetSpec
    def __init__(self, spec: _Optional[_Union[_ledger_pb2.DatasetSpec, _Mapping]] = ..., independent_of_outputs: bool = ..., reason: _Optional[str] = ..., propose: bool = ...) -> None: ...

class CreateDatasetResponse(_message.Message):
    __slots__ = ["adopted", "created", "ledger", "proposal"]
    ADOPTED_FIELD_NUMBER: _ClassVar[int]
    CREATED_FIELD_NUMBER: _ClassVar[int]
    LEDGER_FIELD_NUMBER: _ClassVar[int]
    PROPOSAL_FIELD_NUMBER: _ClassVar[int]
    adopted: _containers.RepeatedScalarFieldContainer[str]
    created: bool
    ledger: _ledger_pb2.Ledger
    proposal: int
    def __init__(self, ledger: _Optional[_Union[_ledger_pb2.Ledger, _Mapping]] = ..., created: bool = ..., adopted: _Optional[_Iterable[str]] = ..., proposal: _Optional[int] = ...) -> None: ...

class CreateLedgerRequest(_message.Message):
    __slots__ = ["spec"]
    SPEC_FIELD_NUMBER: _ClassVar[int]
    spec: _ledger_pb2.LedgerSpec
    def __init__(self, spec: _Optional[_Union[_ledger_pb2.LedgerSpec, _Mapping]] = ...) -> None: ...

class CreateLedgerResponse(_message.Message):
    __slots__ = ["created", "ledger"]
    CREATED_FIELD_NUMBER: _ClassVar[int]
    LEDGER_FIELD_NUMBER: _ClassVar[int]
    created: bool
    ledger: _ledger_pb2.Ledger
    def __init__(self, ledger: _Optional[_Union[_ledger_pb2.Ledger, _Mapping]] = ..., created: bool = ...) -> None: ...

class DatasetLedger(_message.Message):
    __slots__ = ["closed", "guarantee", "name", "of", "policy", "share", "total_count"]
    CLOSED_FIELD_NUMBER: _ClassVar[int]
    GUARANTEE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    OF_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    SHARE_FIELD_NUMBER: _ClassVar[int]
    TOTAL_COUNT_FIELD_NUMBER: _ClassVar[int]
    closed: bool
    guarantee: str
    name: str
    of: _ledger_pb2.DatasetReference
    policy: _ledger_pb2.LedgerSpec.Policy
    share: float
    total_count: int
    def __init__(self, name: _Optional[str] = ..., of: _Optional[_Union[_ledger_pb2.DatasetReference, _Mapping]] = ..., policy: _Optional[_Union[_ledger_pb2.LedgerSpec.Policy, str]] = ..., closed: bool = ..., total_count: _Optional[int] = ..., share: _Optional[float] = ..., guarantee: _Optional[str] = ...) -> None: ...

class ExpireRequest(_message.Message):
    __slots__ = ["expire", "lane"]
    EXPIRE_FIELD_NUMBER: _ClassVar[int]
    LANE_FIELD_NUMBER: _ClassVar[int]
    expire: _ledger_pb2.Expire
    lane: Lane
    def __init__(self, lane: _Optional[_Union[Lane, _Mapping]] = ..., expire: _Optional[_Union[_ledger_pb2.Expire, _Mapping]] = ...) -> None: ...

class FreeRequest(_message.Message):
    __slots__ = ["free", "lane"]
    FREE_FIELD_NUMBER: _ClassVar[int]
    LANE_FIELD_NUMBER: _ClassVar[int]
    free: _ledger_pb2.Free
    lane: Lane
    def __init__(self, lane: _Optional[_Union[Lane, _Mapping]] = ..., free: _Optional[_Union[_ledger_pb2.Free, _Mapping]] = ...) -> None: ...

class GetAccessRequest(_message.Message):
    __slots__ = ["dataset", "groups", "ledger", "method", "parent", "principal"]
    DATASET_FIELD_NUMBER: _ClassVar[int]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    LEDGER_FIELD_NUMBER: _ClassVar[int]
    METHOD_FIELD_NUMBER: _ClassVar[int]
    PARENT_FIELD_NUMBER: _ClassVar[int]
    PRINCIPAL_FIELD_NUMBER: _ClassVar[int]
    dataset: str
    groups: _containers.RepeatedScalarFieldContainer[str]
    ledger: str
    method: str
    parent: str
    principal: str
    def __init__(self, principal: _Optional[str] = ..., groups: _Optional[_Iterable[str]] = ..., method: _Optional[str] = ..., ledger: _Optional[str] = ..., parent: _Optional[str] = ..., dataset: _Optional[str] = ...) -> None: ...

class GetAccessResponse(_message.Message):
    __slots__ = ["allowed", "grants", "groups", "policy_in_force", "policy_sha256", "principal", "problem", "reason", "two_people"]
    ALLOWED_FIELD_NUMBER: _ClassVar[int]
    GRANTS_FIELD_NUMBER: _ClassVar[int]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    POLICY_IN_FORCE_FIELD_NUMBER: _ClassVar[int]
    POLICY_SHA256_FIELD_NUMBER: _ClassVar[int]
    PRINCIPAL_FIELD_NUMBER: _ClassVar[int]
    PROBLEM_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    TWO_PEOPLE_FIELD_NUMBER: _ClassVar[int]
    allowed: bool
    grants: _containers.RepeatedScalarFieldContainer[str]
    groups: _containers.RepeatedScalarFieldContainer[str]
    policy_in_force: bool
    policy_sha256: bytes
    principal: str
    problem: str
    reason: str
    two_people: bool
    def __init__(self, principal: _Optional[str] = ..., groups: _Optional[_Iterable[str]] = ..., policy_in_force: bool = ..., policy_sha256: _Optional[bytes] = ..., problem: _Optional[str] = ..., grants: _Optional[_Iterable[str]] = ..., allowed: bool = ..., reason: _Optional[str] = ..., two_people: bool = ...) -> None: ...

class GetLedgerRequest(_message.Message):
    __slots__ = ["name", "reservations_from"]
    NAME_FIELD_NUMBER: _ClassVar[int]
    RESERVATIONS_FROM_FIELD_NUMBER: _ClassVar[int]
    name: str
    reservations_from: int
    def __init__(self, name: _Optional[str] = ..., reservations_from: _Optional[int] = ...) -> None: ...

class GetLedgerResponse(_message.Message):
    __slots__ = ["ledger"]
    LEDGER_FIELD_NUMBER: _ClassVar[int]
    ledger: _ledger_pb2.Ledger
    def __init__(self, ledger: _Optional[_Union[_ledger_pb2.Ledger, _Mapping]] = ...) -> None: ...

class GetStatementRequest(_message.Message):
    __slots__ = ["deltas", "name"]
    DELTAS_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    deltas: _containers.RepeatedScalarFieldContainer[float]
    name: str
    def __init__(self, name: _Optional[str] = ..., deltas: _Optional[_Iterable[float]] = ...) -> None: ...

class GetStatementResponse(_message.Message):
    __slots__ = ["statement"]
    STATEMENT_FIELD_NUMBER: _ClassVar[int]
    statement: Statement
    def __init__(self, statement: _Optional[_Union[Statement, _Mapping]] = ...) -> None: ...

class GetWriterRequest(_message.Message):
    __slots__ = ["ledger", "writer"]
    LEDGER_FIELD_NUMBER: _ClassVar[int]
    WRITER_FIELD_NUMBER: _ClassVar[int]
    ledger: str
    writer: str
    def __init__(self, ledger: _Optional[str] = ..., writer: _Optional[str] = ...) -> None: ...

class GetWriterResponse(_message.Message):
    __slots__ = ["last_position", "last_sequence"]
    LAST_POSITION_FIELD_NUMBER: _ClassVar[int]
    LAST_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    last_position: int
    last_sequence: int
    def __init__(self, last_sequence: _Optional[int] = ..., last_position: _Optional[int] = ...) -> None: ...

class GroupPrivacy(_message.Message):
    __slots__ = ["delta", "epsilon", "size"]
    DELTA_FIELD_NUMBER: _ClassVar[int]
    EPSILON_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    delta: float
    epsilon: float
    size: int
    def __init__(self, size: _Optional[int] = ..., delta: _Optional[float] = ..., epsilon: _Optional[float] = ...) -> None: ...

class Lane(_message.Message):
    __slots__ = ["check_only", "contribution", "last_receipt", "ledger", "ledgers", "sequence", "writer"]
    CHECK_ONLY_FIELD_NUMBER: _ClassVar[int]
    CONTRIBUTION_FIELD_NUMBER: _ClassVar[int]
    LAST_RECEIPT_FIELD_NUMBER: _ClassVar[int]
    LEDGERS_FIELD_NUMBER: _ClassVar[int]
    LEDGER_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    WRITER_FIELD_NUMBER: _ClassVar[int]
    check_only: bool
    contribution: _ledger_pb2.SetPart.Contribution
    last_receipt: _ledger_pb2.Receipt
    ledger: str
    ledgers: _ledger_pb2.LedgerSet
    sequence: int
    writer: str
    def __init__(self, ledger: _Optional[str] = ..., writer: _Optional[str] = ..., sequence: _Optional[int] = ..., last_receipt: _Optional[_Union[_ledger_pb2.Receipt, _Mapping]] = ..., check_only: bool = ..., ledgers: _Optional[_Union[_ledger_pb2.LedgerSet, _Mapping]] = ..., contribution: _Optional[_Union[_ledger_pb2.SetPart.Contribution, str]] = ...) -> None: ...

class LedgerPrivacy(_message.Message):
    __slots__ = ["ledger", "left", "privacy"]
    LEDGER_FIELD_NUMBER: _ClassVar[int]
    LEFT_FIELD_NUMBER: _ClassVar[int]
    PRIVACY_FIELD_NUMBER: _ClassVar[int]
    ledger: str
    left: float
    privacy: QueryPrivacyResponse
    def __init__(self, ledger: _Optional[str] = ..., privacy: _Optional[_Union[QueryPrivacyResponse, _Mapping]] = ..., left: _Optional[float] = ...) -> None: ...

class ListEntriesRequest(_message.Message):
    __slots__ = ["end_position", "labels", "ledger", "page_size", "page_token", "raw", "since", "start_position", "until", "writer"]
    class LabelsEntry(_message.Message):
        __slots__ = ["key", "value"]
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    END_POSITION_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    LEDGER_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    RAW_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    START_POSITION_FIELD_NUMBER: _ClassVar[int]
    UNTIL_FIELD_NUMBER: _ClassVar[int]
    WRITER_FIELD_NUMBER: _ClassVar[int]
    end_position: int
    labels: _containers.ScalarMap[str, str]
    ledger: str
    page_size: int
    page_token: str
    raw: bool
    since: _timestamp_pb2.Timestamp
    start_position: int
    until: _timestamp_pb2.Timestamp
    writer: str
    def __init__(self, ledger: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., start_position: _Optional[int] = ..., raw: bool = ..., end_position: _Optional[int] = ..., writer: _Optional[str] = ..., labels: _Optional[_Mapping[str, str]] = ..., since: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., until: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class ListEntriesResponse(_message.Message):
    __slots__ = ["entries", "genesis", "next_page_token"]
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    GENESIS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    entries: _containers.RepeatedCompositeFieldContainer[_ledger_pb2.Entry]
    genesis: bytes
    next_page_token: str
    def __init__(self, entries: _Optional[_Iterable[_Union[_ledger_pb2.Entry, _Mapping]]] = ..., next_page_token: _Optional[str] = ..., genesis: _Optional[bytes] = ...) -> None: ...

class ListLedgersRequest(_message.Message):
    __slots__ = ["page_size", "page_token", "prefix"]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    page_size: int
    page_token: str
    prefix: str
    def __init__(self, prefix: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListLedgersResponse(_message.Message):
    __slots__ = ["ledgers", "next_page_token"]
    LEDGERS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    ledgers: _containers.RepeatedCompositeFieldContainer[_ledger_pb2.Ledger]
    next_page_token: str
    def __init__(self, ledgers: _Optional[_Iterable[_Union[_ledger_pb2.Ledger, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class ListRefusalsRequest(_message.Message):
    __slots__ = ["ledger"]
    LEDGER_FIELD_NUMBER: _ClassVar[int]
    ledger: str
    def __init__(self, ledger: _Optional[str] = ...) -> None: ...

class ListRefusalsResponse(_message.Message):
    __slots__ = ["count", "count_start_time", "refusals", "start_time", "text"]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    COUNT_START_TIME_FIELD_NUMBER: _ClassVar[int]
    REFUSALS_FIELD_NUMBER: _ClassVar[int]
    START_TIME_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    count: int
    count_start_time: _timestamp_pb2.Timestamp
    refusals: _containers.RepeatedCompositeFieldContainer[Refusal]
    start_time: _timestamp_pb2.Timestamp
    text: str
    def __init__(self, count: _Optional[int] = ..., refusals: _Optional[_Iterable[_Union[Refusal, _Mapping]]] = ..., count_start_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., start_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., text: _Optional[str] = ...) -> None: ...

class MechanismCount(_message.Message):
    __slots__ = ["count", "mechanism"]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    MECHANISM_FIELD_NUMBER: _ClassVar[int]
    count: int
    mechanism: _mechanism_pb2.Mechanism
    def __init__(self, mechanism: _Optional[_Union[_mechanism_pb2.Mechanism, _Mapping]] = ..., count: _Optional[int] = ...) -> None: ...

class ObserveRequest(_message.Message):
    __slots__ = ["lane", "observe"]
    LANE_FIELD_NUMBER: _ClassVar[int]
    OBSERVE_FIELD_NUMBER: _ClassVar[int]
    lane: Lane
    observe: _ledger_pb2.Observe
    def __init__(self, lane: _Optional[_Union[Lane, _Mapping]] = ..., observe: _Optional[_Union[_ledger_pb2.Observe, _Mapping]] = ...) -> None: ...

class ProposeRequest(_message.Message):
    __slots__ = ["lane", "propose"]
    LANE_FIELD_NUMBER: _ClassVar[int]
    PROPOSE_FIELD_NUMBER: _ClassVar[int]
    lane: Lane
    propose: _ledger_pb2.Propose
    def __init__(self, lane: _Optional[_Union[Lane, _Mapping]] = ..., propose: _Optional[_Union[_ledger_pb2.Propose, _Mapping]] = ...) -> None: ...

class QueryPrivacyRequest(_message.Message):
    __slots__ = ["delta", "epsilon", "ledger", "max_gap", "workload"]
    DELTA_FIELD_NUMBER: _ClassVar[int]
    EPSILON_FIELD_NUMBER: _ClassVar[int]
    LEDGER_FIELD_NUMBER: _ClassVar[int]
    MAX_GAP_FIELD_NUMBER: _ClassVar[int]
    WORKLOAD_FIELD_NUMBER: _ClassVar[int]
    delta: float
    epsilon: float
    ledger: str
    max_gap: float
    workload: _mechanism_pb2.Workload
    def __init__(self, ledger: _Optional[str] = ..., workload: _Optional[_Union[_mechanism_pb2.Workload, _Mapping]] = ..., delta: _Optional[float] = ..., epsilon: _Optional[float] = ..., max_gap: _Optional[float] = ...) -> None: ...

class QueryPrivacyResponse(_message.Message):
    __slots__ = ["analyses", "analysis", "assumptions", "delta", "delta_lower", "epsilon", "epsilon_lower", "guarantee", "log_delta", "log_delta_lower", "position", "running", "warnings"]
    ANALYSES_FIELD_NUMBER: _ClassVar[int]
    ANALYSIS_FIELD_NUMBER: _ClassVar[int]
    ASSUMPTIONS_FIELD_NUMBER: _ClassVar[int]
    DELTA_FIELD_NUMBER: _ClassVar[int]
    DELTA_LOWER_FIELD_NUMBER: _ClassVar[int]
    EPSILON_FIELD_NUMBER: _ClassVar[int]
    EPSILON_LOWER_FIELD_NUMBER: _ClassVar[int]
    GUARANTEE_FIELD_NUMBER: _ClassVar[int]
    LOG_DELTA_FIELD_NUMBER: _ClassVar[int]
    LOG_DELTA_LOWER_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    RUNNING_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    analyses: _containers.RepeatedCompositeFieldContainer[AnalysisResult]
    analysis: str
    assumptions: _containers.RepeatedCompositeFieldContainer[_ledger_pb2.Assumption]
    delta: float
    delta_lower: float
    epsilon: float
    epsilon_lower: float
    guarantee: str
    log_delta: float
    log_delta_lower: float
    position: int
    running: float
    warnings: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, delta: _Optional[float] = ..., epsilon: _Optional[float] = ..., epsilon_lower: _Optional[float] = ..., delta_lower: _Optional[float] = ..., log_delta: _Optional[float] = ..., analysis: _Optional[str] = ..., guarantee: _Optional[str] = ..., running: _Optional[float] = ..., analyses: _Optional[_Iterable[_Union[AnalysisResult, _Mapping]]] = ..., position: _Optional[int] = ..., log_delta_lower: _Optional[float] = ..., assumptions: _Optional[_Iterable[_Union[_ledger_pb2.Assumption, _Mapping]]] = ..., warnings: _Optional[_Iterable[str]] = ...) -> None: ...

class QueryPrivacySetRequest(_message.Message):
    __slots__ = ["delta", "epsilon", "max_gap", "set"]
    DELTA_FIELD_NUMBER: _ClassVar[int]
    EPSILON_FIELD_NUMBER: _ClassVar[int]
    MAX_GAP_FIELD_NUMBER: _ClassVar[int]
    SET_FIELD_NUMBER: _ClassVar[int]
    delta: float
    epsilon: float
    max_gap: float
    set: _ledger_pb2.LedgerSet
    def __init__(self, set: _Optional[_Union[_ledger_pb2.LedgerSet, _Mapping]] = ..., delta: _Optional[float] = ..., epsilon: _Optional[float] = ..., max_gap: _Optional[float] = ...) -> None: ...

class QueryPrivacySetResponse(_message.Message):
    __slots__ = ["in_all", "in_one", "ledgers", "not_in_all", "not_in_one"]
    IN_ALL_FIELD_NUMBER: _ClassVar[int]
    IN_ONE_FIELD_NUMBER: _ClassVar[int]
    LEDGERS_FIELD_NUMBER: _ClassVar[int]
    NOT_IN_ALL_FIELD_NUMBER: _ClassVar[int]
    NOT_IN_ONE_FIELD_NUMBER: _ClassVar[int]
    in_all: QueryPrivacyResponse
    in_one: QueryPrivacyResponse
    ledgers: _containers.RepeatedCompositeFieldContainer[LedgerPrivacy]
    not_in_all: str
    not_in_one: str
    def __init__(self, ledgers: _Optional[_Iterable[_Union[LedgerPrivacy, _Mapping]]] = ..., in_all: _Optional[_Union[QueryPrivacyResponse, _Mapping]] = ..., in_one: _Optional[_Union[QueryPrivacyResponse, _Mapping]] = ..., not_in_one: _Optional[str] = ..., not_in_all: _Optional[str] = ...) -> None: ...

class RaiseRequest(_message.Message):
    __slots__ = ["lane"]
    LANE_FIELD_NUMBER: _ClassVar[int]
    RAISE_FIELD_NUMBER: _ClassVar[int]
    lane: Lane
    def __init__(self, lane: _Optional[_Union[Lane, _Mapping]] = ..., **kwargs) -> None: ...

class ReconcileRequest(_message.Message):
    __slots__ = ["lane", "reconcile"]
    LANE_FIELD_NUMBER: _ClassVar[int]
    RECONCILE_FIELD_NUMBER: _ClassVar[int]
    lane: Lane
    reconcile: _ledger_pb2.Reconcile
    def __init__(self, lane: _Optional[_Union[Lane, _Mapping]] = ..., reconcile: _Optional[_Union[_ledger_pb2.Reconcile, _Mapping]] = ...) -> None: ...

class RefundRequest(_message.Message):
    __slots__ = ["lane", "refund"]
    LANE_FIELD_NUMBER: _ClassVar[int]
    REFUND_FIELD_NUMBER: _ClassVar[int]
    lane: Lane
    refund: _ledger_pb2.Refund
    def __init__(self, lane: _Optional[_Union[Lane, _Mapping]] = ..., refund: _Optional[_Union[_ledger_pb2.Refund, _Mapping]] = ...) -> None: ...

class Refusal(_message.Message):
    __slots__ = ["budget_exceeded", "code", "detail", "principal", "reason", "sequence", "set_ledgers", "time", "writer"]
    BUDGET_EXCEEDED_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    PRINCIPAL_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    SET_LEDGERS_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    WRITER_FIELD_NUMBER: _ClassVar[int]
    budget_exceeded: BudgetExceeded
    code: int
    detail: str
    principal: str
    reason: str
    sequence: int
    set_ledgers: int
    time: _timestamp_pb2.Timestamp
    writer: str
    def __init__(self, time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., principal: _Optional[str] = ..., writer: _Optional[str] = ..., sequence: _Optional[int] = ..., set_ledgers: _Optional[int] = ..., code: _Optional[int] = ..., reason: _Optional[str] = ..., detail: _Optional[str] = ..., budget_exceeded: _Optional[_Union[BudgetExceeded, _Mapping]] = ...) -> None: ...

class ReleaseRequest(_message.Message):
    __slots__ = ["lane", "release"]
    LANE_FIELD_NUMBER: _ClassVar[int]
    RELEASE_FIELD_NUMBER: _ClassVar[int]
    lane: Lane
    release: _ledger_pb2.Release
    def __init__(self, lane: _Optional[_Union[Lane, _Mapping]] = ..., release: _Optional[_Union[_ledger_pb2.Release, _Mapping]] = ...) -> None: ...

class ReportRequest(_message.Message):
    __slots__ = ["charge", "lane"]
    CHARGE_FIELD_NUMBER: _ClassVar[int]
    LANE_FIELD_NUMBER: _ClassVar[int]
    charge: _ledger_pb2.Charge
    lane: Lane
    def __init__(self, lane: _Optional[_Union[Lane, _Mapping]] = ..., charge: _Optional[_Union[_ledger_pb2.Charge, _Mapping]] = ...) -> None: ...

class ReportStreamRequest(_message.Message):
    __slots__ = ["charge", "commit", "open", "release", "reserve"]
    class Open(_message.Message):
        __slots__ = ["last_receipt", "ledger", "writer"]
        LAST_RECEIPT_FIELD_NUMBER: _ClassVar[int]
        LEDGER_FIELD_NUMBER: _ClassVar[int]
        WRITER_FIELD_NUMBER: _ClassVar[int]
        last_receipt: _ledger_pb2.Receipt
        ledger: str
        writer: str
        def __init__(self, ledger: _Optional[str] = ..., writer: _Optional[str] = ..., last_receipt: _Optional[_Union[_ledger_pb2.Receipt, _Mapping]] = ...) -> None: ...
    class SequencedCharge(_message.Message):
        __slots__ = ["charge", "sequence"]
        CHARGE_FIELD_NUMBER: _ClassVar[int]
        SEQUENCE_FIELD_NUMBER: _ClassVar[int]
        charge: _ledger_pb2.Charge
        sequence: int
        def __init__(self, sequence: _Optional[int] = ..., charge: _Optional[_Union[_ledger_pb2.Charge, _Mapping]] = ...) -> None: ...
    class SequencedCommit(_message.Message):
        __slots__ = ["commit", "sequence"]
        COMMIT_FIELD_NUMBER: _ClassVar[int]
        SEQUENCE_FIELD_NUMBER: _ClassVar[int]
        commit: _ledger_pb2.Commit
        sequence: int
        def __init__(self, sequence: _Optional[int] = ..., commit: _Optional[_Union[_ledger_pb2.Commit, _Mapping]] = ...) -> None: ...
    class SequencedRelease(_message.Message):
        __slots__ = ["release", "sequence"]
        RELEASE_FIELD_NUMBER: _ClassVar[int]
        SEQUENCE_FIELD_NUMBER: _ClassVar[int]
        release: _ledger_pb2.Release
        sequence: int
        def __init__(self, sequence: _Optional[int] = ..., release: _Optional[_Union[_ledger_pb2.Release, _Mapping]] = ...) -> None: ...
    class SequencedReserve(_message.Message):
        __slots__ = ["reserve", "sequence"]
        RESERVE_FIELD_NUMBER: _ClassVar[int]
        SEQUENCE_FIELD_NUMBER: _ClassVar[int]
        reserve: _ledger_pb2.Reserve
        sequence: int
        def __init__(self, sequence: _Optional[int] = ..., reserve: _Optional[_Union[_ledger_pb2.Reserve, _Mapping]] = ...) -> None: ...
    CHARGE_FIELD_NUMBER: _ClassVar[int]
    COMMIT_FIELD_NUMBER: _ClassVar[int]
    OPEN_FIELD_NUMBER: _ClassVar[int]
    RELEASE_FIELD_NUMBER: _ClassVar[int]
    RESERVE_FIELD_NUMBER: _ClassVar[int]
    charge: ReportStreamRequest.SequencedCharge
    commit: ReportStreamRequest.SequencedCommit
    open: ReportStreamRequest.Open
    release: ReportStreamRequest.SequencedRelease
    reserve: ReportStreamRequest.SequencedReserve
    def __init__(self, open: _Optional[_Union[ReportStreamRequest.Open, _Mapping]] = ..., charge: _Optional[_Union[ReportStreamRequest.SequencedCharge, _Mapping]] = ..., reserve: _Optional[_Union[ReportStreamRequest.SequencedReserve, _Mapping]] = ..., commit: _Optional[_Union[ReportStreamRequest.SequencedCommit, _Mapping]] = ..., release: _Optional[_Union[ReportStreamRequest.SequencedRelease, _Mapping]] = ...) -> None: ...

class ReportStreamResponse(_message.Message):
    __slots__ = ["acknowledged", "opened", "rejected"]
    class Acknowledged(_message.Message):
        __slots__ = ["receipt", "through"]
        RECEIPT_FIELD_NUMBER: _ClassVar[int]
        THROUGH_FIELD_NUMBER: _ClassVar[int]
        receipt: _ledger_pb2.Receipt
        through: int
        def __init__(self, through: _Optional[int] = ..., receipt: _Optional[_Union[_ledger_pb2.Receipt, _Mapping]] = ...) -> None: ...
    class Opened(_message.Message):
        __slots__ = ["last_sequence"]
        LAST_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
        last_sequence: int
        def __init__(self, last_sequence: _Optional[int] = ...) -> None: ...
    class Rejected(_message.Message):
        __slots__ = ["budget_exceeded", "code", "detail", "sequence"]
        BUDGET_EXCEEDED_FIELD_NUMBER: _ClassVar[int]
        CODE_FIELD_NUMBER: _ClassVar[int]
        DETAIL_FIELD_NUMBER: _ClassVar[int]
        SEQUENCE_FIELD_NUMBER: _ClassVar[int]
        budget_exceeded: BudgetExceeded
        code: int
        detail: str
        sequence: int
        def __init__(self, sequence: _Optional[int] = ..., code: _Optional[int] = ..., detail: _Optional[str] = ..., budget_exceeded: _Optional[_Union[BudgetExceeded, _Mapping]] = ...) -> None: ...
    ACKNOWLEDGED_FIELD_NUMBER: _ClassVar[int]
    OPENED_FIELD_NUMBER: _ClassVar[int]
    REJECTED_FIELD_NUMBER: _ClassVar[int]
    acknowledged: ReportStreamResponse.Acknowledged
    opened: ReportStreamResponse.Opened
    rejected: ReportStreamResponse.Rejected
    def __init__(self, opened: _Optional[_Union[ReportStreamResponse.Opened, _Mapping]] = ..., acknowledged: _Optional[_Union[ReportStreamResponse.Acknowledged, _Mapping]] = ..., rejected: _Optional[_Union[ReportStreamResponse.Rejected, _Mapping]] = ...) -> None: ...

class ReserveRequest(_message.Message):
    __slots__ = ["lane", "reserve"]
    LANE_FIELD_NUMBER: _ClassVar[int]
    RESERVE_FIELD_NUMBER: _ClassVar[int]
    lane: Lane
    reserve: _ledger_pb2.Reserve
    def __init__(self, lane: _Optional[_Union[Lane, _Mapping]] = ..., reserve: _Optional[_Union[_ledger_pb2.Reserve, _Mapping]] = ...) -> None: ...

class SetRefusal(_message.Message):
    __slots__ = ["fits", "ledgers", "members", "more"]
    class Member(_message.Message):
        __slots__ = ["budget_exceeded", "code", "ledger", "reason"]
        BUDGET_EXCEEDED_FIELD_NUMBER: _ClassVar[int]
        CODE_FIELD_NUMBER: _ClassVar[int]
        LEDGER_FIELD_NUMBER: _ClassVar[int]
        REASON_FIELD_NUMBER: _ClassVar[int]
        budget_exceeded: BudgetExceeded
        code: int
        ledger: str
        reason: str
        def __init__(self, ledger: _Optional[str] = ..., code: _Optional[int] = ..., reason: _Optional[str] = ..., budget_exceeded: _Optional[_Union[BudgetExceeded, _Mapping]] = ...) -> None: ...
    FITS_FIELD_NUMBER: _ClassVar[int]
    LEDGERS_FIELD_NUMBER: _ClassVar[int]
    MEMBERS_FIELD_NUMBER: _ClassVar[int]
    MORE_FIELD_NUMBER: _ClassVar[int]
    fits: _containers.RepeatedCompositeFieldContainer[MechanismCount]
    ledgers: int
    members: _containers.RepeatedCompositeFieldContainer[SetRefusal.Member]
    more: int
    def __init__(self, members: _Optional[_Iterable[_Union[SetRefusal.Member, _Mapping]]] = ..., more: _Optional[int] = ..., fits: _Optional[_Iterable[_Union[MechanismCount, _Mapping]]] = ..., ledgers: _Optional[int] = ...) -> None: ...

class StatedPrivacy(_message.Message):
    __slots__ = ["allocated", "analysis", "delta", "epsilon", "epsilon_lower", "poisson_sampled", "running", "shuffled", "shuffled_lower"]
    ALLOCATED_FIELD_NUMBER: _ClassVar[int]
    ANALYSIS_FIELD_NUMBER: _ClassVar[int]
    DELTA_FIELD_NUMBER: _ClassVar[int]
    EPSILON_FIELD_NUMBER: _ClassVar[int]
    EPSILON_LOWER_FIELD_NUMBER: _ClassVar[int]
    POISSON_SAMPLED_FIELD_NUMBER: _ClassVar[int]
    RUNNING_FIELD_NUMBER: _ClassVar[int]
    SHUFFLED_FIELD_NUMBER: _ClassVar[int]
    SHUFFLED_LOWER_FIELD_NUMBER: _ClassVar[int]
    allocated: float
    analysis: str
    delta: float
    epsilon: float
    epsilon_lower: float
    poisson_sampled: float
    running: float
    shuffled: float
    shuffled_lower: float
    def __init__(self, delta: _Optional[float] = ..., epsilon: _Optional[float] = ..., epsilon_lower: _Optional[float] = ..., analysis: _Optional[str] = ..., running: _Optional[float] = ..., shuffled: _Optional[float] = ..., allocated: _Optional[float] = ..., poisson_sampled: _Optional[float] = ..., shuffled_lower: _Optional[float] = ...) -> None: ...

class Statement(_message.Message):
    __slots__ = ["acknowledged_warnings", "advantage", "assumptions", "dataset", "groups", "guarantee", "ledger", "ledgers", "markdown", "mechanisms", "mechanisms_omitted", "mu", "privacy", "rho", "sections", "summary", "time", "trade_off", "version", "warnings"]
    ACKNOWLEDGED_WARNINGS_FIELD_NUMBER: _ClassVar[int]
    ADVANTAGE_FIELD_NUMBER: _ClassVar[int]
    ASSUMPTIONS_FIELD_NUMBER: _ClassVar[int]
    DATASET_FIELD_NUMBER: _ClassVar[int]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    GUARANTEE_FIELD_NUMBER: _ClassVar[int]
    LEDGERS_FIELD_NUMBER: _ClassVar[int]
    LEDGER_FIELD_NUMBER: _ClassVar[int]
    MARKDOWN_FIELD_NUMBER: _ClassVar[int]
    MECHANISMS_FIELD_NUMBER: _ClassVar[int]
    MECHANISMS_OMITTED_FIELD_NUMBER: _ClassVar[int]
    MU_FIELD_NUMBER: _ClassVar[int]
    PRIVACY_FIELD_NUMBER: _ClassVar[int]
    RHO_FIELD_NUMBER: _ClassVar[int]
    SECTIONS_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    TRADE_OFF_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    acknowledged_warnings: _containers.RepeatedScalarFieldContainer[str]
    advantage: float
    assumptions: _containers.RepeatedScalarFieldContainer[str]
    dataset: _ledger_pb2.Dataset
    groups: _containers.RepeatedCompositeFieldContainer[GroupPrivacy]
    guarantee: str
    ledger: _ledger_pb2.Ledger
    ledgers: _containers.RepeatedCompositeFieldContainer[DatasetLedger]
    markdown: str
    mechanisms: _containers.RepeatedCompositeFieldContainer[MechanismCount]
    mechanisms_omitted: int
    mu: float
    privacy: _containers.RepeatedCompositeFieldContainer[StatedPrivacy]
    rho: float
    sections: _containers.RepeatedCompositeFieldContainer[StatementSection]
    summary: str
    time: _timestamp_pb2.Timestamp
    trade_off: _containers.RepeatedCompositeFieldContainer[_curve_pb2.TradeOffPoint]
    version: str
    warnings: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, ledger: _Optional[_Union[_ledger_pb2.Ledger, _Mapping]] = ..., guarantee: _Optional[str] = ..., mechanisms: _Optional[_Iterable[_Union[MechanismCount, _Mapping]]] = ..., privacy: _Optional[_Iterable[_Union[StatedPrivacy, _Mapping]]] = ..., rho: _Optional[float] = ..., mu: _Optional[float] = ..., advantage: _Optional[float] = ..., assumptions: _Optional[_Iterable[str]] = ..., version: _Optional[str] = ..., time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., warnings: _Optional[_Iterable[str]] = ..., mechanisms_omitted: _Optional[int] = ..., summary: _Optional[str] = ..., sections: _Optional[_Iterable[_Union[StatementSection, _Mapping]]] = ..., groups: _Optional[_Iterable[_Union[GroupPrivacy, _Mapping]]] = ..., trade_off: _Optional[_Iterable[_Union[_curve_pb2.TradeOffPoint, _Mapping]]] = ..., acknowledged_warnings: _Optional[_Iterable[str]] = ..., markdown: _Optional[str] = ..., dataset: _Optional[_Union[_ledger_pb2.Dataset, _Mapping]] = ..., ledgers: _Optional[_Iterable[_Union[DatasetLedger, _Mapping]]] = ...) -> None: ...

class StatementSection(_message.Message):
    __slots__ = ["points", "title"]
    POINTS_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    points: _containers.RepeatedScalarFieldContainer[str]
    title: str
    def __init__(self, title: _Optional[str] = ..., points: _Optional[_Iterable[str]] = ...) -> None: ...

class WatchLedgerRequest(_message.Message):
    __slots__ = ["name"]
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class WatchLedgerResponse(_message.Message):
    __slots__ = ["ledger"]
    LEDGER_FIELD_NUMBER: _ClassVar[int]
    ledger: _ledger_pb2.Ledger
    def __init__(self, ledger: _Optional[_Union[_ledger_pb2.Ledger, _Mapping]] = ...) -> None: ...

class WithdrawRequest(_message.Message):
    __slots__ = ["lane", "withdraw"]
    LANE_FIELD_NUMBER: _ClassVar[int]
    WITHDRAW_FIELD_NUMBER: _ClassVar[int]
    lane: Lane
    withdraw: _ledger_pb2.Withdraw
    def __init__(self, lane: _Optional[_Union[Lane, _Mapping]] = ..., withdraw: _Optional[_Union[_ledger_pb2.Withdraw, _Mapping]] = ...) -> None: ...

class WriteResponse(_message.Message):
    __slots__ = ["already_charged", "check_only", "expire_time", "ledgers", "receipt", "refusal", "replayed"]
    ALREADY_CHARGED_FIELD_NUMBER: _ClassVar[int]
    CHECK_ONLY_FIELD_NUMBER: _ClassVar[int]
    EXPIRE_TIME_FIELD_NUMBER: _ClassVar[int]
    LEDGERS_FIELD_NUMBER: _ClassVar[int]
    RECEIPT_FIELD_NUMBER: _ClassVar[int]
    REFUSAL_FIELD_NUMBER: _ClassVar[int]
    REPLAYED_FIELD_NUMBER: _ClassVar[int]
    already_charged: bool
    check_only: bool
    expire_time: _timestamp_pb2.Timestamp
    ledgers: _containers.RepeatedScalarFieldContainer[str]
    receipt: _ledger_pb2.Receipt
    refusal: SetRefusal
    replayed: bool
    def __init__(self, receipt: _Optional[_Union[_ledger_pb2.Receipt, _Mapping]] = ..., replayed: bool = ..., check_only: bool = ..., expire_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., ledgers: _Optional[_Iterable[str]] = ..., refusal: _Optional[_Union[SetRefusal, _Mapping]] = ..., already_charged: bool = ...) -> None: ...
