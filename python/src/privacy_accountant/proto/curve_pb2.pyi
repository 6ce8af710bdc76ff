from . import ledger_pb2 as _ledger_pb2
from . import mechanism_pb2 as _mechanism_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class BayesRisk(_message.Message):
    __slots__ = ["prior", "risk", "risk_upper"]
    PRIOR_FIELD_NUMBER: _ClassVar[int]
    RISK_FIELD_NUMBER: _ClassVar[int]
    RISK_UPPER_FIELD_NUMBER: _ClassVar[int]
    prior: float
    risk: float
    risk_upper: float
    def __init__(self, prior: _Optional[float] = ..., risk: _Optional[float] = ..., risk_upper: _Optional[float] = ...) -> None: ...

class CanaryFinding(_message.Message):
    __slots__ = ["confidence", "contradicts", "epsilon", "epsilon_lower", "epsilon_observed", "mu_observed", "p_value"]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    CONTRADICTS_FIELD_NUMBER: _ClassVar[int]
    EPSILON_FIELD_NUMBER: _ClassVar[int]
    EPSILON_LOWER_FIELD_NUMBER: _ClassVar[int]
    EPSILON_OBSERVED_FIELD_NUMBER: _ClassVar[int]
    MU_OBSERVED_FIELD_NUMBER: _ClassVar[int]
    P_VALUE_FIELD_NUMBER: _ClassVar[int]
    confidence: float
    contradicts: bool
    epsilon: float
    epsilon_lower: float
    epsilon_observed: float
    mu_observed: float
    p_value: float
    def __init__(self, epsilon_observed: _Optional[float] = ..., epsilon: _Optional[float] = ..., epsilon_lower: _Optional[float] = ..., p_value: _Optional[float] = ..., contradicts: bool = ..., mu_observed: _Optional[float] = ..., confidence: _Optional[float] = ...) -> None: ...

class ConcentratedBound(_message.Message):
    __slots__ = ["rho", "rho_lower", "xi"]
    RHO_FIELD_NUMBER: _ClassVar[int]
    RHO_LOWER_FIELD_NUMBER: _ClassVar[int]
    XI_FIELD_NUMBER: _ClassVar[int]
    rho: float
    rho_lower: float
    xi: float
    def __init__(self, xi: _Optional[float] = ..., rho: _Optional[float] = ..., rho_lower: _Optional[float] = ...) -> None: ...

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

class GaussianDpBound(_message.Message):
    __slots__ = ["mu", "mu_lower", "reason"]
    MU_FIELD_NUMBER: _ClassVar[int]
    MU_LOWER_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    mu: float
    mu_lower: float
    reason: str
    def __init__(self, mu: _Optional[float] = ..., mu_lower: _Optional[float] = ..., reason: _Optional[str] = ...) -> None: ...

class QueryPrivacyCurveRequest(_message.Message):
    __slots__ = ["alphas", "baselines", "canaries", "epsilon_max", "epsilon_min", "epsilons", "gaussian_dp", "ledger", "max_gap", "orders", "points", "priors", "workload", "xi"]
    ALPHAS_FIELD_NUMBER: _ClassVar[int]
    BASELINES_FIELD_NUMBER: _ClassVar[int]
    CANARIES_FIELD_NUMBER: _ClassVar[int]
    EPSILONS_FIELD_NUMBER: _ClassVar[int]
    EPSILON_MAX_FIELD_NUMBER: _ClassVar[int]
    EPSILON_MIN_FIELD_NUMBER: _ClassVar[int]
    GAUSSIAN_DP_FIELD_NUMBER: _ClassVar[int]
    LEDGER_FIELD_NUMBER: _ClassVar[int]
    MAX_GAP_FIELD_NUMBER: _ClassVar[int]
    ORDERS_FIELD_NUMBER: _ClassVar[int]
    POINTS_FIELD_NUMBER: _ClassVar[int]
    PRIORS_FIELD_NUMBER: _ClassVar[int]
    WORKLOAD_FIELD_NUMBER: _ClassVar[int]
    XI_FIELD_NUMBER: _ClassVar[int]
    alphas: _containers.RepeatedScalarFieldContainer[float]
    baselines: _containers.RepeatedScalarFieldContainer[float]
    canaries: _ledger_pb2.CanaryRun
    epsilon_max: float
    epsilon_min: float
    epsilons: _containers.RepeatedScalarFieldContainer[float]
    gaussian_dp: bool
    ledger: str
    max_gap: float
    orders: _containers.RepeatedScalarFieldContainer[float]
    points: int
    priors: _containers.RepeatedScalarFieldContainer[float]
    workload: _mechanism_pb2.Workload
    xi: float
    def __init__(self, ledger: _Optional[str] = ..., workload: _Optional[_Union[_mechanism_pb2.Workload, _Mapping]] = ..., epsilons: _Optional[_Iterable[float]] = ..., epsilon_min: _Optional[float] = ..., epsilon_max: _Optional[float] = ..., points: _Optional[int] = ..., alphas: _Optional[_Iterable[float]] = ..., max_gap: _Optional[float] = ..., gaussian_dp: bool = ..., orders: _Optional[_Iterable[float]] = ..., xi: _Optional[float] = ..., priors: _Optional[_Iterable[float]] = ..., baselines: _Optional[_Iterable[float]] = ..., canaries: _Optional[_Union[_ledger_pb2.CanaryRun, _Mapping]] = ...) -> None: ...

class QueryPrivacyCurveResponse(_message.Message):
    __slots__ = ["advantage", "advantage_lower", "assumptions", "bayes_risks", "canaries", "concentrated", "equal_error_rate", "equal_error_rate_upper", "gaussian_dp", "guarantee", "points", "position", "reconstructions", "renyi", "trade_off", "warnings"]
    ADVANTAGE_FIELD_NUMBER: _ClassVar[int]
    ADVANTAGE_LOWER_FIELD_NUMBER: _ClassVar[int]
    ASSUMPTIONS_FIELD_NUMBER: _ClassVar[int]
    BAYES_RISKS_FIELD_NUMBER: _ClassVar[int]
    CANARIES_FIELD_NUMBER: _ClassVar[int]
    CONCENTRATED_FIELD_NUMBER: _ClassVar[int]
    EQUAL_ERROR_RATE_FIELD_NUMBER: _ClassVar[int]
    EQUAL_ERROR_RATE_UPPER_FIELD_NUMBER: _ClassVar[int]
    GAUSSIAN_DP_FIELD_NUMBER: _ClassVar[int]
    GUARANTEE_FIELD_NUMBER: _ClassVar[int]
    POINTS_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    RECONSTRUCTIONS_FIELD_NUMBER: _ClassVar[int]
    RENYI_FIELD_NUMBER: _ClassVar[int]
    TRADE_OFF_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    advantage: float
    advantage_lower: float
    assumptions: _containers.RepeatedCompositeFieldContainer[_ledger_pb2.Assumption]
    bayes_risks: _containers.RepeatedCompositeFieldContainer[BayesRisk]
    canaries: CanaryFinding
    concentrated: ConcentratedBound
    equal_error_rate: float
    equal_error_rate_upper: float
    gaussian_dp: GaussianDpBound
    guarantee: str
    points: _containers.RepeatedCompositeFieldContainer[CurvePoint]
    position: int
    reconstructions: _containers.RepeatedCompositeFieldContainer[Reconstruction]
    renyi: _containers.RepeatedCompositeFieldContainer[RenyiDivergence]
    trade_off: _containers.RepeatedCompositeFieldContainer[TradeOffPoint]
    warnings: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, points: _Optional[_Iterable[_Union[CurvePoint, _Mapping]]] = ..., trade_off: _Optional[_Iterable[_Union[TradeOffPoint, _Mapping]]] = ..., advantage: _Optional[float] = ..., advantage_lower: _Optional[float] = ..., equal_error_rate: _Optional[float] = ..., equal_error_rate_upper: _Optional[float] = ..., guarantee: _Optional[str] = ..., position: _Optional[int] = ..., warnings: _Optional[_Iterable[str]] = ..., assumptions: _Optional[_Iterable[_Union[_ledger_pb2.Assumption, _Mapping]]] = ..., gaussian_dp: _Optional[_Union[GaussianDpBound, _Mapping]] = ..., renyi: _Optional[_Iterable[_Union[RenyiDivergence, _Mapping]]] = ..., concentrated: _Optional[_Union[ConcentratedBound, _Mapping]] = ..., bayes_risks: _Optional[_Iterable[_Union[BayesRisk, _Mapping]]] = ..., reconstructions: _Optional[_Iterable[_Union[Reconstruction, _Mapping]]] = ..., canaries: _Optional[_Union[CanaryFinding, _Mapping]] = ...) -> None: ...

class Reconstruction(_message.Message):
    __slots__ = ["baseline", "success", "success_lower"]
    BASELINE_FIELD_NUMBER: _ClassVar[int]
    SUCCESS_FIELD_NUMBER: _ClassVar[int]
    SUCCESS_LOWER_FIELD_NUMBER: _ClassVar[int]
    baseline: float
    success: float
    success_lower: float
    def __init__(self, baseline: _Optional[float] = ..., success: _Optional[float] = ..., success_lower: _Optional[float] = ...) -> None: ...

class RenyiDivergence(_message.Message):
    __slots__ = ["divergence", "divergence_lower", "order"]
    DIVERGENCE_FIELD_NUMBER: _ClassVar[int]
    DIVERGENCE_LOWER_FIELD_NUMBER: _ClassVar[int]
    ORDER_FIELD_NUMBER: _ClassVar[int]
    divergence: float
    divergence_lower: float
    order: float
    def __init__(self, order: _Optional[float] = ..., divergence: _Optional[float] = ..., divergence_lower: _Optional[float] = ...) -> None: ...

class TradeOffPoint(_message.Message):
    __slots__ = ["alpha", "beta", "beta_upper"]
    ALPHA_FIELD_NUMBER: _ClassVar[int]
    BETA_FIELD_NUMBER: _ClassVar[int]
    BETA_UPPER_FIELD_NUMBER: _ClassVar[int]
    alpha: float
    beta: float
    beta_upper: float
    def __init__(self, alpha: _Optional[float] = ..., beta: _Optional[float] = ..., beta_upper: _Optional[float] = ...) -> None: ...
