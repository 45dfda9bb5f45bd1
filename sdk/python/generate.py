"""`python generate.py [FOLDER]`: write the generated part of the package from openapi.json, with the standard library alone.

That is `models.py` (types), `requests.py` (a function for each operation, which makes its request), `_async/groups.py` (methods by
group, named in `names.py`), and `_sync`, which is `_async` without waiting (`unasync.py`).
"""

from __future__ import annotations

import json
import keyword
import os
import re
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from names import ABOUT, BASES, DRY_RUN_ANSWERS, DRY_RUNS, VARIANTS, Variant, complete
from unasync import unasync

ROOT = Path(__file__).parent
PACKAGE = ROOT / "src" / "touchbase_client"
MADE = "Made from openapi.json by `generate.py`."
HEAD = f'{MADE}"""\n\nfrom __future__ import annotations\n\n'
LISTS = "separated by commas"
METHODS = ("get", "put", "post", "patch", "delete")
SCHEMAS = "#/components/schemas/"
WIDTH = 138
SIMPLE = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
ERRORS = {"Problem"}
"""Schemas that are exceptions of the client."""
Json = dict[str, Any]


def annotation(schema: Json) -> str:
    """Return the Python type of a schema."""
    if "$ref" in schema:
        return str(schema["$ref"]).removeprefix(SCHEMAS)
    if "anyOf" in schema:
        return " | ".join(dict.fromkeys(annotation(choice) for choice in schema["anyOf"]))
    kind = schema.get("type")
    if "enum" in schema:
        return f"Literal[{', '.join(map(repr, schema['enum']))}]".replace("'", '"')
    if kind == "array":
        return f"list[{annotation(schema.get('items', {}))}]"
    if kind == "object":
        values = schema.get("additionalProperties")
        return f"dict[str, {annotation(values) if isinstance(values, dict) and values else 'Any'}]"
    return SIMPLE.get(str(kind), "Any")


def first_sentence(text: str, default: str) -> str:
    """Return the first sentence of a description."""
    sentence = " ".join(text.split()).partition(". ")[0].rstrip(".") or default
    return sentence.replace("\\", "")


def models(schemas: Json) -> str:
    """Return the module of the types."""
    names = sorted(schemas.keys() - ERRORS)
    aliases = [_alias(name, schemas[name]) for name in names if "enum" in schemas[name]]
    types = [_typed_dict(name, schemas[name]) for name in names if "enum" not in schemas[name]]
    typing = "from typing import Any, Literal, NotRequired, TypedDict"
    return f'"""The types of requests and answers, for annotations. {HEAD}{typing}\n\n' + "\n\n".join([*aliases, *types]) + "\n"


def _alias(name: str, schema: Json) -> str:
    values = _filled([f'"{value}"' for value in schema["enum"]])
    return f'{name} = Literal[{values}]\n"""{first_sentence(schema.get("description", ""), name)}."""'


def _typed_dict(name: str, schema: Json) -> str:
    about = first_sentence(schema.get("description", ""), f"The type {name}")
    required = schema.get("required", ())
    members = {member: annotation(described) for member, described in schema.get("properties", {}).items()}
    typed = {member: kind if member in required else f"NotRequired[{kind}]" for member, kind in members.items()}
    if any(map(keyword.iskeyword, typed)):
        listed = "\n".join(f'    "{member}": "{kind}",' for member, kind in typed.items())
        return f'{name} = TypedDict("{name}", {{\n{listed}\n}})\n"""{about}."""'
    lines = [f"class {name}(TypedDict):", f'    """{about}."""', *(f"    {member}: {kind}" for member, kind in typed.items())]
    return "\n" + "\n".join(lines)


def _filled(words: list[str], indent: str = "") -> str:
    """Return words with commas between them: in lines of their own, further in than `indent`, if they are many."""
    line = ", ".join(words)
    if len(line) <= WIDTH - 50:
        return line
    text = ", ".join(word.replace(" ", "~") for word in words)  # no line ends within a word
    inner = textwrap.fill(
        text, WIDTH, initial_indent=f"{indent}    ", subsequent_indent=f"{indent}    ", break_long_words=False, break_on_hyphens=False
    )
    return "\n" + inner.replace("~", " ") + f",\n{indent}"


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
        """The id of the operation."""
        return str(self.operation["operationId"])

    @cached_property
    def parameters(self) -> list[Parameter]:
        """The parameters, without those that the client itself sends or that the variant leaves out."""
        left_out = {"X-Client-Id", *self.variant.omitted, *self.variant.fixed, *(["dry_run"] if self.dry_answers else [])}
        described = [*self.in_path, *self.operation["parameters"]]
        return [_parameter(parameter, self.variant) for parameter in described if parameter["name"] not in left_out]

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
        answers: list[str] = []
        for response in self.operation["responses"].values():
            if "$ref" in response:
                continue
            content = response.get("content", {})
            if "application/json" in content:
                schema = content["application/json"]["schema"]
                answers += [annotation(choice) for choice in schema.get("anyOf", [schema])]
            else:
                answers.append("bytes" if content else "None")
        return list(dict.fromkeys(answers))

    @cached_property
    def dry_answers(self) -> list[str]:
        """The types of the answer of a dry run, where it has types of its own."""
        if "dry_run" in self.variant.omitted:
            return []
        if self.operation_id in DRY_RUN_ANSWERS:
            return [DRY_RUN_ANSWERS[self.operation_id]]
        return [answer for answer in self._answers if answer in DRY_RUNS]

    @cached_property
    def answer(self) -> str:
        """The type of the answer."""
        not_modified = any(parameter["name"] == "If-None-Match" for parameter in self.operation["parameters"])
        answers = [answer for answer in self._answers if answer not in self.dry_answers and not (not_modified and answer == "None")]
        return self.variant.answer or " | ".join(sorted(answers, key=lambda answer: answer == "None"))

    @cached_property
    def item(self) -> str:
        """The type of the items of a page; empty if the answer is no page that a cursor continues."""
        properties: Json = self.schemas.get(self.answer, {}).get("properties", {})
        cursors = [*(parameter.wire for parameter in self.parameters), *self.schemas.get(self.body, {}).get("properties", {})]
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
        kind, arguments = self.kind.partition("[")[0], _filled(self._arguments, "    ")
        return f'def {self.name}({_filled(self._signature)}) -> {self.kind}:\n    """{about}."""\n    return {kind}({arguments})'

    @property
    def _signature(self) -> list[str]:
        first = [parameter.text for parameter in self.parameters if parameter.place == "path"]
        first += [f"body: {self.body}"] if self.body else []
        named = sorted((parameter for parameter in self.parameters if parameter.place != "path"), key=lambda named: not named.required)
        return [*first, *(["*"] if named else []), *(parameter.text for parameter in named)]

    @property
    def _arguments(self) -> list[str]:
        arguments = [f'"{self.operation_id}"', f'"{self.method.upper()}"', f'"{self.path}"']
        for place, argument in (("path", "in_path"), ("query", "query"), ("header", "headers")):
            pairs = [f'"{parameter.wire}": {parameter.name}' for parameter in self.parameters if parameter.place == place]
            at = "header" if "Accept" in self.variant.fixed else "query"
            pairs += [f'"{name}": {value!r}'.replace("'", '"') for name, value in self.variant.fixed.items() if place == at]
            if pairs:
                first, *further = pairs
                arguments += [f"{argument}={{{first}", *further]
                arguments[-1] += "}"
        names = {parameter["name"] for parameter in self.operation["parameters"]}
        flags = {
            "body=body": self.body, "of_client=True": "X-Client-Id" in names, "takes_key=True": "Idempotency-Key" in names,
            "is_file=True": self.body == "File", 'answer="bytes"': self.answer == "bytes", 'answer="text"': self.answer == "str",
            "cursor_in_body=True": self.item and "cursor" not in {parameter.wire for parameter in self.parameters},
        }  # fmt: skip
        return [*arguments, *(text for text, is_wanted in flags.items() if is_wanted)]


def _parameter(described: Json, variant: Variant) -> Parameter:
    schema, wire = described["schema"], described["name"]
    kind = annotation(schema)
    if schema.get("format") == "date-time" or (wire in ("since", "until") and kind == "str"):
        kind = "Time"
    elif LISTS in described.get("description", ""):
        kind = "Text"
    elif kind.startswith("dict["):
        kind = kind.replace("dict[", "Mapping[")
    return Parameter(wire.lower().replace("-", "_"), wire, described["in"], kind, described["required"] or wire in variant.required)


def functions(document: Json) -> dict[str, Function]:
    """Return every function by its name."""
    schemas = document["components"]["schemas"]
    by_name: dict[str, Function] = {}
    for path, item in document["paths"].items():
        for method in (method for method in METHODS if method in item):
            operation = item[method]
            name = operation["operationId"]
            variants = {key: variant for key, variant in VARIANTS.items() if variant.operation == name} or {name: Variant(name)}
            for key, variant in variants.items():
                by_name[key] = Function(key, method, path, operation, item.get("parameters", []), variant, schemas)
    return by_name


def requests(by_name: dict[str, Function]) -> str:
    """Return the module of the functions."""
    text = "\n\n\n".join(function.text for function in by_name.values())
    schemas = next(iter(by_name.values())).schemas
    used = _filled(sorted(name for name in schemas.keys() - ERRORS if re.search(rf"\b{name}\b", text)), "    ")
    return (
        f'"""A function for each operation, which makes its request and sends nothing. {HEAD}'
        "from typing import TYPE_CHECKING, Any\n\nfrom touchbase_client.request import File, Paged, Request, Text, Time, Write\n\n"
        f"if TYPE_CHECKING:\n    from collections.abc import Mapping\n\n    from touchbase_client.models import ({used})\n\n\n{text}\n"
    )


WITH_PARTS = {group.partition(".")[0] for group in ABOUT if "." in group}
"""Groups that consist of groups."""


def groups(by_name: dict[str, Function]) -> str:
    """Return the module of the groups of methods."""
    table = complete([function.operation_id for function in by_name.values()])
    ordered = sorted(table, key=lambda group: group in WITH_PARTS)  # their classes name those of their parts
    classes = [_group(group, table[group], by_name) for group in ordered]
    names = [group for group in table if "." not in group]
    every = ["class AsyncGroups:", '    """All groups of a client."""', "", "    def __init__(self, client: AsyncTouchbase) -> None:"]
    classes.append("\n".join([*every, *(f"        self.{name} = {class_name(name)}(client)" for name in names)]))
    bases = "".join(f"from touchbase_client._async.{group} import {class_name(group)}Group\n" for group in BASES)
    return (
        f'"""Groups of operations. {HEAD}'
        "from typing import TYPE_CHECKING\n\nfrom touchbase_client import requests\n"
        "from touchbase_client._async.calls import AsyncCall, AsyncFileCall, AsyncGroup, AsyncIterate, AsyncWriteCall\n"
        f"{bases}\nif TYPE_CHECKING:\n    from touchbase_client._async.client import AsyncTouchbase\n\n\n" + "\n\n\n".join(classes) + "\n"
    )


def class_name(group: str) -> str:
    """Return the name of a group's class."""
    return "Async" + "".join(part.title() for part in re.split(r"[._]", group))


def _group(group: str, methods: dict[str, str], by_name: dict[str, Function]) -> str:
    base = f"{class_name(group)}Group" if group in BASES else "AsyncGroup"
    lines = [f"class {class_name(group)}({base}):", f'    """{ABOUT[group]}"""', ""]
    for method, name in methods.items():
        function = by_name[name]
        kind = "AsyncWriteCall" if function.dry_answers else "AsyncFileCall" if function.answer == "bytes" else "AsyncCall"
        lines.append(f"    {method} = {kind}(requests.{name})")
        if function.item:
            lines.append(f"    {iterating(method)} = AsyncIterate(requests.{name})")
    if group in WITH_PARTS:
        lines += ["", "    def __init__(self, client: AsyncTouchbase) -> None:", "        super().__init__(client)"]
        parts = (part.removeprefix(f"{group}.") for part in ABOUT if part.startswith(f"{group}."))
        lines += [f"        self.{part} = {class_name(f'{group}.{part}')}(client)" for part in parts]
    return "\n".join(lines)


def iterating(method: str) -> str:
    """Return the name of the method that reads all pages of a method."""
    return "iterate" if method == "list" else f"iterate_{method.removeprefix('list_')}"


def files(document: Json) -> Iterator[tuple[str, str]]:
    """Yield the path and the text of each generated file."""
    by_name = functions(document)
    asynchronous = {path.name: path.read_text(encoding="utf-8") for path in sorted((PACKAGE / "_async").glob("*.py"))}
    asynchronous["groups.py"] = groups(by_name)
    yield "models.py", models(document["components"]["schemas"])
    yield "requests.py", requests(by_name)
    yield "_version.py", f'"""The version of the API and of this package. {MADE}"""\n\nVERSION = "{document["info"]["version"]}"\n'
    yield "_async/groups.py", asynchronous["groups.py"]
    for name, text in asynchronous.items():
        yield f"_sync/{name}", f"# Made from _async/{name} by `generate.py`.\n{unasync(text)}"


def main(folder: Path) -> None:
    """Write the files that have changed, in one step, since other processes may import them; remove old ones of `_sync`."""
    [source] = (path for path in (ROOT / "openapi.json", ROOT.parents[1] / "openapi.json") if path.exists())
    texts = dict(files(json.loads(source.read_text(encoding="utf-8"))))
    for name, text in texts.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            unfinished = path.with_suffix(f".{os.getpid()}")
            unfinished.write_text(text, encoding="utf-8")
            unfinished.replace(path)
    for path in (folder / "_sync").glob("*.py"):
        if f"_sync/{path.name}" not in texts:
            path.unlink()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else PACKAGE)
