"""Mechanisms: what was run, never what it costs.

A mechanism is made from the API's own description: the function's name is its kind,
keyword arguments are its fields, with the API's units and ranges. What is not a field
fails at once; ranges are the daemon's to check.

    step = poisson_sampled(gaussian(noise_multiplier=1.1), sampling_probability=0.01)

Every kind of this package's API has a function here; those without a signature of
their own take any of their fields: `mechanisms.<kind>(**fields)`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, TypeVar, Union, cast

from google.protobuf.descriptor import FieldDescriptor

from . import proto as pb

Mechanism = pb.Mechanism
Event = pb.Event
Workload = pb.Workload
# What counts as events: a mechanism (once), an event, a pair (mechanism, count), or several of these.
Events = Union[pb.Mechanism, pb.Event, tuple[pb.Mechanism, int], Iterable[Union[pb.Mechanism, pb.Event, tuple[pb.Mechanism, int]]]]

_M = TypeVar("_M")
_KINDS = {f.name: f for f in pb.Mechanism.DESCRIPTOR.oneofs_by_name["kind"].fields}


def kinds() -> list[str]:
    """The kinds of mechanism that this package's API has."""
    return sorted(_KINDS)


def mechanism(kind: str, /, **fields: Any) -> pb.Mechanism:
    """A mechanism of any kind; fields that are None are absent."""
    if kind not in _KINDS:
        raise ValueError(f"mechanism: {kind!r}; allowed: {', '.join(kinds())}")
    out = pb.Mechanism()
    inner = getattr(out, kind)
    inner.SetInParent()
    fill(inner, kind, fields)
    return out


def gaussian(
    *, noise_multiplier: float | None = None, standard_deviation: float | None = None, sensitivity: float | None = None,
    distance: float | None = None,
) -> pb.Mechanism:
    """Normal noise on each coordinate: noise_multiplier = σ/Δ alone, or standard_deviation
    with sensitivity (the ℓ2 norm of one record's contribution) or with distance."""
    return mechanism("gaussian", noise_multiplier=noise_multiplier, standard_deviation=standard_deviation, sensitivity=sensitivity,
                     distance=distance)


def laplace(*, scale: float, sensitivity: float | None = None, distance: float | None = None) -> pb.Mechanism:
    """Noise of density exp(−|x|/scale)/(2·scale) on each coordinate; sensitivity and distance are ℓ1 norms."""
    return mechanism("laplace", scale=scale, sensitivity=sensitivity, distance=distance)


def poisson_sampled(
    inner: pb.Mechanism, *, sampling_probability: float | None = None, batch_size: int | None = None,
    dataset_size: int | None = None,
) -> pb.Mechanism:
    """inner on a fresh batch that holds each record independently with sampling_probability,
    or with batch_size/dataset_size, both public."""
    return mechanism("poisson_sampled", mechanism=inner, sampling_probability=sampling_probability, batch_size=batch_size,
                     dataset_size=dataset_size)


def randomized_response(*, epsilon: float | None = None, noise: float | None = None, buckets: int | None = None) -> pb.Mechanism:
    """The true one of `buckets` answers with a higher probability: by epsilon, or by the probability noise of a uniform one."""
    return mechanism("randomized_response", epsilon=epsilon, noise=noise, buckets=buckets)


def pure_dp(*, epsilon: float) -> pb.Mechanism:
    """A declared guarantee: any ε-differentially private mechanism."""
    return mechanism("pure_dp", epsilon=epsilon)


def approximate_dp(*, epsilon: float, delta: float) -> pb.Mechanism:
    """A declared guarantee: any (ε, δ)-differentially private mechanism."""
    return mechanism("approximate_dp", epsilon=epsilon, delta=delta)


def zero_concentrated_dp(*, rho: float, delta: float | None = None) -> pb.Mechanism:
    """A declared guarantee: any ρ-zCDP mechanism, or with delta any δ-approximately ρ-zCDP one."""
    return mechanism("zero_concentrated_dp", rho=rho, delta=delta)


def gaussian_dp(*, mu: float) -> pb.Mechanism:
    """A declared guarantee: any μ-GDP mechanism."""
    return mechanism("gaussian_dp", mu=mu)


def __getattr__(name: str) -> Callable[..., pb.Mechanism]:
    if name in _KINDS:
        return partial(mechanism, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_KINDS})


def event(what: pb.Mechanism, count: int = 1) -> pb.Event:
    """A mechanism applied count times, 1 to 4294967295."""
    return pb.Event(mechanism=what, count=count)


def events(what: Events) -> list[pb.Event]:
    """Copies of what, as events."""
    if isinstance(what, pb.Mechanism):
        return [event(what)]
    if isinstance(what, pb.Event):
        return [event(what.mechanism, what.count)]
    if isinstance(what, tuple) and len(what) == 2 and isinstance(what[0], pb.Mechanism) and not isinstance(what[1], (pb.Mechanism, pb.Event, tuple)):
        return [event(what[0], int(what[1]))]
    if not isinstance(what, Iterable) or isinstance(what, (str, bytes)):
        raise TypeError(f"events: {what!r}; allowed: a mechanism, an event, a pair (mechanism, count), or several of these")
    return [e for one in what for e in events(cast("Events", one))]


def workload(what: Events = (), *, adjacency: str | int = 0, name: str = "") -> pb.Workload:
    """Events on one dataset, in no ledger. adjacency: "add-or-remove-one", "replace-one" or "zero-out"."""
    return fill(pb.Workload(), "workload", {"name": name, "adjacency": adjacency, "events": events(what)})


def fill(message: _M, path: str, fields: Mapping[str, Any]) -> _M:
    """Sets a message's fields by name: None is absent, mappings are messages, names are
    enum values. What is not a field, or contradicts another one, is a TypeError."""
    known = message.DESCRIPTOR.fields_by_name  # type: ignore[attr-defined]
    for name, value in fields.items():
        if name not in known:
            raise TypeError(f"{path}: {name!r} is not a field; allowed: {', '.join(known) or 'none'}")
        if value is None:
            continue
        field, place = known[name], f"{path}.{name}"
        choice = field.containing_oneof
        if choice is not None and len(choice.fields) > 1 and message.WhichOneof(choice.name) not in (None, name):  # type: ignore[attr-defined]
            raise TypeError(f"{path}: {message.WhichOneof(choice.name)} and {name}; allowed: one of {', '.join(f.name for f in choice.fields)}")  # type: ignore[attr-defined]
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            getattr(message, name).update(value)
        elif _repeated(field):
            items = [_value(field, place, v) for v in value]
            getattr(message, name).extend(items)
        elif field.message_type is not None:
            inner = getattr(message, name)
            inner.SetInParent()
            inner.CopyFrom(_value(field, place, value))
        else:
            setattr(message, name, _value(field, place, value))
    return message


def _repeated(field: Any) -> bool:
    if hasattr(field, "is_repeated"):  # protobuf 6; before it, label, which later goes
        return bool(field.is_repeated)
    return bool(field.label == FieldDescriptor.LABEL_REPEATED)


def _value(field: Any, place: str, value: Any) -> Any:
    if field.message_type is not None:
        kind = getattr(pb, field.message_type.name, None)
        if kind is None or isinstance(value, kind):
            return value
        if kind is pb.Event:
            (value,) = events(value)
            return value
        if kind is pb.Workload and not isinstance(value, Mapping):
            return workload(value)
        return fill(kind(), place, value)
    if field.enum_type is not None:
        return enum_value(field.enum_type, place, value)
    if field.cpp_type in (FieldDescriptor.CPPTYPE_DOUBLE, FieldDescriptor.CPPTYPE_FLOAT):
        return float(value)  # also of NumPy's and other libraries' scalars
    return value


def enum_value(kind: Any, place: str, value: Any) -> int:
    """An enum's number by its name, in either spelling: ADD_OR_REMOVE_ONE, add-or-remove-one."""
    if isinstance(value, str):
        name = value.upper().replace("-", "_")
        if name not in kind.values_by_name:
            allowed = ", ".join(v.name for v in kind.values if not v.name.endswith("UNSPECIFIED"))
            raise ValueError(f"{place}: {value!r}; allowed: {allowed}")
        return int(kind.values_by_name[name].number)
    return int(value)
