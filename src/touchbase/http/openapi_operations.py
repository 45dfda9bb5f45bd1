"""Building blocks of the OpenAPI document: operations, responses and parameters."""

from __future__ import annotations

from typing import Any

from touchbase.clients.models import ON_DUPLICATE
from touchbase.common import field_limits as limits
from touchbase.connections.models import CHANNELS
from touchbase.http.query_parameters import DEFAULT_PAGE, LARGEST_PAGE, STRUCTURES

Json = dict[str, Any]
NON_EMPTY: Json = {"type": "string", "minLength": 1}


def operation(
    tag: str,
    name: str,
    summary: str,
    successes: Json,
    problems: tuple[str, ...],
    *,
    parameters: Any = (),
    body: str = "",
    content_type: str = "application/json",
) -> Json:
    """Build an operation; `problems` are the statuses of its problem responses, `body` the schema of its request body."""
    responses = {**successes, **{status: {"$ref": f"#/components/responses/{problem_name(status)}"} for status in problems}}
    made: Json = {"tags": [tag], "operationId": name, "summary": summary, "parameters": list(parameters), "responses": responses}
    if body:
        content = {kind: {"schema": {"$ref": f"#/components/schemas/{body}"}} for kind in dict.fromkeys((content_type, "application/json"))}
        made["requestBody"] = {"required": True, "content": content}
    return made


def response(text: str, schema: str, headers: tuple[str, ...] = ()) -> Json:
    """Build a successful response with this schema and these headers."""
    made: Json = {"description": text, "content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema}"}}}}
    if headers:
        made["headers"] = {name: {"schema": {"type": "string"}} for name in headers}
    return made


def problem_name(status: str) -> str:
    """Return the component name of the problem response with this status."""
    return f"Problem{status}"


def parameter(name: str, schema: Json, text: str = "", location: str = "query") -> Json:
    """Build a parameter."""
    made: Json = {"name": name, "in": location, "required": location == "path", "schema": schema}
    return {**made, "description": text} if text else made


_CLIENT_ID = {"type": "string", "pattern": f"^[A-Za-z0-9._~\\-]{{1,{limits.CLIENT_ID}}}$"}
ID = parameter("id", {"type": "integer", "minimum": 1, "maximum": limits.LARGEST_ID}, location="path")
CLIENT_ID_IN_PATH = parameter("client_id", _CLIENT_ID, location="path")
CHANNEL_IN_PATH = parameter("channel", {"enum": list(CHANNELS)}, location="path")
KEY_ID_IN_PATH = parameter("key_id", {"type": "string", "pattern": "^[0-9a-f]{12}$"}, location="path")
TOOL_IN_PATH = parameter("tool", {"type": "string", "pattern": "^[a-z0-9_]{1,40}$"}, location="path")
CLIENT = parameter("X-Client-Id", _CLIENT_ID, "The client, if the key has no client. Without keys the default is `default`.", "header")
STRUCTURE = parameter("structure", {"enum": list(STRUCTURES), "default": "NESTED"}, "The format of custom fields in the response.")
ON_DUPLICATE_PARAMETER = parameter(
    "on_duplicate",
    {"enum": list(ON_DUPLICATE)},
    "If the record exists: 409, return it, or merge into it. Default: the client's setting.",
)
LIMIT = parameter(
    "limit", {"type": "integer", "minimum": 1, "maximum": LARGEST_PAGE, "default": DEFAULT_PAGE}, "Maximum number of items in a page."
)
CURSOR = parameter("cursor", {"type": "string"}, "`next_cursor` of the previous page; blank or left out: the first page.")
SINCE = parameter("received_since", {"type": "string", "format": "date-time"}, "Only deliveries received at this time or later.")
WITH_PROBLEMS = parameter("problems", {"type": "boolean"}, "Only deliveries that were applied with a problem.")
UPDATED_SINCE = parameter(
    "updated_since",
    {"type": "string", "format": "date-time"},
    "Sorts the list by time of change. To follow changes, start one minute before the latest change seen.",
)
IF_MATCH = parameter("If-Match", {"type": "string"}, "The ETag that the record must still have.", "header")
