"""The OpenAPI 3.1 document of the interface, made from the route table and the types that validate requests."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from touchbase.http.openapi_members import add_meanings
from touchbase.http.openapi_operations import (
    RATE_LIMIT_HEADERS,
    RATE_LIMITED,
    SCHEMAS,
    header_ref,
    path_items,
    problem_example,
    problem_meaning,
    problem_name,
)
from touchbase.http.problems import Problem
from touchbase.http.routing import Json, Route
from touchbase.http.schemas import ENUMS, EXAMPLES

METHODS = ("get", "put", "post", "patch", "delete")
LICENSE = {"name": "Apache License 2.0", "identifier": "Apache-2.0"}
OPERATOR = {"name": "The operator of this server"}


def described(routes: Sequence[Route]) -> tuple[Route, ...]:
    """Return the routes of the document."""
    return tuple(route for route in routes if route.operation_id)


def tags(routes: Sequence[Route]) -> dict[str, str]:
    """Return the groups of operations with their descriptions."""
    return {route.tag.name: route.tag.description for route in routes if route.tag is not None}


def body_types(routes: Sequence[Route]) -> tuple[type[msgspec.Struct], ...]:
    """Return the types of request and response bodies."""
    bodies = [body for route in routes for body in (route.body, *(body for success in route.success for body in success.bodies))]
    return tuple(dict.fromkeys([*(body for body in bodies if isinstance(body, type)), Problem]))


def description(routes: Sequence[Route], version: str, *, keys_needed: bool, public_url: str = "") -> Json:
    """Return the document of these routes; without a `public_url` its paths are relative to the server that responds."""
    routes = described(routes)
    statuses = sorted({RATE_LIMITED, *(status for route in routes for status in route.problem_statuses)})
    _, schemas = msgspec.json.schema_components(body_types(routes), ref_template=SCHEMAS + "{name}")
    add_meanings(schemas)
    for name, example in EXAMPLES.items():
        schemas[name]["examples"] = [example]
    components: Json = {
        "schemas": schemas,
        "responses": {problem_name(status): _problem(status) for status in statuses},
        "headers": {name: {"description": text, "schema": {"type": schema}} for name, text, schema in RATE_LIMIT_HEADERS},
    }
    document: Json = {
        "openapi": "3.1.0",
        "info": {
            "title": "Touchbase",
            "version": version,
            "description": "Contacts, companies, and the webhooks of e-mail campaign tools and CRMs.",
            "license": LICENSE,
            "contact": OPERATOR,
        },
        "servers": [{"url": public_url or "/", "description": "This server."}],
        "tags": [{"name": name, "description": text} for name, text in tags(routes).items()],
        "paths": path_items(routes),
        "components": components,
        "security": [],
    }
    if keys_needed:
        components["securitySchemes"] = {
            "key": {"type": "http", "scheme": "bearer", "description": "An API key, `tb_...`."},
            "keyHeader": {"type": "apiKey", "in": "header", "name": "X-Api-Key", "description": "The same key, in its own header."},
        }
        document["security"] = [{"key": []}, {"keyHeader": []}]
    _drop_defaults(document)
    return _with_named_enums(document)


def operations(document: Json) -> Iterator[Json]:
    """Yield every operation of the document."""
    for item in document["paths"].values():
        yield from (item[method] for method in METHODS if method in item)


def _problem(status: int) -> Json:
    content = {"schema": {"$ref": f"{SCHEMAS}Problem"}, "example": problem_example(status)}
    response: Json = {"description": problem_meaning(status), "content": {"application/problem+json": content}}
    return {**response, "headers": {name: header_ref(name) for name, *_ in RATE_LIMIT_HEADERS}} if status == RATE_LIMITED else response


def _drop_defaults(document: Json) -> None:
    """Describe defaults of request members in words, and require the members that responses always have.

    Client generators take a `default` as a promise that the member is present, and require it from the caller.
    """
    schemas = document["components"]["schemas"]
    sent = _referenced([operation["requestBody"] for operation in operations(document) if "requestBody" in operation], schemas)
    for name, schema in schemas.items():
        for member, described in schema.get("properties", {}).items():
            if "default" not in described:
                continue
            default = described.pop("default")
            if name not in sent:
                schema["required"] = [*schema.get("required", ()), member]
            elif default not in (None, "", [], {}) or default is False:
                described["description"] = f"{described.get('description', '')} Default: `{json.dumps(default)}`.".strip()


def _referenced(node: Any, schemas: Json) -> set[str]:
    """Return the names of the schemas that a part of the document refers to, directly or through others."""
    names: set[str] = set()
    waiting = [node]
    while waiting:
        part = waiting.pop()
        if isinstance(part, list):
            waiting += part
        elif isinstance(part, dict):
            name = str(part.get("$ref", "")).removeprefix(SCHEMAS)
            if name in schemas and name not in names:
                names.add(name)
                waiting.append(schemas[name])
            waiting += part.values()
    return names


def _with_named_enums(document: Json) -> Json:
    """Replace each named set of values by a reference to its component."""
    named: Json = _named(document, {frozenset(values): name for name, (_, values) in ENUMS.items()})
    named["components"]["schemas"] |= {
        name: {"title": name, "description": text, "type": "string", "enum": list(values)} for name, (text, values) in ENUMS.items()
    }
    return named


def _named(node: Any, names: Mapping[frozenset[str], str]) -> Any:
    if isinstance(node, list):
        return [_named(item, names) for item in node]
    if not isinstance(node, dict):
        return node
    values = node.get("enum")
    name = names.get(frozenset(values)) if isinstance(values, list) else None
    if name is None:
        return {key: _named(value, names) for key, value in node.items()}
    others = {key: value for key, value in node.items() if key not in ("enum", "type")}
    return {**others, "$ref": f"{SCHEMAS}{name}"}
