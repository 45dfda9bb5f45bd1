"""`python -m tests.architecture.client_code`: write the generated part of the Python client from the OpenAPI document.

That is `models` (types), `requests` (a function for each operation, which makes its request), and the groups of methods of both
clients. `client_table` says how operations are called. The rest of `touchbase.client` is written by hand.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from tests.architecture.client_models import WIDTH, Json, annotation, first_sentence, imported, model_files, modules
from tests.architecture.client_table import ABOUT, BASES, DRY_RUN_ANSWERS, DRY_RUNS, VARIANTS, Variant, complete

import touchbase
from touchbase.http.openapi import METHODS, description

PACKAGE = Path(touchbase.__file__).parent / "client"
MADE = "Made by `make docs` from the OpenAPI document."
LISTS = "separated by commas"
HEADERS = {"X-Client-Id", "Idempotency-Key"}
FORMATTER = "# fmt: off\n"
FOLDERS = ("models", "requests", "groups", "async_groups")


@dataclass(frozen=True)
class Parameter:
    """A parameter of a function."""

    name: str
    wire: str
    place: str
    kind: str
    required: bool

    @property
    def text(self) -> str:
        """The parameter in a signature."""
        return f"{self.name}: {self.kind}" if self.required else f"{self.name}: {self.kind} | None = None"


@dataclass(frozen=True)
class Function:
    """A function that makes the request of an operation."""

    name: str
    method: str
    path: str
    operation: Json
    in_path: list[Json]
    variant: Variant
    schemas: Json = field(repr=False)

    @cached_property
    def operation_id(self) -> str:
        return str(self.operation["operationId"])

    @cached_property
    def parameters(self) -> list[Parameter]:
        """The parameters, without those that the client itself sends or that the variant leaves out."""
        left_out = {"X-Client-Id", *self.variant.omitted, *self.variant.fixed, *(["dry_run"] if self.dry_answers else [])}
        return [_parameter(each, self.variant) for each in [*self.in_path, *self.operation["parameters"]] if each["name"] not in left_out]

    @cached_property
    def body(self) -> str:
        """The type of the body; empty without one."""
        content: Json = self.operation.get("requestBody", {}).get("content", {})
        if not content:
            return ""
        if "application/octet-stream" in content:
            return "File"
        schema = content["application/json"]["schema"]
        return "Any" if "$ref" not in schema else annotation(schema)

    @cached_property
    def _answers(self) -> list[str]:
        found: list[str] = []
        for response in self.operation["responses"].values():
            if "$ref" in response:
                continue
            content = response.get("content", {})
            if "application/json" in content:
                schema = content["application/json"]["schema"]
                found += [annotation(each) for each in schema.get("anyOf", [schema])]
            elif content:
                found.append("bytes")
            else:
                found.append("None")
        return list(dict.fromkeys(found))

    @cached_property
    def dry_answers(self) -> list[str]:
        """The types of the answer of a dry run, where it has types of its own."""
        if "dry_run" in self.variant.omitted:
            return []
        if self.operation_id in DRY_RUN_ANSWERS:
            return [DRY_RUN_ANSWERS[self.operation_id]]
        return [each for each in self._answers if each in DRY_RUNS]

    @cached_property
    def answer(self) -> str:
        """The type of the answer."""
        not_modified = any(each["name"] == "If-None-Match" for each in self.operation["parameters"])
        left = [each for each in self._answers if each not in self.dry_answers and not (not_modified and each == "None")]
        return self.variant.answer or " | ".join(sorted(left, key=lambda each: each == "None"))

    @cached_property
    def item(self) -> str:
        """The type of the items of a page; empty if the answer is no page that a cursor continues."""
        properties: Json = self.schemas.get(self.answer, {}).get("properties", {})
        cursors = [*(each.wire for each in self.parameters), *self.schemas.get(self.body, {}).get("properties", {})]
        if not {"data", "next_cursor"} <= properties.keys() or "cursor" not in cursors:
            return ""
        return annotation(properties["data"]["items"])

    @property
    def kind(self) -> str:
        """The type of the request."""
        if self.item:
            return f"Paged[{self.answer}, {self.item}]"
        return f"Write[{self.answer}, {' | '.join(self.dry_answers)}]" if self.dry_answers else f"Request[{self.answer}]"

    @property
    def text(self) -> str:
        """The function."""
        about = first_sentence(self.variant.about or str(self.operation["summary"]), self.name)
        lines = _wrapped(f"def {self.name}(", self._signature, f") -> {self.kind}:")
        lines += [f'    """{about}."""']
        return "\n".join([*lines, *_wrapped(f"    return {self.kind.partition('[')[0]}(", self._arguments, ")")])

    @property
    def _signature(self) -> list[str]:
        first = [each.text for each in self.parameters if each.place == "path"]
        first += [f"body: {self.body}"] if self.body else []
        rest = sorted((each for each in self.parameters if each.place != "path"), key=lambda each: not each.required)
        return [*first, *(["*"] if rest else []), *(each.text for each in rest)]

    @property
    def _arguments(self) -> list[str]:
        made = [f'"{self.operation_id}"', f'"{self.method.upper()}"', f'"{self.path}"']
        for place, argument in (("path", "in_path"), ("query", "query"), ("header", "headers")):
            pairs = [f'"{each.wire}": {each.name}' for each in self.parameters if each.place == place]
            at = "header" if "Accept" in self.variant.fixed else "query"
            pairs += [f'"{name}": {value!r}'.replace("'", '"') for name, value in self.variant.fixed.items() if place == at]
            made += [f"{argument}={{{', '.join(pairs)}}}"] if pairs else []
        names = {each["name"] for each in self.operation["parameters"]}
        flags = {
            "body=body": self.body, "of_client=True": "X-Client-Id" in names, "takes_key=True": "Idempotency-Key" in names,
            "is_file=True": self.body == "File", 'answer="bytes"': self.answer == "bytes", 'answer="text"': self.answer == "str",
            "cursor_in_body=True": self.item and "cursor" not in {each.wire for each in self.parameters},
        }  # fmt: skip
        return [*made, *(text for text, wanted in flags.items() if wanted)]


def _parameter(each: Json, variant: Variant) -> Parameter:
    schema, wire = each["schema"], each["name"]
    kind = annotation(schema)
    if schema.get("format") == "date-time" or (wire in ("since", "until") and kind == "str"):
        kind = "Time"
    elif LISTS in each.get("description", ""):
        kind = "Text"
    elif kind.startswith("dict["):
        kind = kind.replace("dict[", "Mapping[")
    return Parameter(wire.lower().replace("-", "_"), wire, each["in"], kind, each["required"] or wire in variant.required)


def _wrapped(before: str, parts: list[str], after: str) -> list[str]:
    line = before + ", ".join(parts) + after
    if len(line) <= WIDTH:
        return [line]
    indent = " " * (len(before) - len(before.lstrip()))
    inner = ", ".join(parts).replace(" ", "~").replace(",~", ", ").replace("[str, ", "[str,~")
    filled = textwrap.wrap(inner, WIDTH - len(indent) - 4, break_long_words=False, break_on_hyphens=False)
    lines = [f"{indent}    {each}".replace("~", " ") for each in filled]
    return [before, *lines[:-1], f"{lines[-1]},", f"{indent}{after}"]


def functions(document: Json) -> dict[str, Function]:
    """Return every function by its name."""
    schemas = document["components"]["schemas"]
    found: dict[str, Function] = {}
    for path, item in document["paths"].items():
        for method in (each for each in METHODS if each in item):
            operation = item[method]
            name = operation["operationId"]
            variants = {key: each for key, each in VARIANTS.items() if each.operation == name} or {name: Variant(name)}
            for key, variant in variants.items():
                found[key] = Function(key, method, path, operation, item.get("parameters", []), variant, schemas)
    return found


def request_files(document: Json, table: dict[str, dict[str, str]]) -> dict[str, str]:
    """Return the text of each module of functions by its name: one for each group."""
    known, places = functions(document), modules(document)
    files = {"__init__": f'"""A function for each operation, which makes its request and sends nothing. {MADE}"""\n'}
    for group, methods in table.items():
        names = [*methods.values(), *(["stream_events"] if group == "events" else [])]
        files[_module(group)] = _request_file(group, [known[name] for name in names], places)
    return files


def _request_file(group: str, made: list[Function], places: dict[str, str]) -> str:
    text = "\n\n\n".join(each.text for each in made)
    used = sorted(name for name in places if re.search(rf"\b{name}\b", text))
    kinds = [kind for kind in ("File", "Paged", "Request", "Text", "Time", "Write") if re.search(rf"\b{kind}\b(?!\.)", text)]
    by_module: dict[str, list[str]] = {}
    for name in used:
        by_module.setdefault(places[name], []).append(name)
    typed = "".join(
        textwrap.indent(imported(f"touchbase.client.models.{place}", names), "    ") for place, names in sorted(by_module.items())
    )
    abc = "    from collections.abc import Mapping\n\n" if "Mapping[" in text else ""
    words = [word for word in ("TYPE_CHECKING", "Any") if word != "TYPE_CHECKING" or typed or abc]
    words = [word for word in words if word != "Any" or re.search(r"\bAny\b", text)]
    typing = f"from typing import {', '.join(words)}\n\n" if words else ""
    guard = f"\nif TYPE_CHECKING:\n{abc}{typed}" if typed or abc else ""
    return f"{_head(f'Requests of `{group}`.')}{typing}from touchbase.client.request import {', '.join(kinds)}\n{guard}\n\n{text}\n"


def _module(group: str) -> str:
    return group.replace(".", "_")


def group_files(document: Json, table: dict[str, dict[str, str]], prefix: str) -> dict[str, str]:
    """Return the text of each module of groups of one of the clients by its name; `prefix` is empty or `Async`."""
    known = functions(document)
    parts: dict[str, list[str]] = {"public": [], "admin": [], "revyops": []}
    for group in sorted(table, key=lambda each: each == "admin"):  # the class of `admin` names those of its parts
        parts[group.partition(".")[0] if group.partition(".")[0] in parts else "public"].append(group)
    files = {part: _group_file(part, {each: table[each] for each in groups}, known, prefix) for part, groups in parts.items()}
    package = f"touchbase.client.{'async_' if prefix else ''}groups"
    names = {part: sorted(f"{prefix}{class_name(each)}" for each in groups if "." not in each) for part, groups in parts.items()}
    imports = f"from touchbase.client.{_calls(prefix)} import {prefix}Sender\n"
    imports += "".join(imported(f"{package}.{part}", names[part]) for part in sorted(parts))
    files["__init__"] = f"{_head(f'All groups of the {_word(prefix)} client.')}{imports}\n\n{_all_groups(table, prefix)}\n"
    return files


def _group_file(part: str, table: dict[str, dict[str, str]], known: dict[str, Function], prefix: str) -> str:
    body = "\n\n\n".join(_group_class(group, methods, known, prefix) for group, methods in table.items())
    words = [f"{prefix}{each}" for each in ("Call", "FileCall", "Group", "Iterate", "Sender", "WriteCall")]
    imports = imported(f"touchbase.client.{_calls(prefix)}", [word for word in words if re.search(rf"\b{word}\b", body)])
    for group, module in BASES.items() if part == "public" else ():
        imports += f"from touchbase.client.{'async_' if prefix else ''}{module} import {prefix}{class_name(group)}Group\n"
    imports += imported("touchbase.client.requests", sorted(map(_module, table)))
    return f"{_head(f'Groups of operations of the {_word(prefix)} client: {part}.')}{imports}\n\n{body}\n"


def _head(about: str) -> str:
    return f'"""{about} {MADE}"""\n\n{FORMATTER}from __future__ import annotations\n\n'


def _word(prefix: str) -> str:
    return "asynchronous" if prefix else "synchronous"


def _calls(prefix: str) -> str:
    return "async_calls" if prefix else "calls"


def class_name(group: str) -> str:
    """Return the name of a group's class."""
    return "".join(part.title() for part in re.split(r"[._]", group))


def _group_class(group: str, methods: dict[str, str], known: dict[str, Function], prefix: str) -> str:
    base = f"{prefix}{class_name(group)}Group" if group in BASES else f"{prefix}Group"
    lines = [f"class {prefix}{class_name(group)}({base}):", f'    """{ABOUT[group]}"""', ""]
    for method, name in methods.items():
        each, made = known[name], f"{_module(group)}.{name}"
        kind = "WriteCall" if each.dry_answers else "FileCall" if each.answer == "bytes" else "Call"
        lines.append(f"    {method} = {prefix}{kind}({made})")
        if each.item:
            lines.append(f"    {iterating(method)} = {prefix}Iterate({made})")
    if group == "admin":
        lines += ["", f"    def __init__(self, sender: {prefix}Sender) -> None:", "        super().__init__(sender)"]
        lines += [f"        self.{name} = {prefix}{class_name(f'admin.{name}')}(sender)" for name in _below_admin()]
    return "\n".join(lines)


def iterating(method: str) -> str:
    """Return the name of the method that reads all pages of a method."""
    return "iterate" if method == "list" else f"iterate_{method.removeprefix('list_')}"


def _below_admin() -> list[str]:
    return [each.removeprefix("admin.") for each in ABOUT if each.startswith("admin.")]


def _all_groups(table: dict[str, dict[str, str]], prefix: str) -> str:
    names = [group for group in table if "." not in group]
    lines = [f"class {prefix}Groups:", '    """All groups of a client."""', "", f"    def __init__(self, sender: {prefix}Sender) -> None:"]
    return "\n".join([*lines, *(f"        self.{name} = {prefix}{class_name(name)}(sender)" for name in names)])


def files() -> Iterator[tuple[Path, str]]:
    """Yield every generated file with its text."""
    document = description(touchbase.__version__, keys_needed=True)
    table = complete([each.operation_id for each in functions(document).values()])
    for name, text in model_files(document).items():
        yield PACKAGE / "models" / f"{name}.py", text
    for name, text in request_files(document, table).items():
        yield PACKAGE / "requests" / f"{name}.py", text
    for folder, prefix in (("groups", ""), ("async_groups", "Async")):
        for name, text in group_files(document, table, prefix).items():
            yield PACKAGE / folder / f"{name}.py", text


def write() -> None:
    """Write the files, and remove those that are not made any more."""
    made = dict(files())
    for folder in FOLDERS:
        (PACKAGE / folder).mkdir(exist_ok=True)
        for old in set((PACKAGE / folder).glob("*.py")) - made.keys():
            old.unlink()
    for path, text in made.items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write()
