"""The OpenAPI 3.1 document of the interface, generated from the types that validate requests."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, get_args

import msgspec

from touchbase.auth.api import KeyOut, KeyPage, KeyRequest, KeyRotation, NewKeyOut
from touchbase.auth.api_key import KEY_STATES
from touchbase.clients.api.life import ClientChange, IdRotation, NewClient
from touchbase.clients.api.settings import ClientDetail, ClientOut, ClientPage, ClientRequest
from touchbase.clients.models import CLIENT_STATES, ON_DUPLICATE
from touchbase.connections.api import ConnectionChange, ConnectionOut, ConnectionPage, ConnectionRequest
from touchbase.connections.models import CHANNELS
from touchbase.erasure.api import ErasureOut, PersonExport
from touchbase.events.api import DeliveryGroups, ReplayOut, ReplayRequest
from touchbase.http.health import StatusOut
from touchbase.http.idempotency import HEADER
from touchbase.http.openapi_examples import EXAMPLES, problem_example
from touchbase.http.openapi_operations import Json, problem_name
from touchbase.http.openapi_paths import all_paths
from touchbase.http.openapi_texts import OPERATIONS, PROBLEMS, TAGS
from touchbase.http.problems import Problem
from touchbase.http.query_parameters import STRUCTURES
from touchbase.idempotency.models import LIFETIME_HOURS, MAX_KEY_LENGTH
from touchbase.inbox.api.deliveries import DeliveryDetail, DeliveryOut, DeliveryPage
from touchbase.inbox.api.refused import RefusalPage
from touchbase.inbox.delivery import GONE_ERASED, GONE_RETENTION, STATES
from touchbase.inbox.refused import CAUSES, Reason
from touchbase.inbox.service import GROUPED
from touchbase.records.api.schemas import (
    CompanyChange,
    CompanyPage,
    CompanyRequest,
    CompanyResponse,
    ContactChange,
    ContactPage,
    ContactRequest,
    ContactResponse,
    TimelinePage,
)

TYPES: tuple[type[msgspec.Struct], ...] = (
    ContactRequest, ContactChange, ContactResponse, ContactPage, CompanyRequest, CompanyChange, CompanyResponse, CompanyPage,
    TimelinePage, DeliveryPage, DeliveryOut, DeliveryDetail, DeliveryGroups, ReplayRequest, ReplayOut, ClientRequest, ClientOut, ClientPage,
    ConnectionRequest, ConnectionChange, ConnectionOut, ConnectionPage, ErasureOut, PersonExport, RefusalPage, Problem,
    NewClient, ClientChange, IdRotation, ClientDetail, KeyRequest, KeyRotation, KeyOut, NewKeyOut, KeyPage, StatusOut,
)  # fmt: skip
"""The request and response bodies."""

METHODS = ("get", "put", "post", "patch", "delete")
LICENSE = {"name": "Apache License 2.0", "identifier": "Apache-2.0"}
OPERATOR = {"name": "The operator of this server"}
_SCHEMAS = "#/components/schemas/"

IDEMPOTENCY_PROBLEMS = ("400", "408", "409", "413", "415", "422")
"""Problems of a request with an idempotency key, in addition to its operation's."""
IDEMPOTENCY_KEY: Json = {
    "name": HEADER,
    "in": "header",
    "required": False,
    "schema": {"type": "string", "pattern": f'^([!#-~][!-~]{{0,{MAX_KEY_LENGTH - 1}}}|"[!#-\\[\\]-~]{{1,{MAX_KEY_LENGTH}}}")$'},
    "description": "A text of your choice, new for each new request, such as a UUID. The same request with the same key gets the same "
    f"response for {LIFETIME_HOURS} hours and is not executed again; another request with it is refused.",
}
REPLAYED: Json = {
    "schema": {"type": "boolean"},
    "description": f"Always true: this is the stored response to an earlier request with this {HEADER}; nothing was executed now.",
}

RATE_LIMIT_HEADERS = (
    ("RateLimit-Policy", "What is allowed: `q` requests at once, and all of them again after `w` seconds.", "string"),
    ("RateLimit", "Remaining requests (`r`), and seconds until all are available again (`t`).", "string"),
    ("Retry-After", "Seconds to wait before sending the request again.", "integer"),
)

ENUMS: dict[str, tuple[str, Sequence[str]]] = {
    "Structure": ("The format of custom fields: a list of objects, or one object by field name.", STRUCTURES),
    "OnDuplicate": ("What creating a record does if it exists: refuse, return it, or merge into it.", ON_DUPLICATE),
    "Channel": ("The kind of tool.", CHANNELS),
    "DeliveryState": ("The state of a received webhook.", STATES),
    "UnchangedState": ("The states of deliveries that changed nothing.", GROUPED),
    "RefusalCause": (". ".join(f"`{cause}`: {about}" for cause, about in CAUSES.items()) + ".", tuple(CAUSES)),
    "UnverifiedReason": ("Why unverified webhooks would be refused from now on.", get_args(Reason)),
    "BodyRemovalReason": (
        "Why a body was removed: retention, or the erasure of a person in the webhook.",
        (GONE_RETENTION, GONE_ERASED),
    ),
    "BodyEncoding": ("The encoding of a body: text, or base64 if it is not UTF-8.", ("utf-8", "base64")),
    "RecordKind": ("The kind of record.", ("contact", "company")),
    "ClientState": ("Whether a client's records are open, closed, or being removed.", CLIENT_STATES),
    "CustomFieldType": ("The type of a declared custom field.", ("text", "number", "boolean", "date", "select")),
    "KeyState": ("Whether a key is valid.", KEY_STATES),
    "KeyScope": ("What a key allows.", ("records:read", "records:write", "admin")),
    "SecretState": ("Whether there is a secret; it is never shown.", ("set", "not set")),
    "FetchingState": ("The state of fetching records from a tool's API.", ("idle", "working", "waiting", "stopped")),
}
"""Named sets of values: name, meaning, values. Each is one component, so that generated clients have one type for each.

No two have the same values, because a schema is matched to its name by them."""

_ENUM_NAMES = {frozenset(values): name for name, (_, values) in ENUMS.items()}


def description(version: str, *, keys_needed: bool, public_url: str = "") -> Json:
    """Return the whole document; without a `public_url` its paths are relative to the server that responds."""
    _, schemas = msgspec.json.schema_components(TYPES, ref_template=_SCHEMAS + "{name}")
    for name, example in EXAMPLES.items():
        schemas[name]["examples"] = [example]
    components: Json = {"schemas": schemas, "responses": {problem_name(status): _problem(status) for status in PROBLEMS}}
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
        "tags": [{"name": name, "description": text} for name, text in TAGS.items()],
        "paths": all_paths(),
        "components": components,
        "security": [],
    }
    if keys_needed:
        components["securitySchemes"] = {
            "key": {"type": "http", "scheme": "bearer", "description": "An API key, `tb_...`."},
            "keyHeader": {"type": "apiKey", "in": "header", "name": "X-Api-Key", "description": "The same key, in its own header."},
        }
        document["security"] = [{"key": []}, {"keyHeader": []}]
    for operation in operations(document):
        if (text := OPERATIONS.get(operation["operationId"])) is not None:
            operation["description"] = text
    _add_idempotency(document)
    _add_rate_limits(document)
    _drop_defaults(document)
    return _with_named_enums(document)


def operations(document: Json) -> Iterator[Json]:
    """Yield every operation of the document."""
    for item in document["paths"].values():
        yield from (item[method] for method in METHODS if method in item)


def _problem(status: str) -> Json:
    content = {"schema": {"$ref": f"{_SCHEMAS}Problem"}, "example": problem_example(status)}
    return {"description": PROBLEMS[status], "content": {"application/problem+json": content}}


def _with_headers(responses: Json, headers: Json) -> Json:
    """Return the responses with these headers added to the successful ones."""
    return {
        status: {**each, "headers": {**each.get("headers", {}), **headers}} if status.startswith("2") else each
        for status, each in responses.items()
    }


def _add_idempotency(document: Json) -> None:
    """Add the `Idempotency-Key` parameter and its responses to every `POST` except webhooks."""
    for item in document["paths"].values():
        post = item.get("post")
        if post is None or "Webhooks" in post["tags"]:
            continue
        known = _with_headers(post["responses"], {"Idempotency-Replayed": REPLAYED})
        problems = {status: {"$ref": f"#/components/responses/{problem_name(status)}"} for status in IDEMPOTENCY_PROBLEMS}
        post["parameters"] = [*post["parameters"], IDEMPOTENCY_KEY]
        post["responses"] = {**known, **{status: ref for status, ref in problems.items() if status not in known}}


def _add_rate_limits(document: Json) -> None:
    """Add the 429 response and the rate limit headers to every operation except webhooks."""
    components = document["components"]
    components["headers"] = {name: {"description": text, "schema": {"type": schema}} for name, text, schema in RATE_LIMIT_HEADERS}
    refs: Json = {name: {"$ref": f"#/components/headers/{name}"} for name, *_ in RATE_LIMIT_HEADERS}
    components["responses"][problem_name("429")]["headers"] = refs
    remaining = {name: ref for name, ref in refs.items() if name != "Retry-After"}
    for operation in operations(document):
        if "Webhooks" in operation["tags"]:
            continue
        limited = {"429": {"$ref": f"#/components/responses/{problem_name('429')}"}}
        operation["responses"] = {**_with_headers(operation["responses"], remaining), **limited}


def _drop_defaults(document: Json) -> None:
    """Describe defaults of request members in words, and require the members that responses always have.

    Client generators take a `default` as a promise that the member is present, and require it from the caller.
    """
    schemas = document["components"]["schemas"]
    sent = _referenced([each["requestBody"] for each in operations(document) if "requestBody" in each], schemas)
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


def _with_named_enums(document: Json) -> Json:
    """Replace each named set of values by a reference to its component."""
    made: Json = _named(document)
    made["components"]["schemas"] |= {
        name: {"title": name, "description": text, "type": "string", "enum": list(values)} for name, (text, values) in ENUMS.items()
    }
    return made


def _named(node: Any) -> Any:
    if isinstance(node, list):
        return [_named(each) for each in node]
    if not isinstance(node, dict):
        return node
    values = node.get("enum")
    name = _ENUM_NAMES.get(frozenset(values)) if isinstance(values, list) else None
    if name is None:
        return {key: _named(each) for key, each in node.items()}
    others = {key: each for key, each in node.items() if key not in ("enum", "type")}
    return {**others, "$ref": f"{_SCHEMAS}{name}"}
