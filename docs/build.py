"""Build the documentation: `python docs/build.py [FOLDER]`, by default build/docs.

A line of a page that stands in braces is made from the code: `{routes Contacts}` becomes a table of routes. Everything else is copied.
"""

from __future__ import annotations

import inspect
import json
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

import click
import msgspec

import touchbase
import touchbase_client
from touchbase.adapters.catalogue import MARKS, CatalogueTool, catalogue
from touchbase.administration.settings_body import SettingsBody
from touchbase.cli import cli
from touchbase.common.field_limits import LARGEST_ID
from touchbase.config import Settings, environment_name
from touchbase.connections.api import ConnectionSettingsBody
from touchbase.errors import meaning, response_errors
from touchbase.event_log.models import EVENT_TYPES, ORIGINS
from touchbase.history.events import EMAIL_CAMPAIGN
from touchbase.http.query_parameters import Parameter
from touchbase.loading.requests import uses_of_api
from touchbase.mcp.conversation import WHOAMI
from touchbase.mcp.tools import TOOLS
from touchbase.metrics import METRICS, Counter, Histogram
from touchbase.records.record_type import RECORD_TYPES
from touchbase.routes import DESCRIBED, description
from touchbase.search.fields import INDEXED_TIMES, OWN_FIELDS, SEARCH_KEYS, FieldKind, SearchField
from touchbase.search.parse import TEXT_OPS
from touchbase.search.sql.candidates import SORTED_KEYS
from touchbase.search.tree import Op
from touchbase.server import error_responses
from touchbase.server.error_responses import ErrorResponse
from touchbase_client import Problem, Touchbase, TouchbaseError
from touchbase_client._async.calls import AsyncGroup, AsyncMethod
from touchbase_client._sync.calls import Call, FileCall, Group, Iterate, Method, WriteCall

DOCS = Path(__file__).parent
BUILT = DOCS.parent / "build" / "docs"
SERVED = (".md", ".png", ".svg")
NOTE = "> A line in braces is a table made from the code:"
"""Beginning of the note to readers of an unbuilt page; built pages lack it."""
_PART = re.compile(r"^\{([a-z-]+)((?: \w+)*)\}$", re.MULTILINE)
_NOTE = re.compile(rf"^{NOTE}.*\n\n", re.MULTILINE)

Row = Sequence[str]


def write(folder: Path) -> None:
    """Write all pages and pictures into a folder, in place of what it has."""
    shutil.rmtree(folder, ignore_errors=True)
    for source in sorted(path for path in DOCS.rglob("*") if path.suffix in SERVED):
        target = folder / source.relative_to(DOCS)
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.suffix == ".md":
            target.write_text(render(source.read_text(encoding="utf-8")), encoding="utf-8")
        else:
            shutil.copyfile(source, target)


@cache
def render(page: str) -> str:
    """Return a page with the parts that are made from the code."""
    return _PART.sub(lambda match: PARTS[match[1]](*match[2].split()), _NOTE.sub("", page))


def _table(rows: Callable[..., Iterator[Row]]) -> Callable[..., str]:
    """Render rows, the first of them titles, as a Markdown table."""

    def table(*arguments: str) -> str:
        titles, *body = rows(*arguments)
        return "\n".join(f"| {' | '.join(cells)} |" for cells in (titles, ["---"] * len(titles), *body))

    return table


def routes(*tags: str) -> Iterator[Row]:
    """Yield the routes with these tags."""
    yield "Route", "What it does", "Query", "Success", "Scope"
    for route in DESCRIBED:
        if route.tag is not None and route.tag.name in tags:
            statuses = ", ".join(str(response.status) for response in route.success)
            scope = f"`{route.scope}`" if route.scope else "none"
            query = "; ".join(map(_parameter, route.query))
            yield f"`{route.method} {route.path}`", f"{route.summary}. {route.description}", query, statuses, scope


def _parameter(parameter: Parameter[Any]) -> str:
    choices = ", ".join(f"`{value}`" for value in parameter.schema.get("enum", ()))
    return f"`{parameter.name}` ({choices})" if choices else f"`{parameter.name}`"


def errors() -> Iterator[Row]:
    """Yield the application's errors."""
    yield "Code", "Status", "Meaning", "What to do"
    for error in sorted(response_errors(), key=lambda error: (error.status, error.code)):
        yield f"`{error.code}`", str(error.status), meaning(error), error.remedy


def server_errors() -> Iterator[Row]:
    """Yield the errors that the server itself responds with, before or instead of the application."""
    yield "Code", "Status", "What the response says"
    details: dict[tuple[int, str], list[str]] = {}
    for response in vars(error_responses).values():
        if isinstance(response, ErrorResponse):
            details.setdefault((response.status, response.code), []).append(response.detail)
    for (status, code), texts in sorted(details.items()):
        yield f"`{code}`", str(status), " / ".join(texts)


def settings() -> Iterator[Row]:
    """Yield the settings of the server."""
    yield "Name", "Default", "Meaning"
    for field in fields(Settings):
        default = _default(field.default)
        yield f"`{environment_name(field.name)}`", f"`{default}`" if default else "", field.metadata["about"]


def _default(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:g}" if isinstance(value, float) else str(value)


COMPARED = {
    FieldKind.TEXT: "text, without regard to the case of letters",
    FieldKind.KEY: "text in its normal form",
    FieldKind.NUMBER: "number",
    FieldKind.TIME: "time, or a span until now",
}
LETTERS = "text, letter for letter"


def body_settings(body: type[msgspec.Struct]) -> Callable[[], Iterator[Row]]:
    """List the members of a body of settings, with default and description of the OpenAPI document."""

    def settings() -> Iterator[Row]:
        yield "Setting", "Default", "Meaning"
        members = description(touchbase.__version__, keys_needed=True)["components"]["schemas"][body.__name__]["properties"]
        for name, default in msgspec.to_builtins(body()).items():
            about = members[name]["description"].partition(" Default: ")[0].replace("->", "▸")
            yield f"`{name}`", f"`{json.dumps(default)}`", about

    return settings


def search_fields(record: str) -> Iterator[Row]:
    """Yield the fields that searches of contacts or companies know."""
    yield "Field", "Compared as", "Operators", "Sorts"
    number = next(number for number, record_type in RECORD_TYPES.items() if record_type.name == record)
    for field in OWN_FIELDS[number].values():
        operators = [op.value for op in Op if op not in TEXT_OPS or field.kind in (FieldKind.TEXT, FieldKind.KEY)]
        compared = LETTERS if field.kind is FieldKind.KEY and field.name not in SEARCH_KEYS else COMPARED[field.kind]
        yield f"`{field.name}`", compared, ", ".join(f"`{op}`" for op in operators), _sorts(number, field)


def _sorts(number: int, field: SearchField) -> str:
    is_fast = field.column in INDEXED_TIMES[number] or (field.kind is FieldKind.KEY and field.column in SORTED_KEYS)
    return "by an index" if is_fast or field.name == "id" else "slowly, if many records match"


def metrics() -> Iterator[Row]:
    """Yield the metrics."""
    yield "Metric", "Type", "Labels", "What"
    for metric in METRICS:
        kind = {Counter: "counter", Histogram: "histogram"}.get(type(metric), "gauge")
        yield f"`{metric.name}`", kind, ", ".join(f"`{label}`" for label in metric.labels), metric.text


def event_types() -> Iterator[Row]:
    """Yield the types of events of the log."""
    yield "Type", "What happened"
    for event_type, about in EVENT_TYPES.items():
        yield f"`{event_type.value}`", about


def event_origins() -> Iterator[Row]:
    """Yield the causes of events of the log."""
    yield "`origin`", "What it is"
    for name, about in ORIGINS.items():
        yield f"`{name}`", about


def agent_tools() -> Iterator[Row]:
    """Yield the tools for agents."""
    yield "Tool", "What it does", "Scope", "Arguments"
    for tool in (WHOAMI, *TOOLS.values()):
        arguments = ", ".join(f"`{name}`" for name in tool.schema["properties"])
        yield f"`{tool.name}`", tool.described["description"], f"`{tool.scope}`" if tool.scope else "any key", arguments


def proofs() -> Iterator[Row]:
    """Yield the tools that sign their webhooks, or show their secret in a way of their own."""
    yield "Tool", "Channel", "Proof"
    for tool in catalogue():
        if tool.proofs:
            yield f"`{tool.tool}`", f"`{tool.channel}`", "; or ".join(tool.proofs)


# The Python client: its methods and exceptions.

_CLIENT_CALLS = {WriteCall: "`dry_run`", FileCall: "`stream`"}


def client_methods() -> Iterator[Row]:
    """Yield the methods of the Python client."""
    yield "Method", "What it does", "Parameters", "Result", "Operation"
    operations = {route.operation_id for route in DESCRIBED}
    for name, method in methods(Touchbase("http://127.0.0.1")):
        make = getattr(method, "__wrapped__", method)
        operation = _operation(make) if isinstance(method, Call | Iterate) else "list_events, get_job"
        assert operation in operations or not is_method(method)
        parameters = ", ".join(f"`{name}`" for name in inspect.signature(make).parameters if name != "self")
        yield f"`tb.{name}`", _about(method), parameters, _result(method), f"`{operation}`" if operation in operations else ""


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
    """Return whether a method of the client has an operation of the API."""
    return isinstance(method, Method | AsyncMethod)


def _operation(make: Any) -> str:
    parameters = inspect.signature(make).parameters
    return str(make(**{name: 1 for name, parameter in parameters.items() if parameter.default is parameter.empty}).operation)


def _about(method: Any) -> str:
    summary = str(method.__doc__).partition("\n\n")[0].strip().rstrip(".")
    options = [text for kind, text in _CLIENT_CALLS.items() if isinstance(method, kind)]
    if isinstance(method, Iterate):
        summary += ": all pages"
    return f"{' '.join(summary.split())}{f'; {options[0]}' if options else ''}"


def _result(method: Any) -> str:
    make = getattr(method, "__wrapped__", method)
    text = str(make.__annotations__["return"])
    if not is_method(method):
        return f"`{text}`"
    plain, _, item = text[text.index("[") + 1 : -1].partition(", ")
    if isinstance(method, Iterate):
        return f"iterator of `{item}`"
    return " or ".join(f"`{kind}`" for kind in plain.split(" | "))


def client_errors() -> Iterator[Row]:
    """Yield the exceptions of the Python client."""
    yield "Exception", "Code", "Meaning", "What to do"
    members = [getattr(touchbase_client, name) for name in touchbase_client.__all__]
    exceptions = [member for member in members if inspect.isclass(member) and issubclass(member, TouchbaseError)]
    for error in sorted(exceptions, key=lambda error: (issubclass(error, Problem), error.__name__)):
        code, next_step = (error.code, error.next_step) if issubclass(error, Problem) and error.code else ("", "")
        yield f"`{error.__name__}`", f"`{code}`" if code else "", " ".join(str(error.__doc__).split()), next_step


# The command line: for each command its help, usage and options.

COMMON_OPTIONS = {"--database", "--json", "--help", "--url", "--key-file"}
"""Options that the page describes once."""


def commands() -> str:
    """Render a section for each command."""
    return "\n\n".join("\n\n".join(_command(name, command)) for name, command in listed_commands())


def listed_commands(group: click.Group = cli, prefix: str = "touchbase") -> Iterator[tuple[str, click.Command]]:
    """Yield each listed command with its full name."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from listed_commands(command, f"{prefix} {name}")
        else:
            yield f"{prefix} {name}", command


def _command(name: str, command: click.Command) -> Iterator[str]:
    yield f"## `{name}`"
    for paragraph in inspect.cleandoc(command.help or "").split("\n\n"):
        example = paragraph.removeprefix("\b\n")
        yield " ".join(paragraph.split()) if example == paragraph else f"```sh\n{example}\n```"
    yield f"Usage: `{' '.join([name, *command.collect_usage_pieces(click.Context(command))])}`"
    if name == "touchbase serve":
        yield "Options: each [setting](settings.md) that may stand on a command line."
        return
    options = [option for option in command.params if isinstance(option, click.Option) and is_described(option)]
    if options:
        yield "\n".join(("| Option | Meaning |", "|---|---|", *map(_option, options)))


def is_described(option: click.Option) -> bool:
    """Return whether the option is listed, and not one that the page describes once."""
    is_common = option.opts[0] in COMMON_OPTIONS and (option.opts[0] != "--json" or option.help == "Print JSON.")
    return not option.hidden and not is_common


def _option(option: click.Option) -> str:
    names = [option.opts[0], *(name for name in option.opts[1:] if not name.startswith("--")), *option.secondary_opts]
    meaning = (option.help or "").partition("  [")[0]
    value = option.metavar or "TEXT"
    if isinstance(option.type, click.types.IntParamType):
        value = "NUMBER"
        if isinstance(option.type, click.IntRange) and option.type.max != LARGEST_ID:
            meaning += f" From {option.type.min} to {option.type.max}."
    elif isinstance(option.type, click.Path):
        value = "FILE"
    elif isinstance(option.type, click.Choice):
        value = "WORD"
        meaning += f" One of {', '.join(f'`{choice}`' for choice in option.type.choices)}."
    if option.show_default and option.default is not None:
        meaning += f" Default: `{option.default}`."
    if option.required:
        meaning += " Required."
    spellings = ", ".join(f"`{name}`" if option.is_flag else f"`{name} {value}`" for name in names)
    return f"| {spellings} | {meaning} |"


# The tools whose webhooks are understood, from their adapters and guides.

BEARER = "the secret itself in a header or in the address"


def tools() -> str:
    """Render a table of the tools, and a section for each."""
    expected = catalogue()
    lines = ["Evidence for each fact: " + "; ".join(f"**{mark}** {meaning}" for mark, meaning in MARKS.items()) + ".", ""]
    lines += ["*API*: what requests to it are for, tried against servers of ours that speak the published calls, on no live account.", ""]
    lines += ["| Tool | Name | Channel | Evidence | Seen | API | Signs its webhooks |", "|---|---|---|---|---|---|---|"]
    for tool in expected:
        signs = "yes" if tool.proofs else "no"
        uses = ", ".join(uses_of_api(tool.channel, tool.tool, is_fetched=tool.is_fetched))
        evidence = ", ".join(tool.evidence)
        lines.append(
            f"| [{tool.title}](../../{tool.guide}) | `{tool.tool}` | {tool.channel} | {tool.marks} | {evidence} | {uses} | {signs} |"
        )
    for tool in expected:
        lines += _tool(tool)
    return "\n".join(lines)


def _tool(tool: CatalogueTool) -> Iterator[str]:
    yield from ("", f"## {tool.title} ({'campaign tool' if tool.channel == EMAIL_CAMPAIGN else 'CRM'})", "")
    how = "Recognised by" if tool.channel == EMAIL_CAMPAIGN else "Candidate if it has"
    recognised = "; or ".join(re.sub("^([^,]+)", r"`\1`", rule) for rule in tool.recognised)
    always = "Candidate for every webhook that no other adapter recognises" if tool.tool == "generic" else "Candidate for every webhook"
    yield f"- {how} {recognised}." if recognised else f"- {always}."
    yield f"- Proof of the sender: {'; or '.join([*tool.proofs, BEARER])}."
    if tool.channel == EMAIL_CAMPAIGN:
        yield f"- Messages: {tool.messages}."
        yield f"- Evidence: {tool.sure}"
    yield ""
    with_marks = any(row.sure for row in tool.understood)
    yield "| Event of the tool | Touchbase event |" + (" Evidence |" if with_marks else "")
    yield "|---|---|" + ("---|" if with_marks else "")
    for row in tool.understood:
        yield f"| {row.theirs} | {row.ours} | {row.sure} |" if with_marks else f"| {row.theirs} | {row.ours} |"


PARTS: dict[str, Callable[..., str]] = {
    "agent-tools": _table(agent_tools),
    "client-errors": _table(client_errors),
    "client-settings": _table(body_settings(SettingsBody)),
    "connection-settings": _table(body_settings(ConnectionSettingsBody)),
    "client-methods": _table(client_methods),
    "commands": commands,
    "errors": _table(errors),
    "event-origins": _table(event_origins),
    "event-types": _table(event_types),
    "metrics": _table(metrics),
    "proofs": _table(proofs),
    "routes": _table(routes),
    "search-fields": _table(search_fields),
    "server-errors": _table(server_errors),
    "settings": _table(settings),
    "tools": tools,
}


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else BUILT)
