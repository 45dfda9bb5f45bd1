"""The operations of the OpenAPI document, made from the route table, and the problems that they respond with."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from touchbase.auth.authentication import CLIENT_HEADER
from touchbase.common import field_limits as limits
from touchbase.errors import meaning, response_errors
from touchbase.history.events import CHANNELS
from touchbase.http.idempotency import HEADER
from touchbase.http.problems import STATUS, TITLES
from touchbase.http.query_parameters import Parameter
from touchbase.http.routing import Json, Route, Success
from touchbase.idempotency.models import LIFETIME_HOURS, MAX_KEY_LENGTH

SCHEMAS = "#/components/schemas/"
MERGE_PATCH = "application/merge-patch+json"
RATE_LIMITED = 429

_CLIENT_ID = {"type": "string", "pattern": f"^[A-Za-z0-9._~\\-]{{1,{limits.CLIENT_ID}}}$"}
_ID = {"type": "integer", "minimum": 1, "maximum": limits.LARGEST_ID}
PATH_PARAMETERS: dict[str, Json] = {
    "id": {"schema": _ID, "example": 1042},
    "merge_id": {"schema": _ID, "description": "The id of the merge, as its response has it.", "example": 7},
    "field_id": {"schema": _ID, "description": "The id of the value, as the record's custom fields have it.", "example": 311},
    "client_id": {"schema": _CLIENT_ID, "description": "The client's id, or a former one that is still valid.", "example": "acme"},
    "snippet_id": {"schema": {"type": "string"}, "description": "The id of the snippet.", "example": "5f3a9c01d2"},
    "task_id": {"schema": _ID, "description": "The id of the task.", "example": 7},
    "item_id": {"schema": {"type": "string"}, "description": "The `id` of the item.", "example": "5f3a9c01b27d44e0"},
    "rule_id": {"schema": {"type": "string"}, "description": "The `id` of the rule.", "example": "5b1f0a9c3e7d2468"},
    "view_id": {"schema": _ID, "description": "The id of the view.", "example": 7},
    "link_id": {"schema": {"type": "string", "pattern": "^[0-9a-f]{12}$"}, "description": "The id of the link.", "example": "5f3a9c1e7b20"},
    "note_id": {"schema": _ID, "description": "The id of the note.", "example": 4},
    "other_id": {"schema": _ID, "description": "The id of the other record.", "example": 1057},
    "change_id": {"schema": {"type": "string"}, "description": "The id of the change.", "example": "5f0c00000012"},
    "answer_id": {"schema": _ID, "description": "The id of the answer.", "example": 3},
    "channel": {"schema": {"enum": list(CHANNELS)}, "description": "The channel of the tool.", "example": "crm"},
    "refused_id": {
        "schema": {"type": "string", "pattern": "^[0-9a-f]{24}$"},
        "description": "The `body_id` of a refused webhook.",
        "example": "3f1c9a7be2d04c5588a1b0f2",
    },
    "key_id": {
        "schema": {"type": "string", "pattern": "^[0-9a-f]{12}$"},
        "description": "The key's id: the twelve characters behind `tb_live_` in its text.",
        "example": "0123456789ab",
    },
    "user_id": {"schema": {"type": "string", "pattern": "^u[0-9a-f]{11}$"}, "description": "The user's id.", "example": "u3f9a1c27b0d"},
    "invitation_id": {
        "schema": {"type": "string", "pattern": "^[0-9a-f]{12}$"},
        "description": "The invitation's id.",
        "example": "7b02de91c4aa",
    },
    "session_id": {"schema": {"type": "string", "pattern": "^[0-9a-f]{64}$"}, "description": "The session's id.", "example": "0f" * 32},
    "tool": {"schema": {"type": "string", "pattern": "^[a-z0-9_]{1,40}$"}, "description": "The tool's name.", "example": "hubspot"},
    "name": {"schema": {"type": "string"}},
}
"""The parameters in paths, by name; the segments before an `id` or a `name` say whose it is."""
NOUNS = {
    "contacts": "contact",
    "companies": "company",
    "messages": "message",
    "suppressions": "entry",
    "files": "file of events",
    "jobs": "job",
    "webhook-endpoints": "endpoint",
    "webhook-attempts": "attempt",
    "contacts-master-list": "contact",
    "companies-master-list": "company",
    "emails": "e-mail",
    "{client_id}": "contact",
    "deliveries": "delivery",
}
"""The object of an `id` behind this segment."""
NAMES: dict[str, Json] = {
    "custom-fields": {"description": "The field's name, with `~` as `~0` and `/` as `~1`.", "example": "Industry"},
    "import-mappings": {"description": "The mapping's name.", "example": "apollo"},
    "statuses": {"description": "The status; a `/` in it is sent as `%2F`.", "example": "new"},
}
"""The meaning of a `name` behind this segment and the kind of record."""
CLIENT: Json = {
    "name": CLIENT_HEADER,
    "in": "header",
    "required": False,
    "schema": _CLIENT_ID,
    "description": "The client, if the key has no client. Without keys the default is `default`.",
}
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
RESPONSE_HEADERS = {
    "ETag": "The version of what was returned, for `If-None-Match` and `If-Match`.",
    "Location": "The address of what was made or begun.",
    "Preference-Applied": "The preferences of the request that were honoured.",
    "Search-Index": "`incomplete`: the index of words is being made, and records that are not in it yet are missing.",
    "Total-Count": "The number of records that match, if `Prefer` asked for it.",
    "Touchbase-Ignored": "The unknown members of the body, which were ignored.",
    "Touchbase-Suppressed": "Why the record is on a do-not-contact list.",
}
"""The headers of successful responses that routes name."""
RATE_LIMIT_HEADERS = (
    ("RateLimit-Policy", "What is allowed: `q` requests at once, and all of them again after `w` seconds.", "string"),
    ("RateLimit", "Remaining requests (`r`), and seconds until all are available again (`t`).", "string"),
    ("Retry-After", "Seconds to wait before sending the request again.", "integer"),
)


def path_items(routes: Sequence[Route]) -> Json:
    """Return the path items of the described routes."""
    items: Json = {}
    for route in routes:
        item = items.setdefault(route.path, {})
        if parameters := _path_parameters(route.path):
            item["parameters"] = parameters
        item[route.method.lower()] = operation(route)
    return items


def _path_parameters(path: str) -> list[Json]:
    segments = path.split("/")
    parameters: list[Json] = []
    for place, segment in enumerate(segments):
        if segment.startswith("{"):
            name = segment[1:-1]
            parameter = {"name": name, "in": "path", "required": True, **PATH_PARAMETERS[name]}
            if name == "id":
                parameter["description"] = f"The id of the {NOUNS[segments[place - 1]]}."
            parameters.append({**parameter, **(NAMES[segments[place - 2]] if name == "name" else {})})
    return parameters


def operation(route: Route) -> Json:
    """Return the operation of one route."""
    assert route.tag is not None
    scope = f" Needs the scope `{route.scope}`." if route.scope else ""
    described: Json = {
        "tags": [route.tag.name],
        "operationId": route.operation_id,
        "summary": route.summary,
        "description": route.description + scope,
        "parameters": _parameters(route),
        "responses": _responses(route),
    }
    if isinstance(route.body, type):
        types = (MERGE_PATCH, "application/json") if route.method == "PATCH" else ("application/json",)
        described["requestBody"] = {"required": True, "content": {kind: {"schema": _ref(route.body)} for kind in types}}
    elif route.body is not None:
        described["requestBody"] = route.body
    if not route.scope:
        described["security"] = []
    if route.deprecated:
        described["deprecated"] = True
    return described


def _parameters(route: Route) -> list[Json]:
    client, key = [CLIENT] if route.of_client else [], [IDEMPOTENCY_KEY] if route.takes_key else []
    return [*map(_query_parameter, route.query), *route.headers, *client, *key]


def _query_parameter(parameter: Parameter[Any]) -> Json:
    """Describe a parameter; its default in words, because generated clients and the page at `/docs` would always send it."""
    schema = {name: value for name, value in parameter.schema.items() if name != "default"}
    default = f"Default: `{parameter.schema['default']}`." if "default" in parameter.schema else ""
    about = f"{parameter.description} {default}".strip()
    described: Json = {"name": parameter.name, "in": "query", "required": parameter.required, "schema": schema}
    return {**described, "description": about, **parameter.more}


def _responses(route: Route) -> Json:
    responses = {str(success.status): _success(route, success) for success in route.success}
    statuses = [*route.problem_statuses, *([RATE_LIMITED] if route.scope else [])]
    return {**responses, **{str(status): {"$ref": f"#/components/responses/{problem_name(status)}"} for status in statuses}}


def _success(route: Route, success: Success) -> Json:
    headers: Json = {name: {"description": RESPONSE_HEADERS[name], "schema": {"type": "string"}} for name in success.headers}
    if route.takes_key:
        headers["Idempotency-Replayed"] = REPLAYED
    if route.scope:
        headers |= {name: header_ref(name) for name, *_ in RATE_LIMIT_HEADERS if name != "Retry-After"}
    response: Json = {"description": success.description}
    if success.bodies:
        refs = [_ref(body) for body in success.bodies]
        schema: Json = refs[0] if len(refs) == 1 else {"anyOf": refs}
        response["content"] = {"application/json": {"schema": {"type": "array", "items": schema} if success.is_list else schema}}
    if success.media:
        response["content"] = response.get("content", {}) | {media: {"schema": {"type": "string"}} for media in success.media}
    return {**response, "headers": headers} if headers else response


def header_ref(name: str) -> Json:
    """Return a reference to a header that many responses have."""
    return {"$ref": f"#/components/headers/{name}"}


def problem_name(status: int) -> str:
    """Return the component name of the problem response with this status."""
    return f"Problem{status}"


def _ref(of: type) -> Json:
    return {"$ref": f"{SCHEMAS}{of.__name__}"}


_NO_EMAIL = "is not an e-mail address: An email address must have an @-sign."
_INSTEAD = "send on_duplicate=return to get it or on_duplicate=update to merge into it"
_RATE = "at most 50000 a second, or 500000 at once after a pause"
_PROBLEMS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "400": ("malformed_body", "the body is not JSON: Expecting value: line 1 column 10 (char 9)", {}),
    "401": ("unauthorized", "this request needs a key: send it as Authorization: Bearer tb_...", {}),
    "403": ("insufficient_scope", "this key lacks the scope records:write; use one that has it", {}),
    "404": ("not_found", "there is no contact with id 1042", {}),
    "408": ("body_too_slow", "the body must arrive within 10 seconds, and no pause in it may last 5", {}),
    "409": ("duplicate", f"this contact exists already, with id 1; {_INSTEAD}", {"existing_id": 1}),
    "410": (
        "cursor_expired",
        "events before evt_4711 are not stored any more; list the records again, then read on from the oldest event, without `after`",
        {"valid_cursor": "evt_4710"},
    ),
    "412": ("precondition_failed", "the record has changed since you read it; read it again and repeat the change", {}),
    "413": ("too_large", "the body may have at most 1048576 bytes", {}),
    "415": ("unsupported_media_type", "Content-Type 'text/plain' is not supported; send application/json", {}),
    "422": ("invalid", f"/email {_NO_EMAIL}", {"errors": [{"pointer": "/email", "code": "email", "detail": _NO_EMAIL}]}),
    "429": ("rate_limited", f"too many requests with this key: {_RATE}; try again in 1 s", {}),
    "507": (
        "storage_full",
        "this client stores 1073750000 bytes and may store 1073741824; delete records, messages or imports, shorten `keep_bodies_days` in "
        "the client's settings, or ask an administrator to raise `max_stored_bytes`; bytes are counted again within 5 minutes",
        {},
    ),
    "503": ("overloaded", "too many writes are waiting; send this again in a moment", {}),
}
"""For each status an error code, its detail and its other members."""


def problem_meaning(status: int) -> str:
    """Return meaning and remedy of problems with this status, with their codes if there are several."""
    errors = [response_error for response_error in response_errors() if response_error.status == status]
    texts = [f"{meaning(error)} {error.remedy}" for error in errors]
    return texts[0] if len(errors) == 1 else " ".join(f"`{entry.code}`: {text}" for entry, text in zip(errors, texts, strict=True))


def problem_example(status: int) -> dict[str, Any]:
    """Return an example of a problem with this status."""
    code, detail, more = _PROBLEMS[str(status)]
    number = STATUS[code]
    title = TITLES.get(number) or HTTPStatus(number).phrase
    usual = {"type": "about:blank", "title": title, "status": number, "detail": detail, "code": code}
    return {**usual, "request_id": "6f1c0b7a52d3e9840000002a", **more}
