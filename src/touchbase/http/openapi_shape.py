"""What makes the description fit for generators of clients: named enums, no defaults in bodies, a text for each operation."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from touchbase.http.openapi_enums import with_named_enums
from touchbase.http.openapi_texts import OPERATIONS, TAGS

Json = dict[str, Any]
METHODS = ("get", "put", "post", "patch", "delete")
_SCHEMAS = "#/components/schemas/"
LICENSE = {"name": "Apache License 2.0", "identifier": "Apache-2.0"}
OPERATOR = {"name": "The operator of this server"}


def finished(document: Json, public_url: str) -> Json:
    """The document as it is answered; everything else must be in it already."""
    document["info"] |= {"license": LICENSE, "contact": OPERATOR}
    document["servers"] = [{"url": public_url or "/", "description": "This server."}]
    document["tags"] = [{"name": name, "description": about} for name, about in TAGS.items()]
    for operation in operations(document):
        if (about := OPERATIONS.get(operation["operationId"])) is not None:
            operation["description"] = about
    _drop_defaults(document)
    return with_named_enums(document)


def operations(document: Json) -> Iterator[Json]:
    """Every operation of the document."""
    for item in document["paths"].values():
        yield from (item[method] for method in METHODS if method in item)


def _drop_defaults(document: Json) -> None:
    """Say in words what a member is when it is left out of a request, and that an answer always has it.

    Generators take a `default` for a promise that the member is there, and make it required of the caller.
    """
    schemas = document["components"]["schemas"]
    sent = _reached([each["requestBody"] for each in operations(document) if "requestBody" in each], schemas)
    for name, schema in schemas.items():
        for member, described in schema.get("properties", {}).items():
            if "default" not in described:
                continue
            usual = described.pop("default")
            if name not in sent:
                schema["required"] = [*schema.get("required", ()), member]
            elif usual not in (None, "", [], {}) or usual is False:
                described["description"] = f"{described.get('description', '')} Default: `{json.dumps(usual)}`.".strip()


def _reached(node: Any, schemas: Json) -> set[str]:
    """The names of the schemas that a part of the document refers to, also by way of others."""
    found: set[str] = set()
    waiting = [node]
    while waiting:
        each = waiting.pop()
        if isinstance(each, list):
            waiting += each
        elif isinstance(each, dict):
            name = str(each.get("$ref", "")).removeprefix(_SCHEMAS)
            if name in schemas and name not in found:
                found.add(name)
                waiting.append(schemas[name])
            waiting += each.values()
    return found
