"""Arguments of public methods are what their annotations say, or the caller is told which one is not.

Checked once where a call comes in, a mistake is a BadRequest that names the argument instead of whatever the first
library to trip over it would have raised, and nothing that storage could not read back gets as far as storage.
"""

from __future__ import annotations

import inspect
import os
import types
import typing
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import wraps
from itertools import chain
from typing import Any, BinaryIO, Literal, TypeVar, get_args, get_origin

from omnigraph.errors import BadRequest
from omnigraph.storage.base.layout import is_storable

Function = TypeVar("Function", bound=Callable[..., Any])
Class = TypeVar("Class", bound=type)

_CHECKED = "__checked__"
# Values of the graph, not names of anything: a NUL in a key is stored, exported and found like any other character.
_VALUES = frozenset({"entity_id"})

Kind = Any
"""An annotation: a class, a union, a literal or a generic alias."""


def checked_methods(owner: Class) -> Class:
    """A class decorator: every public method checks its arguments, and so does `__init__`."""
    for name, member in vars(owner).items():
        if inspect.isfunction(member) and (not name.startswith("_") or name == "__init__"):
            setattr(owner, name, member if hasattr(member, _CHECKED) else checked(member))
    return owner


def checked(function: Function) -> Function:
    """A decorator: the function raises BadRequest when an argument is not of its annotated kind."""
    expected: list[_Expected] = []  # at the first call: a module's own names are not complete before that

    @wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if not expected:
            expected.append(_Expected(function))
        expected[0].check(args, kwargs)
        return function(*args, **kwargs)

    setattr(wrapper, _CHECKED, True)
    return typing.cast("Function", wrapper)


def renamed(**former: str) -> Callable[[Function], Function]:
    """A decorator: the keywords on the left are still taken, as the ones on the right; no signature shows them."""

    def decorate(function: Function) -> Function:
        @wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            for old, new in former.items():
                if old in kwargs:
                    if kwargs.get(new) is not None:
                        raise BadRequest(f"{new} is given twice: {old} is its former name")
                    kwargs[new] = kwargs.pop(old)
            return function(*args, **kwargs)

        return typing.cast("Function", wrapper)

    return decorate


class _Expected:
    """What a function's annotations say about its arguments."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._signature = inspect.signature(function)
        parameters = self._signature.parameters.items()
        self._places = tuple(name for name, parameter in parameters if parameter.kind in _BY_PLACE)
        self._is_closed = not any(parameter.kind in _OPEN_ENDED for _, parameter in parameters)
        self._kinds = {name: _kind(function, parameter) for name, parameter in parameters}
        self._sure = {name: None if kind is Any else _sure(kind) for name, kind in self._kinds.items()}
        self._texts = frozenset(name for name, kind in self._kinds.items() if str in _options(kind))

    def check(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Raise BadRequest unless each argument is what it should be; missing and unknown ones are left to Python."""
        for name, value in self._named(args, kwargs):
            sure, exact = self._sure[name], type(value)
            if sure is None or exact in sure or (exact is str and name in self._texts and is_storable(value)):
                continue
            if not (accepts(self._kinds[name], value) or (name in _VALUES and _is_value(value))):
                raise BadRequest(f"{name} must be {describe(self._kinds[name])}, not {_seen(value)}")

    def _named(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterable[tuple[str, Any]]:
        if self._is_closed and len(args) <= len(self._places) and kwargs.keys() <= self._kinds.keys():
            # Binding them as Python does costs more than looking at all of them.
            return chain(zip(self._places, args, strict=False), kwargs.items())
        try:
            return self._signature.bind(*args, **kwargs).arguments.items()
        except TypeError:
            return ()


def accepts(kind: Kind, value: object) -> bool:
    """Whether a value is of an annotated kind; kinds that cannot be checked accept everything."""
    origin: Any = get_origin(kind)
    if origin in (typing.Union, types.UnionType):
        options = get_args(kind)
        # Where a path may stand, text may be a whole program; what reads it knows better what is wrong with it.
        if isinstance(value, str) and any(get_origin(option) is os.PathLike for option in options):
            return True
        return any(accepts(option, value) for option in options)
    if origin is Literal:
        return any(type(option) is type(value) for option in get_args(kind))  # which one is the verb's business
    if origin in _SEVERAL:
        if not isinstance(value, origin) or isinstance(value, str | bytes | bytearray):
            return False
        return all(
            accepts(item, member) for item in get_args(kind) for member in typing.cast("Iterable[object]", value)
        )
    if origin is Callable:
        return callable(value)
    kind = origin or kind
    if kind is Any:
        return True
    if kind is str:
        return isinstance(value, str) and is_storable(value)
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if kind is None or kind is type(None):
        return value is None
    if kind is BinaryIO:
        return callable(getattr(value, "write", None))
    return isinstance(value, kind) if isinstance(kind, type) and not _is_protocol(kind) else True


def _options(kind: Kind) -> tuple[Any, ...]:
    """The members of a union, or the kind itself."""
    whole: Any = get_origin(kind)
    return get_args(kind) if whole in (typing.Union, types.UnionType) else (kind,)


def _sure(kind: Kind) -> frozenset[type]:
    """Types whose every value is of an annotated kind; it spares most arguments of a query a closer look."""
    options = _options(kind)
    found = {_SURE[origin] for option in options if (origin := get_origin(option) or option) in _SURE}
    is_path = any(get_origin(option) is os.PathLike for option in options)
    return frozenset(found | ({str} if is_path and str in options else set()))


def describe(kind: Kind) -> str:
    """An annotated kind in words."""
    origin: Any = get_origin(kind)
    if origin in (typing.Union, types.UnionType):
        words = [describe(option) for option in get_args(kind)]
        return " or ".join(dict.fromkeys(words))
    if origin is Literal:
        return " or ".join(repr(option) for option in get_args(kind))
    if origin in _SEVERAL:
        return f"a {_SEVERAL[origin]} of {describe(get_args(kind)[0])}"
    if origin is Callable:
        return "a function"
    kind = origin or kind
    name = str(getattr(kind, "__name__", kind))
    return _WORDS.get(kind) or f"{'an' if name[0] in 'AEIOaeio' else 'a'} {name}"


_SURE: Mapping[Any, type] = {
    Mapping: dict,
    bool: bool,
    int: int,
    float: float,
    None: type(None),
    type(None): type(None),
}
_SEVERAL: Mapping[Any, str] = {Sequence: "sequence", Collection: "collection"}
_OPEN_ENDED = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_BY_PLACE = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)

_WORDS: Mapping[Any, str] = {
    str: "text",
    int: "an integer",
    float: "a number",
    bool: "True or False",
    type(None): "None",
    os.PathLike: "a path",
    BinaryIO: "a binary file",
    Mapping: "a mapping",
}


def _kind(function: Callable[..., Any], parameter: inspect.Parameter) -> Kind:
    annotation = parameter.annotation
    if annotation is inspect.Parameter.empty or parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        return Any
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(annotation, function.__globals__)  # our own annotations; postponed ones are text
    except NameError:
        return Any  # imported for the type checker only


def _is_sequence(value: object) -> typing.TypeGuard[Iterable[object]]:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray)


def _is_protocol(kind: type) -> bool:
    return bool(getattr(kind, "_is_protocol", False))


def _is_value(value: object) -> bool:
    """Whether this is text that can be stored as a value, NUL or not."""
    return isinstance(value, str) and is_storable(value.replace("\0", ""))


def _seen(value: object) -> str:
    if isinstance(value, str):
        return "this text" if is_storable(value) else "text that holds a NUL or is not UTF-8"
    if value is None:
        return "None"
    return f"this {type(value).__name__}" if _is_sequence(value) else f"a value of type {type(value).__name__}"
