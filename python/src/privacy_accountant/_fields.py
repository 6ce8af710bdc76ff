# SPDX-License-Identifier: Apache-2.0
"""Messages of the API from keyword arguments, by the API's own description."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar, Union, cast

from google.protobuf.descriptor import FieldDescriptor

from . import proto as pb
from ._real import real
from ._whole import whole

Mechanism = pb.Mechanism
Event = pb.Event
Workload = pb.Workload
# A mechanism (once), an event, or a pair (mechanism, count).
OneEvent = Union[pb.Mechanism, pb.Event, tuple[pb.Mechanism, int]]
# What counts as events: one, or several of these.
Events = Union[OneEvent, Iterable[OneEvent]]

# What may be proposed: a message, or a mapping of its fields.
Action = Union[Mapping[str, Any], pb.Refund, pb.Free, pb.Raise, pb.Reconcile, pb.AmendDataset, None]

_M = TypeVar("_M")
_F = TypeVar("_F", bound=Callable[..., Any])
_UINT32 = 2**32 - 1
_INTEGERS = {
    FieldDescriptor.CPPTYPE_INT32: (-2**31, 2**31 - 1), FieldDescriptor.CPPTYPE_UINT32: (0, _UINT32),
    FieldDescriptor.CPPTYPE_INT64: (-2**63, 2**63 - 1), FieldDescriptor.CPPTYPE_UINT64: (0, 2**64 - 1),
}
_KINDS = {f.name: f for f in pb.Mechanism.DESCRIPTOR.oneofs_by_name["kind"].fields}


def kinds() -> list[str]:
    """The kinds of mechanism that this package's API has."""
    return sorted(_KINDS)


def mechanism(kind: str, /, **fields: Any) -> pb.Mechanism:
    """A mechanism of any kind; fields that are None are absent."""
    if kind not in _KINDS:
        near = difflib.get_close_matches(kind, kinds(), n=1)
        raise ValueError(f"mechanism: {kind!r}; allowed: "
                         f"{', '.join(kinds())}{f'; did you mean {near[0]!r}?' if near else ''}")
    out = pb.Mechanism()
    inner = getattr(out, kind)
    inner.SetInParent()
    fill(inner, kind, fields)
    return out


# What people call a parameter who know it from a paper or another library.
_OTHER_NAMES = {
    "sigma": ("noise_multiplier", "standard_deviation"), "std": ("standard_deviation",),
    "stddev": ("standard_deviation",), "sd": ("standard_deviation",), "b": ("scale",), "eps": ("epsilon",),
    "q": ("sampling_probability",), "sample_rate": ("sampling_probability",), "n": ("dataset_size",),
    "clip": ("max_grad_norm", "sensitivity"), "budget": ("budgets",), "epsilon": ("budgets",), "delta": ("budgets",),
}


def unknown(place: str, name: str, known: Iterable[str]) -> TypeError:
    """The error that a keyword is not among those that are known, with the nearest one."""
    known = list(known)
    near = [k for k in _OTHER_NAMES.get(name, ()) if k in known] or difflib.get_close_matches(name, known, n=1)
    meant = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
    return TypeError(f"{place}: {name!r} is not a field; allowed: {', '.join(known) or 'none'}{meant}")


def check_names(place: str, given: Mapping[str, Any], known: type) -> None:
    """Refuses a keyword that a TypedDict does not have."""
    for name in given:
        if name not in known.__annotations__:
            raise unknown(place, name, known.__annotations__)


def named(function: _F) -> _F:
    """function, which says what a misspelt keyword may have meant."""
    places = function.__code__.co_argcount
    known = function.__code__.co_varnames[: places + function.__code__.co_kwonlyargcount]

    @functools.wraps(function)
    def checked(*args: Any, **fields: Any) -> Any:
        if len(args) > places:
            raise TypeError(f"{function.__name__}: {args[places]!r} has no name; allowed: each parameter by its name, "
                            f"{' or '.join(f'{name}=…' for name in known[places:])}")
        for name in fields:
            if name not in known:
                raise unknown(function.__name__, name, known)
        return function(*args, **fields)

    return cast("_F", checked)


def event(what: pb.Mechanism, count: int = 1) -> pb.Event:
    """A mechanism applied count times, 1 to 4294967295."""
    return pb.Event(mechanism=what, count=whole("count", count, most=_UINT32))


def events(what: Events) -> list[pb.Event]:
    """Copies of what, as events."""
    if isinstance(what, pb.Mechanism):
        return [event(what)]
    if isinstance(what, pb.Event):
        return [event(what.mechanism, what.count)]
    if isinstance(what, tuple) and len(what) == 2 and isinstance(what[0], pb.Mechanism) and not isinstance(
            what[1], (pb.Mechanism, pb.Event, tuple)):
        return [event(*what)]
    if not isinstance(what, Iterable) or isinstance(what, (str, bytes)):
        raise TypeError(f"events: {what!r}; allowed: a mechanism, an event, a pair (mechanism, count), or several of "
                        "these")
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
            raise unknown(path, name, known)
        if value is None:
            continue
        field, place = known[name], f"{path}.{name}"
        choice = field.containing_oneof
        if choice is not None and len(choice.fields) > 1:
            given = message.WhichOneof(choice.name)  # type: ignore[attr-defined]
            if given not in (None, name):
                allowed = ", ".join(f.name for f in choice.fields)
                raise TypeError(f"{path}: {given} and {name}; allowed: one of {allowed}")
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            getattr(message, name).update(texts(place, value))
        elif _repeated(field):
            of_events = field.message_type is not None and field.message_type.name == "Event"
            if isinstance(value, (Mapping, str)) and not of_events:
                raise TypeError(f"{place}: {value!r}; allowed: a list, such as [{value!r}]")
            if not isinstance(value, Iterable):
                raise TypeError(f"{place}: {value!r}; allowed: a list, such as [{value!r}]")
            getattr(message, name).extend(events(value) if of_events else [_value(field, place, v) for v in value])
        elif field.message_type is not None:
            inner = getattr(message, name)
            inner.SetInParent()
            inner.CopyFrom(_value(field, place, value))
        else:
            setattr(message, name, _value(field, place, value))
    return message


def texts(place: str, value: Any) -> Mapping[str, str]:
    """A mapping from texts to texts, such as labels; None is an empty one. Anything else is refused."""
    pairs = value.items() if isinstance(value, Mapping) else () if value is None else [(value, None)]
    if not all(isinstance(word, str) for pair in pairs for word in pair):
        raise TypeError(f"{place}: {value!r}; allowed: texts by their names, such as {{'run': '7'}}")
    return value or {}


def _repeated(field: Any) -> bool:
    if hasattr(field, "is_repeated"):  # protobuf 6; before it, label, which later goes
        return bool(field.is_repeated)
    return bool(field.label == FieldDescriptor.LABEL_REPEATED)


def _value(field: Any, place: str, value: Any) -> Any:
    if field.message_type is not None:
        kind = getattr(pb, field.message_type.name, None)
        if kind is None or isinstance(value, kind):
            return value
        if kind is pb.DatasetReference and isinstance(value, str):
            identifier, _, version = value.partition("@")
            return pb.DatasetReference(id=identifier, version=version)
        if kind is pb.Mechanism and not isinstance(value, Mapping):
            raise TypeError(f"{place}: {value!r}; allowed: a mechanism, such as gaussian(noise_multiplier=1.1)")
        if kind is pb.Workload and not isinstance(value, Mapping):
            return workload(value)
        return fill(kind(), place, value)
    if field.enum_type is not None:
        return enum_value(field.enum_type, place, value)
    if field.cpp_type in (FieldDescriptor.CPPTYPE_DOUBLE, FieldDescriptor.CPPTYPE_FLOAT):
        return real(place, value)
    if field.cpp_type in _INTEGERS:
        return whole(place, value, *_INTEGERS[field.cpp_type])
    return value


def enum_value(kind: Any, place: str, value: Any, also: Iterable[str] = ()) -> int:
    """An enum's number by its name, in either spelling: ADD_OR_REMOVE_ONE, add-or-remove-one.

    also: names that the caller has already replaced, for the error.
    """
    if isinstance(value, str):
        name = value.upper().replace("-", "_")
        if name not in kind.values_by_name:
            names = [*also, *(v.name for v in kind.values if not v.name.endswith("UNSPECIFIED"))]
            allowed = ", ".join(n.lower().replace("_", "-") for n in names)
            raise ValueError(f"{place}: {value!r}; allowed: {allowed}")
        return int(kind.values_by_name[name].number)
    return whole(place, value, most=2**31 - 1)


def bounded(contribution: str | int | None) -> pb.SetPart.Contribution:
    """Whose rows the sensitivity bounds, as the API has it; there is no default, as answers differ by it."""
    if contribution is None:
        raise TypeError(
            'contribution is missing; allowed: "over-all" if the sensitivity bounds what a person\'s rows in all of '
            'the ledgers move the release by together, or "in-each" if it bounds those in each ledger alone, so that '
            'somebody in n of them counts as a group of n (on Poisson samples "rows-drawn-in-each" or '
            '"people-drawn-in-each")')
    return cast("pb.SetPart.Contribution", enum_value(pb.SetPart.DESCRIPTOR.enum_types_by_name["Contribution"],
                                                      "contribution", contribution))
