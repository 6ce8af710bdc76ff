from . import ledger_pb2 as _ledger_pb2
from . import mechanism_pb2 as _mechanism_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class CalibrateRequest(_message.Message):
    __slots__ = ["event", "ledger", "solve", "target_advantage", "target_alpha", "target_beta", "target_delta", "target_epsilon", "target_mu", "workload"]
    class Solve(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = []
    COUNT: CalibrateRequest.Solve
    EVENT_FIELD_NUMBER: _ClassVar[int]
    LEDGER_FIELD_NUMBER: _ClassVar[int]
    SAMPLING_PROBABILITY: CalibrateRequest.Solve
    SOLVE_FIELD_NUMBER: _ClassVar[int]
    SOLVE_UNSPECIFIED: CalibrateRequest.Solve
    STANDARD_DEVIATION: CalibrateRequest.Solve
    TARGET_ADVANTAGE_FIELD_NUMBER: _ClassVar[int]
    TARGET_ALPHA_FIELD_NUMBER: _ClassVar[int]
    TARGET_BETA_FIELD_NUMBER: _ClassVar[int]
    TARGET_DELTA_FIELD_NUMBER: _ClassVar[int]
    TARGET_EPSILON_FIELD_NUMBER: _ClassVar[int]
    TARGET_MU_FIELD_NUMBER: _ClassVar[int]
    WORKLOAD_FIELD_NUMBER: _ClassVar[int]
    event: _mechanism_pb2.Event
    ledger: str
    solve: CalibrateRequest.Solve
    target_advantage: float
    target_alpha: float
    target_beta: float
    target_delta: float
    target_epsilon: float
    target_mu: float
    workload: _mechanism_pb2.Workload
    def __init__(self, ledger: _Optional[str] = ..., workload: _Optional[_Union[_mechanism_pb2.Workload, _Mapping]] = ..., event: _Optional[_Union[_mechanism_pb2.Event, _Mapping]] = ..., solve: _Optional[_Union[CalibrateRequest.Solve, str]] = ..., target_epsilon: _Optional[float] = ..., target_delta: _Optional[float] = ..., target_mu: _Optional[float] = ..., target_advantage: _Optional[float] = ..., target_alpha: _Optional[float] = ..., target_beta: _Optional[float] = ...) -> None: ...

class CalibrateResponse(_message.Message):
    __slots__ = ["advantage", "analysis", "assumptions", "beta", "delta", "epsilon", "epsilon_lower", "event", "exceeding_value", "field", "guarantee", "mu", "position", "refusal", "target_value", "value", "warnings"]
    ADVANTAGE_FIELD_NUMBER: _ClassVar[int]
    ANALYSIS_FIELD_NUMBER: _ClassVar[int]
    ASSUMPTIONS_FIELD_NUMBER: _ClassVar[int]
    BETA_FIELD_NUMBER: _ClassVar[int]
    DELTA_FIELD_NUMBER: _ClassVar[int]
    EPSILON_FIELD_NUMBER: _ClassVar[int]
    EPSILON_LOWER_FIELD_NUMBER: _ClassVar[int]
    EVENT_FIELD_NUMBER: _ClassVar[int]
    EXCEEDING_VALUE_FIELD_NUMBER: _ClassVar[int]
    FIELD_FIELD_NUMBER: _ClassVar[int]
    GUARANTEE_FIELD_NUMBER: _ClassVar[int]
    MU_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    REFUSAL_FIELD_NUMBER: _ClassVar[int]
    TARGET_VALUE_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    advantage: float
    analysis: str
    assumptions: _containers.RepeatedCompositeFieldContainer[_ledger_pb2.Assumption]
    beta: float
    delta: float
    epsilon: float
    epsilon_lower: float
    event: _mechanism_pb2.Event
    exceeding_value: float
    field: str
    guarantee: str
    mu: float
    position: int
    refusal: str
    target_value: float
    value: float
    warnings: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, field: _Optional[str] = ..., value: _Optional[float] = ..., exceeding_value: _Optional[float] = ..., event: _Optional[_Union[_mechanism_pb2.Event, _Mapping]] = ..., epsilon: _Optional[float] = ..., epsilon_lower: _Optional[float] = ..., delta: _Optional[float] = ..., analysis: _Optional[str] = ..., guarantee: _Optional[str] = ..., position: _Optional[int] = ..., warnings: _Optional[_Iterable[str]] = ..., assumptions: _Optional[_Iterable[_Union[_ledger_pb2.Assumption, _Mapping]]] = ..., mu: _Optional[float] = ..., advantage: _Optional[float] = ..., beta: _Optional[float] = ..., target_value: _Optional[float] = ..., refusal: _Optional[str] = ...) -> None: ...
