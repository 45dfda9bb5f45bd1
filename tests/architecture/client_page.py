"""The tables of docs/reference/python-client.md: methods and exceptions of the Python client."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from typing import Any

import touchbase.client
from touchbase.client import Problem, Touchbase, TouchbaseError
from touchbase.client.calls import BoundCall, BoundFile, BoundItems, BoundMethod, BoundWrite, Group
from touchbase.http.openapi import DESCRIBED

Row = Sequence[str]
KINDS = {BoundWrite: "`dry_run`", BoundFile: "`stream`"}


def client_methods() -> Iterator[Row]:
    """Yield the rows of the methods."""
    yield "Method", "What it does", "Parameters", "Answer", "Operation"
    operations = {route.operation_id for route in DESCRIBED}
    for name, method in methods(Touchbase("http://127.0.0.1")):
        make = getattr(method, "__wrapped__", method)
        operation = _operation(make) if isinstance(method, BoundCall | BoundItems) else "list_events, get_job"
        assert operation in operations or not isinstance(method, BoundMethod)
        yield f"`tb.{name}`", _about(method), _parameters(make), _answer(method), f"`{operation}`" if operation in operations else ""


def methods(group: object, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the methods of a client or of a group with those of the groups in it, in the order of their definition."""
    if isinstance(group, Group):
        for kind in (type(group), *type(group).__bases__):
            for name in vars(kind) if kind is not Group else ():
                if not name.startswith("_"):
                    yield f"{prefix}{name}", getattr(group, name)
    for name, each in vars(group).items():
        if isinstance(each, Group) and name != "sender":
            yield from methods(each, f"{prefix}{name}.")


def _operation(make: Any) -> str:
    given = {name: 1 for name, each in inspect.signature(make).parameters.items() if each.default is each.empty}
    return str(make(**given).operation)


def _about(method: Any) -> str:
    first = str(method.__doc__).partition("\n\n")[0].strip().rstrip(".")
    more = [text for kind, text in KINDS.items() if isinstance(method, kind)]
    if isinstance(method, BoundItems):
        first += ": all pages"
    return f"{' '.join(first.split())}{f'; {more[0]}' if more else ''}"


def _parameters(make: Any) -> str:
    found = inspect.signature(make).parameters.values()
    return ", ".join(f"`{each.name}`" for each in found if each.name != "self")


def _answer(method: Any) -> str:
    make = getattr(method, "__wrapped__", method)
    text = str(make.__annotations__["return"])
    if not isinstance(method, BoundMethod):
        return f"`{text}`"
    inner = text[text.index("[") + 1 : -1]
    first, _, second = inner.partition(", ")
    if isinstance(method, BoundItems):
        return f"iterator of `{second}`"
    return " or ".join(f"`{each}`" for each in first.split(" | "))


def client_errors() -> Iterator[Row]:
    """Yield the rows of the exceptions."""
    yield "Exception", "Code", "Meaning", "What to do"
    found = [getattr(touchbase.client, name) for name in touchbase.client.__all__]
    for each in sorted((kind for kind in found if inspect.isclass(kind) and issubclass(kind, TouchbaseError)), key=_place):
        is_problem = issubclass(each, Problem) and each.code
        about = " ".join(str(each.__doc__).split())
        yield f"`{each.__name__}`", f"`{each.code}`" if is_problem else "", about, each.next_step if is_problem else ""


def _place(kind: type[TouchbaseError]) -> tuple[bool, str]:
    return issubclass(kind, Problem), kind.__name__
