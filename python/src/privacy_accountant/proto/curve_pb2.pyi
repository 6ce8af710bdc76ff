from . import ledger_pb2 as _ledger_pb2
from . import mechanism_pb2 as _mechanism_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class CurvePoint(_message.Message):
    __slots__ = ["analysis", "delta", "delta_lower", "epsilon", "log_delta", "log_delta_lower"]
    ANALYSIS_FIELD_NUMBER: _ClassVar[int]
    DELTA_FIELD_NUMBER: _ClassVar[int]
    DELTA_LOWER_FIELD_NUMBER: _ClassVar[int]
    EPSILON_FIELD_NUMBER: _ClassVar[int]
    LOG_DELTA_FIELD_NUMBER: _ClassVar[int]
    LOG_DELTA_LOWER_FIELD_NUMBER: _ClassVar[int]
    analysis: str
    delta: float
    delta_lower: float
    epsilon: float
    log_delta: float
    log_delta_lower: float
    def __init__(self, epsilon: _Optional[float] = ..., delta: _Optional[float] = ..., delta_lower: _Optional[float] = ..., log_delta: _Optional[float] = ..., log_delta_lower: _Optional[float] = ..., analysis: _Optional[str] = ...) -> None: ...

class QueryPrivacyCurveRequest(_message.Message):
    __slots__ = ["alphas", "epsilon_max", "epsilon_min", "epsilons", "ledger", "max_gap", "points", "workload"]
    ALPHAS_FIELD_NUMBER: _ClassVar[int]
    EPSILONS_FIELD_NUMBER: _ClassVar[int]
    EPSILON_MAX_FIELD_NUMBER: _ClassVar[int]
    EPSILON_MIN_FIELD_NUMBER: _ClassVar[int]
    LEDGER_FIELD_NUMBER: _ClassVar[int]
    MAX_GAP_FIELD_NUMBER: _ClassVar[int]
    POINTS_FIELD_NUMBER: _ClassVar[int]
    WORKLOAD_FIELD_NUMBER: _ClassVar[int]
    alphas: _containers.RepeatedScalarFieldContainer[float]
    epsilon_max: float
    epsilon_min: float
    epsilons: _containers.RepeatedScalarFieldContainer[float]
    ledger: str
    max_gap: float
    points: int
    workload: _mechanism_pb2.Workload
    def __init__(self, ledger: _Optional[str] = ..., workload: _Optional[_Union[_mechanism_pb2.Workload, _Mapping]] = ..., epsilons: _Optional[_Iterable[float]] = ..., epsilon_min: _Optional[float] = ..., epsilon_max: _Optional[float] = ..., points: _Optional[int] = ..., alphas: _Optional[_Iterable[float]] = ..., max_gap: _Optional[float] = ...) -> None: ...

class QueryPrivacyCurveResponse(_message.Message):
    __slots__ = ["advantage", "advantage_lower", "assumptions", "equal_error_rate", "equal_error_rate_upper", "guarantee", "points", "position", "trade_off", "warnings"]
    ADVANTAGE_FIELD_NUMBER: _ClassVar[int]
    ADVANTAGE_LOWER_FIELD_NUMBER: _ClassVar[int]
    ASSUMPTIONS_FIELD_NUMBER: _ClassVar[int]
    EQUAL_ERROR_RATE_FIELD_NUMBER: _ClassVar[int]
    EQUAL_ERROR_RATE_UPPER_FIELD_NUMBER: _ClassVar[int]
    GUARANTEE_FIELD_NUMBER: _ClassVar[int]
    POINTS_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    TRADE_OFF_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    advantage: float
    advantage_lower: float
    assumptions: _containers.RepeatedCompositeFieldContainer[_ledger_pb2.Assumption]
    equal_error_rate: float
    equal_error_rate_upper: float
    guarantee: str
    points: _containers.RepeatedCompositeFieldContainer[CurvePoint]
    position: int
    trade_off: _containers.RepeatedCompositeFieldContainer[TradeOffPoint]
    warnings: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, points: _Optional[_Iterable[_Union[CurvePoint, _Mapping]]] = ..., trade_off: _Optional[_Iterable[_Union[TradeOffPoint, _Mapping]]] = ..., advantage: _Optional[float] = ..., advantage_lower: _Optional[float] = ..., equal_error_rate: _Optional[float] = ..., equal_error_rate_upper: _Optional[float] = ..., guarantee: _Optional[str] = ..., position: _Optional[int] = ..., warnings: _Optional[_Iterable[str]] = ..., assumptions: _Optional[_Iterable[_Union[_ledger_pb2.Assumption, _Mapping]]] = ...) -> None: ...

class TradeOffPoint(_message.Message):
    __slots__ = ["alpha", "beta", "beta_upper"]
    ALPHA_FIELD_NUMBER: _ClassVar[int]
    BETA_FIELD_NUMBER: _ClassVar[int]
    BETA_UPPER_FIELD_NUMBER: _ClassVar[int]
    alpha: float
    beta: float
    beta_upper: float
    def __init__(self, alpha: _Optional[float] = ..., beta: _Optional[float] = ..., beta_upper: _Optional[float] = ...) -> None: ...
