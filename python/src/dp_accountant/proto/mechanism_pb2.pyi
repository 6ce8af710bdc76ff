from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ApproximateDp(_message.Message):
    __slots__ = ["delta", "epsilon"]
    DELTA_FIELD_NUMBER: _ClassVar[int]
    EPSILON_FIELD_NUMBER: _ClassVar[int]
    delta: float
    epsilon: float
    def __init__(self, epsilon: _Optional[float] = ..., delta: _Optional[float] = ...) -> None: ...

class Composed(_message.Message):
    __slots__ = ["events"]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    events: _containers.RepeatedCompositeFieldContainer[Event]
    def __init__(self, events: _Optional[_Iterable[_Union[Event, _Mapping]]] = ...) -> None: ...

class DpSgd(_message.Message):
    __slots__ = ["accumulation", "batch_size", "dataset_size", "epochs", "max_grad_norm", "noise_multiplier", "steps"]
    ACCUMULATION_FIELD_NUMBER: _ClassVar[int]
    BATCH_SIZE_FIELD_NUMBER: _ClassVar[int]
    DATASET_SIZE_FIELD_NUMBER: _ClassVar[int]
    EPOCHS_FIELD_NUMBER: _ClassVar[int]
    MAX_GRAD_NORM_FIELD_NUMBER: _ClassVar[int]
    NOISE_MULTIPLIER_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    accumulation: int
    batch_size: int
    dataset_size: int
    epochs: float
    max_grad_norm: float
    noise_multiplier: float
    steps: int
    def __init__(self, noise_multiplier: _Optional[float] = ..., max_grad_norm: _Optional[float] = ..., batch_size: _Optional[int] = ..., dataset_size: _Optional[int] = ..., epochs: _Optional[float] = ..., steps: _Optional[int] = ..., accumulation: _Optional[int] = ...) -> None: ...

class Event(_message.Message):
    __slots__ = ["count", "mechanism"]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    MECHANISM_FIELD_NUMBER: _ClassVar[int]
    count: int
    mechanism: Mechanism
    def __init__(self, mechanism: _Optional[_Union[Mechanism, _Mapping]] = ..., count: _Optional[int] = ...) -> None: ...

class Gaussian(_message.Message):
    __slots__ = ["distance", "noise_multiplier", "sensitivity", "standard_deviation"]
    DISTANCE_FIELD_NUMBER: _ClassVar[int]
    NOISE_MULTIPLIER_FIELD_NUMBER: _ClassVar[int]
    SENSITIVITY_FIELD_NUMBER: _ClassVar[int]
    STANDARD_DEVIATION_FIELD_NUMBER: _ClassVar[int]
    distance: float
    noise_multiplier: float
    sensitivity: float
    standard_deviation: float
    def __init__(self, standard_deviation: _Optional[float] = ..., sensitivity: _Optional[float] = ..., distance: _Optional[float] = ..., noise_multiplier: _Optional[float] = ...) -> None: ...

class GaussianDp(_message.Message):
    __slots__ = ["mu"]
    MU_FIELD_NUMBER: _ClassVar[int]
    mu: float
    def __init__(self, mu: _Optional[float] = ...) -> None: ...

class Laplace(_message.Message):
    __slots__ = ["distance", "scale", "sensitivity"]
    DISTANCE_FIELD_NUMBER: _ClassVar[int]
    SCALE_FIELD_NUMBER: _ClassVar[int]
    SENSITIVITY_FIELD_NUMBER: _ClassVar[int]
    distance: float
    scale: float
    sensitivity: float
    def __init__(self, scale: _Optional[float] = ..., sensitivity: _Optional[float] = ..., distance: _Optional[float] = ...) -> None: ...

class Mechanism(_message.Message):
    __slots__ = ["approximate_dp", "composed", "dp_sgd", "gaussian", "gaussian_dp", "laplace", "name_and_shame", "poisson_sampled", "pure_dp", "randomized_response", "renyi_dp", "zero_concentrated_dp"]
    APPROXIMATE_DP_FIELD_NUMBER: _ClassVar[int]
    COMPOSED_FIELD_NUMBER: _ClassVar[int]
    DP_SGD_FIELD_NUMBER: _ClassVar[int]
    GAUSSIAN_DP_FIELD_NUMBER: _ClassVar[int]
    GAUSSIAN_FIELD_NUMBER: _ClassVar[int]
    LAPLACE_FIELD_NUMBER: _ClassVar[int]
    NAME_AND_SHAME_FIELD_NUMBER: _ClassVar[int]
    POISSON_SAMPLED_FIELD_NUMBER: _ClassVar[int]
    PURE_DP_FIELD_NUMBER: _ClassVar[int]
    RANDOMIZED_RESPONSE_FIELD_NUMBER: _ClassVar[int]
    RENYI_DP_FIELD_NUMBER: _ClassVar[int]
    ZERO_CONCENTRATED_DP_FIELD_NUMBER: _ClassVar[int]
    approximate_dp: ApproximateDp
    composed: Composed
    dp_sgd: DpSgd
    gaussian: Gaussian
    gaussian_dp: GaussianDp
    laplace: Laplace
    name_and_shame: NameAndShame
    poisson_sampled: PoissonSampled
    pure_dp: PureDp
    randomized_response: RandomizedResponse
    renyi_dp: RenyiDp
    zero_concentrated_dp: ZeroConcentratedDp
    def __init__(self, gaussian: _Optional[_Union[Gaussian, _Mapping]] = ..., laplace: _Optional[_Union[Laplace, _Mapping]] = ..., poisson_sampled: _Optional[_Union[PoissonSampled, _Mapping]] = ..., randomized_response: _Optional[_Union[RandomizedResponse, _Mapping]] = ..., pure_dp: _Optional[_Union[PureDp, _Mapping]] = ..., approximate_dp: _Optional[_Union[ApproximateDp, _Mapping]] = ..., zero_concentrated_dp: _Optional[_Union[ZeroConcentratedDp, _Mapping]] = ..., gaussian_dp: _Optional[_Union[GaussianDp, _Mapping]] = ..., renyi_dp: _Optional[_Union[RenyiDp, _Mapping]] = ..., name_and_shame: _Optional[_Union[NameAndShame, _Mapping]] = ..., composed: _Optional[_Union[Composed, _Mapping]] = ..., dp_sgd: _Optional[_Union[DpSgd, _Mapping]] = ...) -> None: ...

class NameAndShame(_message.Message):
    __slots__ = ["delta"]
    DELTA_FIELD_NUMBER: _ClassVar[int]
    delta: float
    def __init__(self, delta: _Optional[float] = ...) -> None: ...

class PoissonSampled(_message.Message):
    __slots__ = ["batch_size", "dataset_size", "mechanism", "sampling_probability"]
    BATCH_SIZE_FIELD_NUMBER: _ClassVar[int]
    DATASET_SIZE_FIELD_NUMBER: _ClassVar[int]
    MECHANISM_FIELD_NUMBER: _ClassVar[int]
    SAMPLING_PROBABILITY_FIELD_NUMBER: _ClassVar[int]
    batch_size: int
    dataset_size: int
    mechanism: Mechanism
    sampling_probability: float
    def __init__(self, sampling_probability: _Optional[float] = ..., batch_size: _Optional[int] = ..., dataset_size: _Optional[int] = ..., mechanism: _Optional[_Union[Mechanism, _Mapping]] = ...) -> None: ...

class PureDp(_message.Message):
    __slots__ = ["epsilon"]
    EPSILON_FIELD_NUMBER: _ClassVar[int]
    epsilon: float
    def __init__(self, epsilon: _Optional[float] = ...) -> None: ...

class RandomizedResponse(_message.Message):
    __slots__ = ["buckets", "epsilon", "noise"]
    BUCKETS_FIELD_NUMBER: _ClassVar[int]
    EPSILON_FIELD_NUMBER: _ClassVar[int]
    NOISE_FIELD_NUMBER: _ClassVar[int]
    buckets: int
    epsilon: float
    noise: float
    def __init__(self, epsilon: _Optional[float] = ..., noise: _Optional[float] = ..., buckets: _Optional[int] = ...) -> None: ...

class RenyiDp(_message.Message):
    __slots__ = ["epsilons", "orders"]
    EPSILONS_FIELD_NUMBER: _ClassVar[int]
    ORDERS_FIELD_NUMBER: _ClassVar[int]
    epsilons: _containers.RepeatedScalarFieldContainer[float]
    orders: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, orders: _Optional[_Iterable[float]] = ..., epsilons: _Optional[_Iterable[float]] = ...) -> None: ...

class Workload(_message.Message):
    __slots__ = ["adjacency", "events", "name"]
    class Adjacency(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = []
    ADD_OR_REMOVE_ONE: Workload.Adjacency
    ADJACENCY_FIELD_NUMBER: _ClassVar[int]
    ADJACENCY_UNSPECIFIED: Workload.Adjacency
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    REPLACE_ONE: Workload.Adjacency
    ZERO_OUT: Workload.Adjacency
    adjacency: Workload.Adjacency
    events: _containers.RepeatedCompositeFieldContainer[Event]
    name: str
    def __init__(self, name: _Optional[str] = ..., adjacency: _Optional[_Union[Workload.Adjacency, str]] = ..., events: _Optional[_Iterable[_Union[Event, _Mapping]]] = ...) -> None: ...

class ZeroConcentratedDp(_message.Message):
    __slots__ = ["delta", "rho"]
    DELTA_FIELD_NUMBER: _ClassVar[int]
    RHO_FIELD_NUMBER: _ClassVar[int]
    delta: float
    rho: float
    def __init__(self, rho: _Optional[float] = ..., delta: _Optional[float] = ...) -> None: ...
