from . import mechanism_pb2 as _mechanism_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class HistoryPoint(_message.Message):
    __slots__ = ["asked_time", "epsilon", "epsilon_spent", "guarantee", "position", "reserved_shares", "shares", "time"]
    ASKED_TIME_FIELD_NUMBER: _ClassVar[int]
    EPSILON_FIELD_NUMBER: _ClassVar[int]
    EPSILON_SPENT_FIELD_NUMBER: _ClassVar[int]
    GUARANTEE_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    RESERVED_SHARES_FIELD_NUMBER: _ClassVar[int]
    SHARES_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    asked_time: _timestamp_pb2.Timestamp
    epsilon: float
    epsilon_spent: float
    guarantee: str
    position: int
    reserved_shares: _containers.RepeatedScalarFieldContainer[float]
    shares: _containers.RepeatedScalarFieldContainer[float]
    time: _timestamp_pb2.Timestamp
    def __init__(self, position: _Optional[int] = ..., time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., asked_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., epsilon_spent: _Optional[float] = ..., epsilon: _Optional[float] = ..., guarantee: _Optional[str] = ..., shares: _Optional[_Iterable[float]] = ..., reserved_shares: _Optional[_Iterable[float]] = ...) -> None: ...

class LedgerSpending(_message.Message):
    __slots__ = ["budgets", "dataset_id", "delta", "group", "ledger", "position", "problem", "warnings"]
    BUDGETS_FIELD_NUMBER: _ClassVar[int]
    DATASET_ID_FIELD_NUMBER: _ClassVar[int]
    DELTA_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    LEDGER_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    PROBLEM_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    budgets: _containers.RepeatedScalarFieldContainer[str]
    dataset_id: str
    delta: float
    group: SpendingGroup
    ledger: str
    position: int
    problem: str
    warnings: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, ledger: _Optional[str] = ..., dataset_id: _Optional[str] = ..., group: _Optional[_Union[SpendingGroup, _Mapping]] = ..., budgets: _Optional[_Iterable[str]] = ..., delta: _Optional[float] = ..., position: _Optional[int] = ..., problem: _Optional[str] = ..., warnings: _Optional[_Iterable[str]] = ...) -> None: ...

class OverviewRow(_message.Message):
    __slots__ = ["create_time", "dataset_id", "delta", "epsilon", "epsilon_spent", "flags", "guarantee", "guarantee_text", "last_time", "name", "owners", "position", "problem", "reserved_share", "share", "share_of", "state", "warnings"]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    DATASET_ID_FIELD_NUMBER: _ClassVar[int]
    DELTA_FIELD_NUMBER: _ClassVar[int]
    EPSILON_FIELD_NUMBER: _ClassVar[int]
    EPSILON_SPENT_FIELD_NUMBER: _ClassVar[int]
    FLAGS_FIELD_NUMBER: _ClassVar[int]
    GUARANTEE_FIELD_NUMBER: _ClassVar[int]
    GUARANTEE_TEXT_FIELD_NUMBER: _ClassVar[int]
    LAST_TIME_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    OWNERS_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    PROBLEM_FIELD_NUMBER: _ClassVar[int]
    RESERVED_SHARE_FIELD_NUMBER: _ClassVar[int]
    SHARE_FIELD_NUMBER: _ClassVar[int]
    SHARE_OF_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    create_time: _timestamp_pb2.Timestamp
    dataset_id: str
    delta: float
    epsilon: float
    epsilon_spent: float
    flags: _containers.RepeatedScalarFieldContainer[str]
    guarantee: str
    guarantee_text: str
    last_time: _timestamp_pb2.Timestamp
    name: str
    owners: _containers.RepeatedScalarFieldContainer[str]
    position: int
    problem: str
    reserved_share: float
    share: float
    share_of: str
    state: str
    warnings: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, name: _Optional[str] = ..., dataset_id: _Optional[str] = ..., owners: _Optional[_Iterable[str]] = ..., state: _Optional[str] = ..., flags: _Optional[_Iterable[str]] = ..., position: _Optional[int] = ..., create_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., last_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., delta: _Optional[float] = ..., epsilon_spent: _Optional[float] = ..., epsilon: _Optional[float] = ..., guarantee: _Optional[str] = ..., guarantee_text: _Optional[str] = ..., share: _Optional[float] = ..., reserved_share: _Optional[float] = ..., share_of: _Optional[str] = ..., problem: _Optional[str] = ..., warnings: _Optional[_Iterable[str]] = ...) -> None: ...

class QueryForecastRequest(_message.Message):
    __slots__ = ["ledger", "progress"]
    LEDGER_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    ledger: str
    progress: bool
    def __init__(self, ledger: _Optional[str] = ..., progress: bool = ...) -> None: ...

class QueryForecastResponse(_message.Message):
    __slots__ = ["earliest_time", "exhaustion_time", "latest_time", "position", "reading", "share", "share_of", "share_per_day", "text", "warnings", "window_end", "window_start"]
    EARLIEST_TIME_FIELD_NUMBER: _ClassVar[int]
    EXHAUSTION_TIME_FIELD_NUMBER: _ClassVar[int]
    LATEST_TIME_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    READING_FIELD_NUMBER: _ClassVar[int]
    SHARE_FIELD_NUMBER: _ClassVar[int]
    SHARE_OF_FIELD_NUMBER: _ClassVar[int]
    SHARE_PER_DAY_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    WINDOW_END_FIELD_NUMBER: _ClassVar[int]
    WINDOW_START_FIELD_NUMBER: _ClassVar[int]
    earliest_time: _timestamp_pb2.Timestamp
    exhaustion_time: _timestamp_pb2.Timestamp
    latest_time: _timestamp_pb2.Timestamp
    position: int
    reading: Reading
    share: float
    share_of: str
    share_per_day: float
    text: str
    warnings: _containers.RepeatedScalarFieldContainer[str]
    window_end: _timestamp_pb2.Timestamp
    window_start: _timestamp_pb2.Timestamp
    def __init__(self, share: _Optional[float] = ..., share_of: _Optional[str] = ..., share_per_day: _Optional[float] = ..., window_start: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., window_end: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., exhaustion_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., earliest_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., latest_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., position: _Optional[int] = ..., text: _Optional[str] = ..., reading: _Optional[_Union[Reading, _Mapping]] = ..., warnings: _Optional[_Iterable[str]] = ...) -> None: ...

class QueryHistoryRequest(_message.Message):
    __slots__ = ["delta", "end_position", "end_time", "ledger", "max_gap", "points", "positions", "progress", "start_position", "start_time", "times"]
    DELTA_FIELD_NUMBER: _ClassVar[int]
    END_POSITION_FIELD_NUMBER: _ClassVar[int]
    END_TIME_FIELD_NUMBER: _ClassVar[int]
    LEDGER_FIELD_NUMBER: _ClassVar[int]
    MAX_GAP_FIELD_NUMBER: _ClassVar[int]
    POINTS_FIELD_NUMBER: _ClassVar[int]
    POSITIONS_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    START_POSITION_FIELD_NUMBER: _ClassVar[int]
    START_TIME_FIELD_NUMBER: _ClassVar[int]
    TIMES_FIELD_NUMBER: _ClassVar[int]
    delta: float
    end_position: int
    end_time: _timestamp_pb2.Timestamp
    ledger: str
    max_gap: float
    points: int
    positions: _containers.RepeatedScalarFieldContainer[int]
    progress: bool
    start_position: int
    start_time: _timestamp_pb2.Timestamp
    times: _containers.RepeatedCompositeFieldContainer[_timestamp_pb2.Timestamp]
    def __init__(self, ledger: _Optional[str] = ..., positions: _Optional[_Iterable[int]] = ..., times: _Optional[_Iterable[_Union[_timestamp_pb2.Timestamp, _Mapping]]] = ..., points: _Optional[int] = ..., delta: _Optional[float] = ..., max_gap: _Optional[float] = ..., start_position: _Optional[int] = ..., end_position: _Optional[int] = ..., start_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., end_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., progress: bool = ...) -> None: ...

class QueryHistoryResponse(_message.Message):
    __slots__ = ["budgets", "delta", "points", "position", "reading", "text", "warnings"]
    BUDGETS_FIELD_NUMBER: _ClassVar[int]
    DELTA_FIELD_NUMBER: _ClassVar[int]
    POINTS_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    READING_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    budgets: _containers.RepeatedScalarFieldContainer[str]
    delta: float
    points: _containers.RepeatedCompositeFieldContainer[HistoryPoint]
    position: int
    reading: Reading
    text: str
    warnings: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, points: _Optional[_Iterable[_Union[HistoryPoint, _Mapping]]] = ..., delta: _Optional[float] = ..., position: _Optional[int] = ..., budgets: _Optional[_Iterable[str]] = ..., text: _Optional[str] = ..., reading: _Optional[_Union[Reading, _Mapping]] = ..., warnings: _Optional[_Iterable[str]] = ...) -> None: ...

class QueryOverviewRequest(_message.Message):
    __slots__ = ["contains", "delta", "flags", "min_share", "page_size", "page_token", "prefix", "state"]
    CONTAINS_FIELD_NUMBER: _ClassVar[int]
    DELTA_FIELD_NUMBER: _ClassVar[int]
    FLAGS_FIELD_NUMBER: _ClassVar[int]
    MIN_SHARE_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    contains: str
    delta: float
    flags: _containers.RepeatedScalarFieldContainer[str]
    min_share: float
    page_size: int
    page_token: str
    prefix: str
    state: str
    def __init__(self, prefix: _Optional[str] = ..., contains: _Optional[str] = ..., state: _Optional[str] = ..., flags: _Optional[_Iterable[str]] = ..., min_share: _Optional[float] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., delta: _Optional[float] = ...) -> None: ...

class QueryOverviewResponse(_message.Message):
    __slots__ = ["next_page_token", "rows"]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    next_page_token: str
    rows: _containers.RepeatedCompositeFieldContainer[OverviewRow]
    def __init__(self, rows: _Optional[_Iterable[_Union[OverviewRow, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class QuerySpendingAnywhereRequest(_message.Message):
    __slots__ = ["by", "delta", "label_key", "name", "page_size", "page_token", "prefix"]
    BY_FIELD_NUMBER: _ClassVar[int]
    DELTA_FIELD_NUMBER: _ClassVar[int]
    LABEL_KEY_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    by: QuerySpendingRequest.By
    delta: float
    label_key: str
    name: str
    page_size: int
    page_token: str
    prefix: str
    def __init__(self, name: _Optional[str] = ..., by: _Optional[_Union[QuerySpendingRequest.By, str]] = ..., label_key: _Optional[str] = ..., prefix: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., delta: _Optional[float] = ...) -> None: ...

class QuerySpendingAnywhereResponse(_message.Message):
    __slots__ = ["next_page_token", "rows", "text"]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    next_page_token: str
    rows: _containers.RepeatedCompositeFieldContainer[LedgerSpending]
    text: str
    def __init__(self, rows: _Optional[_Iterable[_Union[LedgerSpending, _Mapping]]] = ..., next_page_token: _Optional[str] = ..., text: _Optional[str] = ...) -> None: ...

class QuerySpendingRequest(_message.Message):
    __slots__ = ["by", "delta", "label_key", "ledger", "limit", "progress"]
    class By(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = []
    BY_FIELD_NUMBER: _ClassVar[int]
    BY_UNSPECIFIED: QuerySpendingRequest.By
    DELTA_FIELD_NUMBER: _ClassVar[int]
    LABEL: QuerySpendingRequest.By
    LABEL_KEY_FIELD_NUMBER: _ClassVar[int]
    LEDGER_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    MECHANISM: QuerySpendingRequest.By
    MONTH: QuerySpendingRequest.By
    PRINCIPAL: QuerySpendingRequest.By
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    by: QuerySpendingRequest.By
    delta: float
    label_key: str
    ledger: str
    limit: int
    progress: bool
    def __init__(self, ledger: _Optional[str] = ..., by: _Optional[_Union[QuerySpendingRequest.By, str]] = ..., label_key: _Optional[str] = ..., limit: _Optional[int] = ..., delta: _Optional[float] = ..., progress: bool = ...) -> None: ...

class QuerySpendingResponse(_message.Message):
    __slots__ = ["delta", "groups", "other_groups", "others", "position", "reading", "shares_add_up", "text", "total", "warnings"]
    DELTA_FIELD_NUMBER: _ClassVar[int]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    OTHERS_FIELD_NUMBER: _ClassVar[int]
    OTHER_GROUPS_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    READING_FIELD_NUMBER: _ClassVar[int]
    SHARES_ADD_UP_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    delta: float
    groups: _containers.RepeatedCompositeFieldContainer[SpendingGroup]
    other_groups: int
    others: SpendingGroup
    position: int
    reading: Reading
    shares_add_up: bool
    text: str
    total: SpendingGroup
    warnings: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, groups: _Optional[_Iterable[_Union[SpendingGroup, _Mapping]]] = ..., others: _Optional[_Union[SpendingGroup, _Mapping]] = ..., other_groups: _Optional[int] = ..., total: _Optional[_Union[SpendingGroup, _Mapping]] = ..., delta: _Optional[float] = ..., position: _Optional[int] = ..., shares_add_up: bool = ..., text: _Optional[str] = ..., reading: _Optional[_Union[Reading, _Mapping]] = ..., warnings: _Optional[_Iterable[str]] = ...) -> None: ...

class Reading(_message.Message):
    __slots__ = ["entries", "entries_read"]
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    ENTRIES_READ_FIELD_NUMBER: _ClassVar[int]
    entries: int
    entries_read: int
    def __init__(self, entries_read: _Optional[int] = ..., entries: _Optional[int] = ...) -> None: ...

class SpendingGroup(_message.Message):
    __slots__ = ["charged", "entries", "epsilon", "last_time", "mechanism", "name", "reserved", "shares", "unnamed"]
    CHARGED_FIELD_NUMBER: _ClassVar[int]
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    EPSILON_FIELD_NUMBER: _ClassVar[int]
    LAST_TIME_FIELD_NUMBER: _ClassVar[int]
    MECHANISM_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    RESERVED_FIELD_NUMBER: _ClassVar[int]
    SHARES_FIELD_NUMBER: _ClassVar[int]
    UNNAMED_FIELD_NUMBER: _ClassVar[int]
    charged: int
    entries: int
    epsilon: float
    last_time: _timestamp_pb2.Timestamp
    mechanism: _mechanism_pb2.Mechanism
    name: str
    reserved: int
    shares: _containers.RepeatedScalarFieldContainer[float]
    unnamed: bool
    def __init__(self, name: _Optional[str] = ..., unnamed: bool = ..., mechanism: _Optional[_Union[_mechanism_pb2.Mechanism, _Mapping]] = ..., charged: _Optional[int] = ..., reserved: _Optional[int] = ..., epsilon: _Optional[float] = ..., shares: _Optional[_Iterable[float]] = ..., entries: _Optional[int] = ..., last_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...
