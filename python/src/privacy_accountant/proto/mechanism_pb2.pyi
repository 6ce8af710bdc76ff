from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class AboveThreshold(_message.Message):
    __slots__ = ["monotone", "positives", "query_epsilon", "query_scale", "sensitivity", "threshold_epsilon", "threshold_scale"]
    MONOTONE_FIELD_NUMBER: _ClassVar[int]
    POSITIVES_FIELD_NUMBER: _ClassVar[int]
    QUERY_EPSILON_FIELD_NUMBER: _ClassVar[int]
    QUERY_SCALE_FIELD_NUMBER: _ClassVar[int]
    SENSITIVITY_FIELD_NUMBER: _ClassVar[int]
    THRESHOLD_EPSILON_FIELD_NUMBER: _ClassVar[int]
    THRESHOLD_SCALE_FIELD_NUMBER: _ClassVar[int]
    monotone: bool
    positives: int
    query_epsilon: float
    query_scale: float
    sensitivity: float
    threshold_epsilon: float
    threshold_scale: float
    def __init__(self, threshold_epsilon: _Optional[float] = ..., query_epsilon: _Optional[float] = ..., threshold_scale: _Optional[float] = ..., query_scale: _Optional[float] = ..., sensitivity: _Optional[float] = ..., positives: _Optional[int] = ..., monotone: bool = ...) -> None: ...

class AllocatedMatrix(_message.Message):
    __slots__ = ["coefficients", "noise_multiplier", "period", "sensitivity", "standard_deviation", "steps"]
    COEFFICIENTS_FIELD_NUMBER: _ClassVar[int]
    NOISE_MULTIPLIER_FIELD_NUMBER: _ClassVar[int]
    PERIOD_FIELD_NUMBER: _ClassVar[int]
    SENSITIVITY_FIELD_NUMBER: _ClassVar[int]
    STANDARD_DEVIATION_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    coefficients: _containers.RepeatedScalarFieldContainer[float]
    noise_multiplier: float
    period: int
    sensitivity: float
    standard_deviation: float
    steps: int
    def __init__(self, standard_deviation: _Optional[float] = ..., sensitivity: _Optional[float] = ..., noise_multiplier: _Optional[float] = ..., coefficients: _Optional[_Iterable[float]] = ..., steps: _Optional[int] = ..., period: _Optional[int] = ...) -> None: ...

class ApproximateDp(_message.Message):
    __slots__ = ["delta", "epsilon"]
    DELTA_FIELD_NUMBER: _ClassVar[int]
    EPSILON_FIELD_NUMBER: _ClassVar[int]
    delta: float
    epsilon: float
    def __init__(self, epsilon: _Optional[float] = ..., delta: _Optional[float] = ...) -> None: ...

class BandedMatrix(_message.Message):
    __slots__ = ["coefficients", "minimum_separation", "noise_multiplier", "participations", "sensitivity", "standard_deviation", "steps"]
    COEFFICIENTS_FIELD_NUMBER: _ClassVar[int]
    MINIMUM_SEPARATION_FIELD_NUMBER: _ClassVar[int]
    NOISE_MULTIPLIER_FIELD_NUMBER: _ClassVar[int]
    PARTICIPATIONS_FIELD_NUMBER: _ClassVar[int]
    SENSITIVITY_FIELD_NUMBER: _ClassVar[int]
    STANDARD_DEVIATION_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    coefficients: _containers.RepeatedScalarFieldContainer[float]
    minimum_separation: int
    noise_multiplier: float
    participations: int
    sensitivity: float
    standard_deviation: float
    steps: int
    def __init__(self, standard_deviation: _Optional[float] = ..., sensitivity: _Optional[float] = ..., noise_multiplier: _Optional[float] = ..., coefficients: _Optional[_Iterable[float]] = ..., steps: _Optional[int] = ..., participations: _Optional[int] = ..., minimum_separation: _Optional[int] = ...) -> None: ...

class Composed(_message.Message):
    __slots__ = ["events"]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    events: _containers.RepeatedCompositeFieldContainer[Event]
    def __init__(self, events: _Optional[_Iterable[_Union[Event, _Mapping]]] = ...) -> None: ...

class CountingQueries(_message.Message):
    __slots__ = ["queries", "rho"]
    QUERIES_FIELD_NUMBER: _ClassVar[int]
    RHO_FIELD_NUMBER: _ClassVar[int]
    queries: int
    rho: float
    def __init__(self, queries: _Optional[int] = ..., rho: _Optional[float] = ...) -> None: ...

class DiscreteGaussian(_message.Message):
    __slots__ = ["coordinates", "distance", "sensitivity", "standard_deviation"]
    COORDINATES_FIELD_NUMBER: _ClassVar[int]
    DISTANCE_FIELD_NUMBER: _ClassVar[int]
    SENSITIVITY_FIELD_NUMBER: _ClassVar[int]
    STANDARD_DEVIATION_FIELD_NUMBER: _ClassVar[int]
    coordinates: int
    distance: float
    sensitivity: float
    standard_deviation: float
    def __init__(self, standard_deviation: _Optional[float] = ..., sensitivity: _Optional[float] = ..., distance: _Optional[float] = ..., coordinates: _Optional[int] = ...) -> None: ...

class DiscreteLaplace(_message.Message):
    __slots__ = ["distance", "scale", "sensitivity"]
    DISTANCE_FIELD_NUMBER: _ClassVar[int]
    SCALE_FIELD_NUMBER: _ClassVar[int]
    SENSITIVITY_FIELD_NUMBER: _ClassVar[int]
    distance: float
    scale: float
    sensitivity: float
    def __init__(self, scale: _Optional[float] = ..., sensitivity: _Optional[float] = ..., distance: _Optional[float] = ...) -> None: ...

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

class Exponential(_message.Message):
    __slots__ = ["epsilon", "monotone", "scale", "sensitivity"]
    EPSILON_FIELD_NUMBER: _ClassVar[int]
    MONOTONE_FIELD_NUMBER: _ClassVar[int]
    SCALE_FIELD_NUMBER: _ClassVar[int]
    SENSITIVITY_FIELD_NUMBER: _ClassVar[int]
    epsilon: float
    monotone: bool
    scale: float
    sensitivity: float
    def __init__(self, epsilon: _Optional[float] = ..., scale: _Optional[float] = ..., sensitivity: _Optional[float] = ..., monotone: bool = ...) -> None: ...

class FixedSizeSampled(_message.Message):
    __slots__ = ["batch_size", "dataset_size", "mechanism"]
    BATCH_SIZE_FIELD_NUMBER: _ClassVar[int]
    DATASET_SIZE_FIELD_NUMBER: _ClassVar[int]
    MECHANISM_FIELD_NUMBER: _ClassVar[int]
    batch_size: int
    dataset_size: int
    mechanism: Mechanism
    def __init__(self, batch_size: _Optional[int] = ..., dataset_size: _Optional[int] = ..., mechanism: _Optional[_Union[Mechanism, _Mapping]] = ...) -> None: ...

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

class GeneralMatrix(_message.Message):
    __slots__ = ["coefficients", "denominator", "entries", "exponent", "minimum_separation", "noise_multiplier", "participations", "period", "sensitivity", "standard_deviation", "steps"]
    COEFFICIENTS_FIELD_NUMBER: _ClassVar[int]
    DENOMINATOR_FIELD_NUMBER: _ClassVar[int]
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    EXPONENT_FIELD_NUMBER: _ClassVar[int]
    MINIMUM_SEPARATION_FIELD_NUMBER: _ClassVar[int]
    NOISE_MULTIPLIER_FIELD_NUMBER: _ClassVar[int]
    PARTICIPATIONS_FIELD_NUMBER: _ClassVar[int]
    PERIOD_FIELD_NUMBER: _ClassVar[int]
    SENSITIVITY_FIELD_NUMBER: _ClassVar[int]
    STANDARD_DEVIATION_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    coefficients: _containers.RepeatedScalarFieldContainer[float]
    denominator: _containers.RepeatedScalarFieldContainer[float]
    entries: _containers.RepeatedScalarFieldContainer[float]
    exponent: float
    minimum_separation: int
    noise_multiplier: float
    participations: int
    period: int
    sensitivity: float
    standard_deviation: float
    steps: int
    def __init__(self, standard_deviation: _Optional[float] = ..., sensitivity: _Optional[float] = ..., noise_multiplier: _Optional[float] = ..., entries: _Optional[_Iterable[float]] = ..., coefficients: _Optional[_Iterable[float]] = ..., denominator: _Optional[_Iterable[float]] = ..., exponent: _Optional[float] = ..., steps: _Optional[int] = ..., participations: _Optional[int] = ..., minimum_separation: _Optional[int] = ..., period: _Optional[int] = ...) -> None: ...

class Group(_message.Message):
    __slots__ = ["mechanism", "size"]
    MECHANISM_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    mechanism: Mechanism
    size: int
    def __init__(self, size: _Optional[int] = ..., mechanism: _Optional[_Union[Mechanism, _Mapping]] = ...) -> None: ...

class Histogram(_message.Message):
    __slots__ = ["laplace_scale", "standard_deviation"]
    LAPLACE_SCALE_FIELD_NUMBER: _ClassVar[int]
    STANDARD_DEVIATION_FIELD_NUMBER: _ClassVar[int]
    laplace_scale: float
    standard_deviation: float
    def __init__(self, laplace_scale: _Optional[float] = ..., standard_deviation: _Optional[float] = ...) -> None: ...

class InverseSensitivity(_message.Message):
    __slots__ = ["epsilon"]
    EPSILON_FIELD_NUMBER: _ClassVar[int]
    epsilon: float
    def __init__(self, epsilon: _Optional[float] = ...) -> None: ...

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
    __slots__ = ["above_threshold", "allocated_matrix", "approximate_dp", "banded_matrix", "composed", "counting_queries", "discrete_gaussian", "discrete_laplace", "dp_sgd", "exponential", "fixed_size_sampled", "gaussian", "gaussian_dp", "general_matrix", "group", "histogram", "inverse_sensitivity", "laplace", "mixture_of_gaussians", "name_and_shame", "parallel", "poisson_sampled", "privacy_loss_table", "pure_dp", "random_allocation", "randomized_response", "renyi_dp", "repeat_and_select", "report_noisy_max", "sampled_matrix", "shuffled", "shuffled_reports", "tree_aggregation", "truncated_laplace", "truncated_poisson_sampled", "zero_concentrated_dp"]
    ABOVE_THRESHOLD_FIELD_NUMBER: _ClassVar[int]
    ALLOCATED_MATRIX_FIELD_NUMBER: _ClassVar[int]
    APPROXIMATE_DP_FIELD_NUMBER: _ClassVar[int]
    BANDED_MATRIX_FIELD_NUMBER: _ClassVar[int]
    COMPOSED_FIELD_NUMBER: _ClassVar[int]
    COUNTING_QUERIES_FIELD_NUMBER: _ClassVar[int]
    DISCRETE_GAUSSIAN_FIELD_NUMBER: _ClassVar[int]
    DISCRETE_LAPLACE_FIELD_NUMBER: _ClassVar[int]
    DP_SGD_FIELD_NUMBER: _ClassVar[int]
    EXPONENTIAL_FIELD_NUMBER: _ClassVar[int]
    FIXED_SIZE_SAMPLED_FIELD_NUMBER: _ClassVar[int]
    GAUSSIAN_DP_FIELD_NUMBER: _ClassVar[int]
    GAUSSIAN_FIELD_NUMBER: _ClassVar[int]
    GENERAL_MATRIX_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    HISTOGRAM_FIELD_NUMBER: _ClassVar[int]
    INVERSE_SENSITIVITY_FIELD_NUMBER: _ClassVar[int]
    LAPLACE_FIELD_NUMBER: _ClassVar[int]
    MIXTURE_OF_GAUSSIANS_FIELD_NUMBER: _ClassVar[int]
    NAME_AND_SHAME_FIELD_NUMBER: _ClassVar[int]
    PARALLEL_FIELD_NUMBER: _ClassVar[int]
    POISSON_SAMPLED_FIELD_NUMBER: _ClassVar[int]
    PRIVACY_LOSS_TABLE_FIELD_NUMBER: _ClassVar[int]
    PURE_DP_FIELD_NUMBER: _ClassVar[int]
    RANDOMIZED_RESPONSE_FIELD_NUMBER: _ClassVar[int]
    RANDOM_ALLOCATION_FIELD_NUMBER: _ClassVar[int]
    RENYI_DP_FIELD_NUMBER: _ClassVar[int]
    REPEAT_AND_SELECT_FIELD_NUMBER: _ClassVar[int]
    REPORT_NOISY_MAX_FIELD_NUMBER: _ClassVar[int]
    SAMPLED_MATRIX_FIELD_NUMBER: _ClassVar[int]
    SHUFFLED_FIELD_NUMBER: _ClassVar[int]
    SHUFFLED_REPORTS_FIELD_NUMBER: _ClassVar[int]
    TREE_AGGREGATION_FIELD_NUMBER: _ClassVar[int]
    TRUNCATED_LAPLACE_FIELD_NUMBER: _ClassVar[int]
    TRUNCATED_POISSON_SAMPLED_FIELD_NUMBER: _ClassVar[int]
    ZERO_CONCENTRATED_DP_FIELD_NUMBER: _ClassVar[int]
    above_threshold: AboveThreshold
    allocated_matrix: AllocatedMatrix
    approximate_dp: ApproximateDp
    banded_matrix: BandedMatrix
    composed: Composed
    counting_queries: CountingQueries
    discrete_gaussian: DiscreteGaussian
    discrete_laplace: DiscreteLaplace
    dp_sgd: DpSgd
    exponential: Exponential
    fixed_size_sampled: FixedSizeSampled
    gaussian: Gaussian
    gaussian_dp: GaussianDp
    general_matrix: GeneralMatrix
    group: Group
    histogram: Histogram
    inverse_sensitivity: InverseSensitivity
    laplace: Laplace
    mixture_of_gaussians: MixtureOfGaussians
    name_and_shame: NameAndShame
    parallel: Parallel
    poisson_sampled: PoissonSampled
    privacy_loss_table: PrivacyLossTable
    pure_dp: PureDp
    random_allocation: RandomAllocation
    randomized_response: RandomizedResponse
    renyi_dp: RenyiDp
    repeat_and_select: RepeatAndSelect
    report_noisy_max: ReportNoisyMax
    sampled_matrix: SampledMatrix
    shuffled: Shuffled
    shuffled_reports: ShuffledReports
    tree_aggregation: TreeAggregation
    truncated_laplace: TruncatedLaplace
    truncated_poisson_sampled: TruncatedPoissonSampled
    zero_concentrated_dp: ZeroConcentratedDp
    def __init__(self, gaussian: _Optional[_Union[Gaussian, _Mapping]] = ..., laplace: _Optional[_Union[Laplace, _Mapping]] = ..., poisson_sampled: _Optional[_Union[PoissonSampled, _Mapping]] = ..., randomized_response: _Optional[_Union[RandomizedResponse, _Mapping]] = ..., pure_dp: _Optional[_Union[PureDp, _Mapping]] = ..., approximate_dp: _Optional[_Union[ApproximateDp, _Mapping]] = ..., zero_concentrated_dp: _Optional[_Union[ZeroConcentratedDp, _Mapping]] = ..., gaussian_dp: _Optional[_Union[GaussianDp, _Mapping]] = ..., discrete_gaussian: _Optional[_Union[DiscreteGaussian, _Mapping]] = ..., discrete_laplace: _Optional[_Union[DiscreteLaplace, _Mapping]] = ..., truncated_laplace: _Optional[_Union[TruncatedLaplace, _Mapping]] = ..., exponential: _Optional[_Union[Exponential, _Mapping]] = ..., report_noisy_max: _Optional[_Union[ReportNoisyMax, _Mapping]] = ..., above_threshold: _Optional[_Union[AboveThreshold, _Mapping]] = ..., inverse_sensitivity: _Optional[_Union[InverseSensitivity, _Mapping]] = ..., histogram: _Optional[_Union[Histogram, _Mapping]] = ..., counting_queries: _Optional[_Union[CountingQueries, _Mapping]] = ..., renyi_dp: _Optional[_Union[RenyiDp, _Mapping]] = ..., privacy_loss_table: _Optional[_Union[PrivacyLossTable, _Mapping]] = ..., name_and_shame: _Optional[_Union[NameAndShame, _Mapping]] = ..., composed: _Optional[_Union[Composed, _Mapping]] = ..., parallel: _Optional[_Union[Parallel, _Mapping]] = ..., repeat_and_select: _Optional[_Union[RepeatAndSelect, _Mapping]] = ..., dp_sgd: _Optional[_Union[DpSgd, _Mapping]] = ..., group: _Optional[_Union[Group, _Mapping]] = ..., fixed_size_sampled: _Optional[_Union[FixedSizeSampled, _Mapping]] = ..., truncated_poisson_sampled: _Optional[_Union[TruncatedPoissonSampled, _Mapping]] = ..., shuffled: _Optional[_Union[Shuffled, _Mapping]] = ..., mixture_of_gaussians: _Optional[_Union[MixtureOfGaussians, _Mapping]] = ..., tree_aggregation: _Optional[_Union[TreeAggregation, _Mapping]] = ..., banded_matrix: _Optional[_Union[BandedMatrix, _Mapping]] = ..., random_allocation: _Optional[_Union[RandomAllocation, _Mapping]] = ..., general_matrix: _Optional[_Union[GeneralMatrix, _Mapping]] = ..., sampled_matrix: _Optional[_Union[SampledMatrix, _Mapping]] = ..., allocated_matrix: _Optional[_Union[AllocatedMatrix, _Mapping]] = ..., shuffled_reports: _Optional[_Union[ShuffledReports, _Mapping]] = ...) -> None: ...

class MixtureOfGaussians(_message.Message):
    __slots__ = ["probabilities", "sensitivities", "standard_deviation"]
    PROBABILITIES_FIELD_NUMBER: _ClassVar[int]
    SENSITIVITIES_FIELD_NUMBER: _ClassVar[int]
    STANDARD_DEVIATION_FIELD_NUMBER: _ClassVar[int]
    probabilities: _containers.RepeatedScalarFieldContainer[float]
    sensitivities: _containers.RepeatedScalarFieldContainer[float]
    standard_deviation: float
    def __init__(self, standard_deviation: _Optional[float] = ..., sensitivities: _Optional[_Iterable[float]] = ..., probabilities: _Optional[_Iterable[float]] = ...) -> None: ...

class NameAndShame(_message.Message):
    __slots__ = ["delta"]
    DELTA_FIELD_NUMBER: _ClassVar[int]
    delta: float
    def __init__(self, delta: _Optional[float] = ...) -> None: ...

class Parallel(_message.Message):
    __slots__ = ["partition_fixed_in_advance", "parts"]
    PARTITION_FIXED_IN_ADVANCE_FIELD_NUMBER: _ClassVar[int]
    PARTS_FIELD_NUMBER: _ClassVar[int]
    partition_fixed_in_advance: bool
    parts: _containers.RepeatedCompositeFieldContainer[Mechanism]
    def __init__(self, parts: _Optional[_Iterable[_Union[Mechanism, _Mapping]]] = ..., partition_fixed_in_advance: bool = ...) -> None: ...

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

class PrivacyLossTable(_message.Message):
    __slots__ = ["infinite_mass", "losses", "masses"]
    INFINITE_MASS_FIELD_NUMBER: _ClassVar[int]
    LOSSES_FIELD_NUMBER: _ClassVar[int]
    MASSES_FIELD_NUMBER: _ClassVar[int]
    infinite_mass: float
    losses: _containers.RepeatedScalarFieldContainer[float]
    masses: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, losses: _Optional[_Iterable[float]] = ..., masses: _Optional[_Iterable[float]] = ..., infinite_mass: _Optional[float] = ...) -> None: ...

class PureDp(_message.Message):
    __slots__ = ["epsilon"]
    EPSILON_FIELD_NUMBER: _ClassVar[int]
    epsilon: float
    def __init__(self, epsilon: _Optional[float] = ...) -> None: ...

class RandomAllocation(_message.Message):
    __slots__ = ["mechanism", "passes", "selected", "steps"]
    MECHANISM_FIELD_NUMBER: _ClassVar[int]
    PASSES_FIELD_NUMBER: _ClassVar[int]
    SELECTED_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    mechanism: Mechanism
    passes: int
    selected: int
    steps: int
    def __init__(self, steps: _Optional[int] = ..., selected: _Optional[int] = ..., passes: _Optional[int] = ..., mechanism: _Optional[_Union[Mechanism, _Mapping]] = ...) -> None: ...

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

class RepeatAndSelect(_message.Message):
    __slots__ = ["eta", "first_above_threshold", "gamma", "mean", "mechanism"]
    ETA_FIELD_NUMBER: _ClassVar[int]
    FIRST_ABOVE_THRESHOLD_FIELD_NUMBER: _ClassVar[int]
    GAMMA_FIELD_NUMBER: _ClassVar[int]
    MEAN_FIELD_NUMBER: _ClassVar[int]
    MECHANISM_FIELD_NUMBER: _ClassVar[int]
    eta: float
    first_above_threshold: bool
    gamma: float
    mean: float
    mechanism: Mechanism
    def __init__(self, mechanism: _Optional[_Union[Mechanism, _Mapping]] = ..., gamma: _Optional[float] = ..., eta: _Optional[float] = ..., mean: _Optional[float] = ..., first_above_threshold: bool = ...) -> None: ...

class ReportNoisyMax(_message.Message):
    __slots__ = ["distribution", "epsilon", "monotone", "scale", "sensitivity"]
    class Distribution(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = []
    DISTRIBUTION_FIELD_NUMBER: _ClassVar[int]
    DISTRIBUTION_UNSPECIFIED: ReportNoisyMax.Distribution
    EPSILON_FIELD_NUMBER: _ClassVar[int]
    EXPONENTIAL: ReportNoisyMax.Distribution
    GUMBEL: ReportNoisyMax.Distribution
    LAPLACE: ReportNoisyMax.Distribution
    MONOTONE_FIELD_NUMBER: _ClassVar[int]
    SCALE_FIELD_NUMBER: _ClassVar[int]
    SENSITIVITY_FIELD_NUMBER: _ClassVar[int]
    distribution: ReportNoisyMax.Distribution
    epsilon: float
    monotone: bool
    scale: float
    sensitivity: float
    def __init__(self, distribution: _Optional[_Union[ReportNoisyMax.Distribution, str]] = ..., epsilon: _Optional[float] = ..., scale: _Optional[float] = ..., sensitivity: _Optional[float] = ..., monotone: bool = ...) -> None: ...

class SampledMatrix(_message.Message):
    __slots__ = ["coefficients", "groups", "noise_multiplier", "sampling_probability", "sensitivity", "standard_deviation", "steps"]
    COEFFICIENTS_FIELD_NUMBER: _ClassVar[int]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    NOISE_MULTIPLIER_FIELD_NUMBER: _ClassVar[int]
    SAMPLING_PROBABILITY_FIELD_NUMBER: _ClassVar[int]
    SENSITIVITY_FIELD_NUMBER: _ClassVar[int]
    STANDARD_DEVIATION_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    coefficients: _containers.RepeatedScalarFieldContainer[float]
    groups: int
    noise_multiplier: float
    sampling_probability: float
    sensitivity: float
    standard_deviation: float
    steps: int
    def __init__(self, standard_deviation: _Optional[float] = ..., sensitivity: _Optional[float] = ..., noise_multiplier: _Optional[float] = ..., coefficients: _Optional[_Iterable[float]] = ..., steps: _Optional[int] = ..., groups: _Optional[int] = ..., sampling_probability: _Optional[float] = ...) -> None: ...

class Shuffled(_message.Message):
    __slots__ = ["batch_size", "dataset_size", "mechanism"]
    BATCH_SIZE_FIELD_NUMBER: _ClassVar[int]
    DATASET_SIZE_FIELD_NUMBER: _ClassVar[int]
    MECHANISM_FIELD_NUMBER: _ClassVar[int]
    batch_size: int
    dataset_size: int
    mechanism: Mechanism
    def __init__(self, batch_size: _Optional[int] = ..., dataset_size: _Optional[int] = ..., mechanism: _Optional[_Union[Mechanism, _Mapping]] = ...) -> None: ...

class ShuffledReports(_message.Message):
    __slots__ = ["mechanism", "reports"]
    MECHANISM_FIELD_NUMBER: _ClassVar[int]
    REPORTS_FIELD_NUMBER: _ClassVar[int]
    mechanism: Mechanism
    reports: int
    def __init__(self, reports: _Optional[int] = ..., mechanism: _Optional[_Union[Mechanism, _Mapping]] = ...) -> None: ...

class TreeAggregation(_message.Message):
    __slots__ = ["minimum_separation", "noise_multiplier", "participations", "sensitivity", "standard_deviation", "steps"]
    MINIMUM_SEPARATION_FIELD_NUMBER: _ClassVar[int]
    NOISE_MULTIPLIER_FIELD_NUMBER: _ClassVar[int]
    PARTICIPATIONS_FIELD_NUMBER: _ClassVar[int]
    SENSITIVITY_FIELD_NUMBER: _ClassVar[int]
    STANDARD_DEVIATION_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    minimum_separation: int
    noise_multiplier: float
    participations: int
    sensitivity: float
    standard_deviation: float
    steps: int
    def __init__(self, standard_deviation: _Optional[float] = ..., sensitivity: _Optional[float] = ..., noise_multiplier: _Optional[float] = ..., steps: _Optional[int] = ..., participations: _Optional[int] = ..., minimum_separation: _Optional[int] = ...) -> None: ...

class TruncatedLaplace(_message.Message):
    __slots__ = ["bound", "distance", "scale", "sensitivity"]
    BOUND_FIELD_NUMBER: _ClassVar[int]
    DISTANCE_FIELD_NUMBER: _ClassVar[int]
    SCALE_FIELD_NUMBER: _ClassVar[int]
    SENSITIVITY_FIELD_NUMBER: _ClassVar[int]
    bound: float
    distance: float
    scale: float
    sensitivity: float
    def __init__(self, scale: _Optional[float] = ..., bound: _Optional[float] = ..., sensitivity: _Optional[float] = ..., distance: _Optional[float] = ...) -> None: ...

class TruncatedPoissonSampled(_message.Message):
    __slots__ = ["batch_size", "dataset_size", "maximum_batch_size", "mechanism", "sampling_probability"]
    BATCH_SIZE_FIELD_NUMBER: _ClassVar[int]
    DATASET_SIZE_FIELD_NUMBER: _ClassVar[int]
    MAXIMUM_BATCH_SIZE_FIELD_NUMBER: _ClassVar[int]
    MECHANISM_FIELD_NUMBER: _ClassVar[int]
    SAMPLING_PROBABILITY_FIELD_NUMBER: _ClassVar[int]
    batch_size: int
    dataset_size: int
    maximum_batch_size: int
    mechanism: Mechanism
    sampling_probability: float
    def __init__(self, sampling_probability: _Optional[float] = ..., batch_size: _Optional[int] = ..., dataset_size: _Optional[int] = ..., maximum_batch_size: _Optional[int] = ..., mechanism: _Optional[_Union[Mechanism, _Mapping]] = ...) -> None: ...

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
