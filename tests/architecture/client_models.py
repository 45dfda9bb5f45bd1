"""The types of the Python client, made from the schemas of the OpenAPI document; `tests/architecture/client_code.py` writes them."""

from __future__ import annotations

import keyword
import textwrap
from collections.abc import Iterator
from typing import Any

from touchbase.http.openapi import METHODS

Json = dict[str, Any]
SCHEMAS = "#/components/schemas/"
WIDTH = 138
SIMPLE = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
SHARED = {
    frozenset({"Contacts", "Companies"}): "records",
    frozenset({"Contacts", "Companies", "RevyOps"}): "records",
    frozenset({"Contacts", "RevyOps"}): "contact_records",
    frozenset({"Companies", "RevyOps"}): "company_records",
}
"""Modules of types of several tags; the others are in `shared`."""
ERRORS = {"Problem"}
"""Schemas that are exceptions of the client."""


def references(node: Any) -> Iterator[str]:
    """Yield the names of the schemas that a part of the document names."""
    if isinstance(node, dict):
        if str(node.get("$ref", "")).startswith(SCHEMAS):
            yield node["$ref"].removeprefix(SCHEMAS)
        for each in node.values():
            yield from references(each)
    elif isinstance(node, list):
        for each in node:
            yield from references(each)


def modules(document: Json) -> dict[str, str]:
    """Return the module of each type: that of its tag, or a shared one, so that modules do not import each other in circles."""
    schemas = document["components"]["schemas"]
    tags: dict[str, set[str]] = {}

    def use(name: str, tag: str) -> None:
        if tag not in tags.setdefault(name, set()):
            tags[name].add(tag)
            for each in references(schemas[name]):
                use(each, tag)

    for item in document["paths"].values():
        for operation in (item[method] for method in METHODS if method in item):
            for name in references([operation["parameters"], operation.get("requestBody"), operation["responses"]]):
                use(name, operation["tags"][0])
    return {name: _module(found) for name, found in sorted(tags.items()) if name not in ERRORS}


def _module(tags: set[str]) -> str:
    if len(tags) == 1:
        return next(iter(tags)).lower()
    return SHARED.get(frozenset(tags), "shared")


def annotation(schema: Json) -> str:
    """Return the Python type of a schema."""
    if "$ref" in schema:
        return str(schema["$ref"]).removeprefix(SCHEMAS)
    if "anyOf" in schema:
        return " | ".join(dict.fromkeys(annotation(each) for each in schema["anyOf"]))
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


def model_files(document: Json) -> dict[str, str]:
    """Return the text of each module of types by its name; `__init__` has all of them."""
    schemas, places = document["components"]["schemas"], modules(document)
    files: dict[str, str] = {}
    for module in sorted(set(places.values())):
        names = [name for name, place in places.items() if place == module]
        bodies = [_alias(name, schemas[name]) for name in names if "enum" in schemas[name]]
        bodies += [_typed_dict(name, schemas[name]) for name in names if "enum" not in schemas[name]]
        text = "\n\n".join(bodies)
        outside: dict[str, list[str]] = {}
        for name in sorted({each for one in names for each in references(schemas[one])} - {*names}):
            outside.setdefault(places[name], []).append(name)
        imports = "".join(imported(f"touchbase.client.models.{place}", found) for place, found in sorted(outside.items()))
        typing = sorted(word for word in ("Any", "Literal", "NotRequired", "TypedDict") if word in text)
        head = (
            f'"""Types of {module}. Made by `make docs` from the OpenAPI document."""\n\n# fmt: off\nfrom __future__ import annotations\n\n'
        )
        files[module] = f"{head}from typing import {', '.join(typing)}\n{imports and chr(10) + imports}\n\n{text}\n"
    by_module = {place: [name for name in places if places[name] == place] for place in sorted(set(places.values()))}
    everything = "".join(imported(f"touchbase.client.models.{place}", names) for place, names in by_module.items())
    listed = textwrap.fill(", ".join(f'"{name}"' for name in sorted(places)), WIDTH, initial_indent="    ", subsequent_indent="    ")
    files["__init__"] = (
        '"""The types of requests and answers, for annotations. Made by `make docs` from the OpenAPI document."""\n\n'
        f"# fmt: off\nfrom __future__ import annotations\n\n{everything}\n__all__ = [\n{listed},\n]\n"
    )
    return files


def imported(module: str, names: list[str]) -> str:
    """Return an import of names, in as many lines as it needs."""
    line = f"from {module} import {', '.join(names)}"
    if len(line) <= WIDTH:
        return line + "\n"
    listed = textwrap.fill(", ".join(names), WIDTH - 4, initial_indent="    ", subsequent_indent="    ")
    return f"from {module} import (\n{listed},\n)\n"


def _alias(name: str, schema: Json) -> str:
    values = ", ".join(f'"{each}"' for each in schema["enum"])
    about = first_sentence(schema.get("description", ""), name)
    line = f"{name} = Literal[{values}]"
    if len(line) > WIDTH:
        listed = textwrap.fill(values, WIDTH, initial_indent="    ", subsequent_indent="    ")
        line = f"{name} = Literal[\n{listed},\n]"
    return f'{line}\n"""{about}."""'


def _typed_dict(name: str, schema: Json) -> str:
    about = first_sentence(schema.get("description", ""), f"The type {name}")
    required = set(schema.get("required", ()))
    members = schema.get("properties", {})
    made = {each: annotation(described) for each, described in members.items()}
    typed = {each: kind if each in required else f"NotRequired[{kind}]" for each, kind in made.items()}
    if any(map(keyword.iskeyword, typed)):
        listed = "\n".join(f'        "{each}": "{kind}",' for each, kind in typed.items())
        return f'{name} = TypedDict(\n    "{name}",\n    {{\n{listed}\n    }},\n)\n"""{about}."""'
    lines = [*_docstring(about), *(f"    {each}: {kind}" for each, kind in typed.items())]
    return f"\nclass {name}(TypedDict):\n" + "\n".join(lines)


def _docstring(about: str) -> list[str]:
    whole = f'    """{about}."""'
    if len(whole) <= WIDTH:
        return [whole, ""]
    first, *rest = textwrap.wrap(about + ".", WIDTH - 8)
    return [f'    """{first}', *(f"    {each}" for each in rest), '    """', ""]
