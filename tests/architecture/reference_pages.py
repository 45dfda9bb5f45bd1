"""`python -m tests.architecture.reference_pages`: write the tables of docs/reference/ that are made from the code.

They are routes, errors, settings, metrics, the numbers of limits, and the defaults of a client's settings. A table stands
between `<!-- made: NAME ... -->` and `<!-- end -->`; the rest of a page is written by hand.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
from tests.architecture.client_page import client_errors, client_methods

from touchbase.clients.api.settings_body import SettingsBody
from touchbase.config import Settings, environment_name
from touchbase.errors import meaning, response_errors
from touchbase.event_log.models import EVENT_TYPES, ORIGINS
from touchbase.http.openapi import DESCRIBED
from touchbase.http.query_parameters import Parameter
from touchbase.http.routing import Route
from touchbase.mcp.conversation import WHOAMI
from touchbase.mcp.tools import TOOLS
from touchbase.metrics import METRICS, Counter, Histogram
from touchbase.records.record_type import RECORD_TYPES
from touchbase.search.fields import INDEXED_TIMES, OWN_FIELDS, SEARCH_KEYS, FieldKind, SearchField
from touchbase.search.parse import TEXT_OPS
from touchbase.search.sql.candidates import SORTED_KEYS
from touchbase.search.tree import Op
from touchbase.server import error_responses
from touchbase.server.error_responses import ErrorResponse

Row = Sequence[str]
PAGES = Path(__file__).parents[2] / "docs" / "reference"
BEGIN, END = "<!-- made: ", "<!-- end -->"
DEFAULTS = "<!-- defaults of a client's settings -->"
LIMIT_CELLS = 4
CLIENT_SETTINGS: dict[str, Any] = msgspec.to_builtins(SettingsBody())


def routes(*tags: str) -> Iterator[Row]:
    """Yield the rows of the routes with these tags."""
    yield "Route", "What it does", "Query", "Success", "Scope"
    for route in DESCRIBED:
        if route.tag is not None and route.tag.name in tags:
            yield _route(route)


def _route(route: Route) -> Row:
    statuses = ", ".join(str(each.status) for each in route.success)
    scope = f"`{route.scope}`" if route.scope else "none"
    query = "; ".join(map(_parameter, route.query))
    return f"`{route.method} {route.path}`", f"{route.summary}. {route.description}", query, statuses, scope


def _parameter(each: Parameter[Any]) -> str:
    choices = ", ".join(f"`{value}`" for value in each.schema.get("enum", ()))
    return f"`{each.name}` ({choices})" if choices else f"`{each.name}`"


def errors() -> Iterator[Row]:
    """Yield the rows of the application's errors."""
    yield "Code", "Status", "Meaning", "What to do"
    for each in sorted(response_errors(), key=lambda each: (each.status, each.code)):
        yield f"`{each.code}`", str(each.status), meaning(each), each.remedy


def server_errors() -> Iterator[Row]:
    """Yield the rows of the errors that the server itself responds with, before or instead of the application."""
    yield "Code", "Status", "What the response says"
    found: dict[tuple[int, str], list[str]] = {}
    for each in vars(error_responses).values():
        if isinstance(each, ErrorResponse):
            found.setdefault((each.status, each.code), []).append(each.detail)
    for (status, code), details in sorted(found.items()):
        yield f"`{code}`", str(status), " / ".join(details)


def settings() -> Iterator[Row]:
    """Yield the rows of the settings."""
    yield "Name", "Default", "Meaning"
    for each in fields(Settings):
        default = _default(each.default)
        yield f"`{environment_name(each.name)}`", f"`{default}`" if default else "", each.metadata["about"]


def search_fields(kind: str) -> Iterator[Row]:
    """Yield the rows of the fields that searches of one kind of record know."""
    yield "Field", "Compared as", "Operators", "Sorts"
    number = next(number for number, each in RECORD_TYPES.items() if each.name == kind)
    for each in OWN_FIELDS[number].values():
        operators = [op.value for op in Op if op not in TEXT_OPS or each.kind in (FieldKind.TEXT, FieldKind.KEY)]
        compared = LETTERS if each.kind is FieldKind.KEY and each.name not in SEARCH_KEYS else COMPARED[each.kind]
        yield f"`{each.name}`", compared, ", ".join(f"`{op}`" for op in operators), _sorts(number, each)


LETTERS = "text, letter for letter"
COMPARED = {
    FieldKind.TEXT: "text, without regard to the case of letters",
    FieldKind.KEY: "text in its normal form",
    FieldKind.NUMBER: "number",
    FieldKind.TIME: "time, or a span until now",
}


def _sorts(number: int, each: SearchField) -> str:
    is_fast = each.column in INDEXED_TIMES[number] or (each.kind is FieldKind.KEY and each.column in SORTED_KEYS)
    return "by an index" if is_fast or each.name == "id" else "slowly, if many records match"


def _default(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:g}" if isinstance(value, float) else str(value)


def metrics() -> Iterator[Row]:
    """Yield the rows of the metrics."""
    yield "Metric", "Type", "Labels", "What"
    for each in METRICS:
        kind = {Counter: "counter", Histogram: "histogram"}.get(type(each), "gauge")
        yield f"`{each.name}`", kind, ", ".join(f"`{label}`" for label in each.labels), each.text


def event_types() -> Iterator[Row]:
    """Yield the rows of the types of events of the log."""
    yield "Type", "What happened"
    for each, about in EVENT_TYPES.items():
        yield f"`{each.value}`", about


def event_origins() -> Iterator[Row]:
    """Yield the rows of the causes of events of the log."""
    yield "`origin`", "What it is"
    for name, about in ORIGINS.items():
        yield f"`{name}`", about


def agent_tools() -> Iterator[Row]:
    """Yield the rows of the tools for agents."""
    yield "Tool", "What it does", "Scope", "Arguments"
    for each in (WHOAMI, *TOOLS.values()):
        arguments = ", ".join(f"`{name}`" for name in each.schema["properties"])
        yield f"`{each.name}`", each.described["description"], f"`{each.scope}`" if each.scope else "any key", arguments


TABLES: dict[str, Callable[..., Iterator[Row]]] = {
    "routes": routes,
    "errors": errors,
    "server-errors": server_errors,
    "settings": settings,
    "metrics": metrics,
    "event-types": event_types,
    "event-origins": event_origins,
    "search-fields": search_fields,
    "agent-tools": agent_tools,
    "client-methods": client_methods,
    "client-errors": client_errors,
}


def made(page: str) -> str:
    """Return a page with its tables, and the numbers of its limits, as the code has them."""
    lines: list[str] = []
    in_table = in_defaults = False
    for line in page.splitlines(keepends=True):
        in_table = in_table and not line.startswith(END)
        in_defaults = line.startswith(DEFAULTS) or (in_defaults and not line.startswith(END))
        if not in_table:
            lines.append(_with_default(line) if in_defaults else _with_number(line))
        if line.startswith(BEGIN):
            lines += _table(*line.removeprefix(BEGIN).removesuffix(" -->\n").split())
            in_table = True
    return "".join(lines)


def _table(name: str, *arguments: str) -> Iterator[str]:
    title, *rows = TABLES[name](*arguments)
    for cells in (title, ["---"] * len(title), *rows):
        yield f"| {' | '.join(cells)} |\n"


def _with_number(line: str) -> str:
    """Return the row of a limit (what, number and unit, response, place in the code) with its number; another line as it is."""
    cells = line.split(" | ")
    place = cells[-1].removesuffix(" |\n")
    if len(cells) != LIMIT_CELLS or not place.startswith("`") or not cells[1][:1].isdigit():
        return line
    value = value_at(place.strip("`"))
    _, _, unit = cells[1].partition(" ")
    number = f"{value:,}" if isinstance(value, int) else f"{value:g}"
    return " | ".join([cells[0], f"{number} {unit}".rstrip(), *cells[2:]])


def _with_default(line: str) -> str:
    """Return the row of a client's setting (names, default, meaning) with its default; another line as it is."""
    cells = line.split(" | ")
    name = cells[0].removeprefix("| `").partition("`")[0]
    if name not in CLIENT_SETTINGS:
        return line
    return " | ".join([cells[0], f"`{json.dumps(CLIENT_SETTINGS[name])}`", *cells[2:]])


def value_at(place: str) -> Any:
    """Return the value of `module.NAME`, or the default of `module.Class.field`."""
    module, _, name = place.rpartition(".")
    if module.rpartition(".")[2][:1].isupper():
        module, _, kind = module.rpartition(".")
        (each,) = (each for each in fields(getattr(import_module(f"touchbase.{module}"), kind)) if each.name == name)
        return each.default
    return getattr(import_module(f"touchbase.{module}"), name)


if __name__ == "__main__":
    for path in PAGES.glob("*.md"):
        path.write_text(made(path.read_text(encoding="utf-8")), encoding="utf-8")
