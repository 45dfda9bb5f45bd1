"""The tables of docs/reference/python-client.md: methods and exceptions of the Python client."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from typing import Any

import touchbase_client
from touchbase.http.openapi import DESCRIBED
from touchbase_client import Problem, Touchbase, TouchbaseError
from touchbase_client._async.calls import AsyncGroup, AsyncMethod
from touchbase_client._sync.calls import Call, FileCall, Group, Iterate, Method, WriteCall

Row = Sequence[str]
KINDS = {WriteCall: "`dry_run`", FileCall: "`stream`"}


def client_methods() -> Iterator[Row]:
    """Yield the rows of the methods."""
    yield "Method", "What it does", "Parameters", "Answer", "Operation"
    operations = {route.operation_id for route in DESCRIBED}
    for name, method in methods(Touchbase("http://127.0.0.1")):
        make = getattr(method, "__wrapped__", method)
        operation = _operation(make) if isinstance(method, Call | Iterate) else "list_events, get_job"
        assert operation in operations or not is_method(method)
        yield f"`tb.{name}`", _about(method), _parameters(make), _answer(method), f"`{operation}`" if operation in operations else ""


def methods(group: object, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the methods of a client or of a group with those of the groups in it, in the order of their definition."""
    if isinstance(group, Group | AsyncGroup):
        for kind in (type(group), *type(group).__bases__):
            for name in vars(kind):
                if not name.startswith("_"):
                    yield f"{prefix}{name}", getattr(group, name)
    for name, member in vars(group).items():
        if isinstance(member, Group | AsyncGroup):
            yield from methods(member, f"{prefix}{name}.")


def is_method(method: object) -> bool:
    """Return whether this is a method that an operation has."""
    return isinstance(method, Method | AsyncMethod)


def _operation(make: Any) -> str:
    given = {name: 1 for name, each in inspect.signature(make).parameters.items() if each.default is each.empty}
    return str(make(**given).operation)


def _about(method: Any) -> str:
    first = str(method.__doc__).partition("\n\n")[0].strip().rstrip(".")
    more = [text for kind, text in KINDS.items() if isinstance(method, kind)]
    if isinstance(method, Iterate):
        first += ": all pages"
    return f"{' '.join(first.split())}{f'; {more[0]}' if more else ''}"


def _parameters(make: Any) -> str:
    found = inspect.signature(make).parameters.values()
    return ", ".join(f"`{each.name}`" for each in found if each.name != "self")


def _answer(method: Any) -> str:
    make = getattr(method, "__wrapped__", method)
    text = str(make.__annotations__["return"])
    if not is_method(method):
        return f"`{text}`"
    inner = text[text.index("[") + 1 : -1]
    first, _, second = inner.partition(", ")
    if isinstance(method, Iterate):
        return f"iterator of `{second}`"
    return " or ".join(f"`{each}`" for each in first.split(" | "))


def client_errors() -> Iterator[Row]:
    """Yield the rows of the exceptions."""
    yield "Exception", "Code", "Meaning", "What to do"
    found = [getattr(touchbase_client, name) for name in touchbase_client.__all__]
    for each in sorted((kind for kind in found if inspect.isclass(kind) and issubclass(kind, TouchbaseError)), key=_place):
        is_problem = issubclass(each, Problem) and each.code
        about = " ".join(str(each.__doc__).split())
        yield f"`{each.__name__}`", f"`{each.code}`" if is_problem else "", about, each.next_step if is_problem else ""


def _place(kind: type[TouchbaseError]) -> tuple[bool, str]:
    return issubclass(kind, Problem), kind.__name__
