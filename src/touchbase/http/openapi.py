"""The description of the interface, OpenAPI 3.1, made from the types that validate."""

from __future__ import annotations

from typing import Any

import msgspec

from touchbase.clients.api.settings import ClientOut, ClientPage, ClientRequest
from touchbase.clients.models import ON_DUPLICATE
from touchbase.common import field_limits as limits
from touchbase.connections.api import ConnectionChange, ConnectionOut, ConnectionPage, ConnectionRequest
from touchbase.connections.models import CHANNELS
from touchbase.erasure.api import ErasureOut, PersonExport
from touchbase.events.api import DeliveryGroups, ReplayOut, ReplayRequest
from touchbase.http import openapi_life
from touchbase.http.openapi_examples import EXAMPLES, problem
from touchbase.http.openapi_idempotency import with_idempotency
from touchbase.http.openapi_limits import add_limits
from touchbase.http.openapi_privacy import add_privacy
from touchbase.http.openapi_refused import refusal_paths
from touchbase.http.openapi_shape import finished
from touchbase.http.openapi_webhooks import webhook_paths
from touchbase.http.problems import Problem
from touchbase.http.query_parameters import LARGEST_PAGE, STRUCTURES, USUAL_PAGE
from touchbase.inbox.api.deliveries import DeliveryDetail, DeliveryOut, DeliveryPage
from touchbase.inbox.api.refused import RefusalPage
from touchbase.inbox.delivery import STATES
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

Json = dict[str, Any]
TYPES: tuple[type[msgspec.Struct], ...] = (
    ContactRequest, ContactChange, ContactResponse, ContactPage, CompanyRequest, CompanyChange, CompanyResponse, CompanyPage,
    TimelinePage, DeliveryPage, DeliveryOut, DeliveryDetail, DeliveryGroups, ReplayRequest, ReplayOut, ClientRequest, ClientOut, ClientPage,
    ConnectionRequest, ConnectionChange, ConnectionOut, ConnectionPage, ErasureOut, PersonExport, RefusalPage, Problem, *openapi_life.TYPES,
)  # fmt: skip
PROBLEMS = {
    "400": "The request cannot be read: broken JSON, broken UTF-8, nested too deeply.",
    "401": "No valid key; of a webhook call: it does not prove who sends it.",
    "403": "The key is valid and does not allow this, or the client is suspended (`client_suspended`).",
    "404": "There is no such thing for this key or client; where a record was united with another, `existing_id` is that one's.",
    "408": "The body did not arrive in time.",
    "409": "A record with this identity exists (`existing_id` is its id), its person was erased, the thing's state does not allow this, "
    "the delivery has no body any more, or a request with this Idempotency-Key is not answered yet.",
    "412": "The record has changed since it was read.",
    "413": "The body is longer than the limit.",
    "415": "The body is not JSON, or packed in a way that is not read.",
    "422": "Fields or parameters are wrong, `errors` lists all of them; or the Idempotency-Key was used for another request.",
    "429": "A limit on requests, rows, bytes or failed keys is reached; nothing was done. Send it again after `Retry-After` seconds.",
    "503": "Not possible just now, and nothing was kept; send it again after `Retry-After` seconds. With the code `outcome_unknown` it may "
    "have been carried out: send it again with its `Idempotency-Key`, or look first.",
}
READING = ("401", "403", "404", "422", "503")
WRITING = ("400", "401", "403", "404", "408", "409", "412", "413", "415", "422", "503")


def description(version: str, *, keys_needed: bool, public_url: str = "") -> Json:
    """The whole document; without a `public_url` its paths begin at the root of the server that answers it."""
    _, schemas = msgspec.json.schema_components(TYPES, ref_template="#/components/schemas/{name}")
    for name, example in EXAMPLES.items():
        schemas[name]["examples"] = [example]
    components: Json = {"schemas": schemas, "responses": {_problem_name(status): _problem(status) for status in PROBLEMS}}
    paths: Json = {**_records("contacts", "contact"), **_records("companies", "company"), **_admin(), **_connections()}
    paths |= webhook_paths(_operation, CLIENT_ID_IN_PATH)
    paths |= refusal_paths(_operation, _answer, _parameter, [LIMIT, CURSOR])
    made: Json = {
        "openapi": "3.1.0",
        "info": {
            "title": "Touchbase",
            "version": version,
            "description": "Contacts, companies, and the webhook calls of e-mail campaign tools and CRMs.",
        },
        "paths": with_idempotency(openapi_life.add_paths(paths, _operation, _answer, _parameter, [LIMIT, CURSOR])),
        "components": components,
    }
    add_privacy(made["paths"], _operation, _answer, _parameter, {"id": ID, "limit": LIMIT, "cursor": CURSOR, "client": CLIENT})
    add_limits(made, _problem_name("429"))
    made["security"] = []
    if keys_needed:
        components["securitySchemes"] = {
            "key": {"type": "http", "scheme": "bearer", "description": "An API key, `tb_...`."},
            "keyHeader": {"type": "apiKey", "in": "header", "name": "X-Api-Key", "description": "The same, in a header of its own."},
        }
        made["security"] = [{"key": []}, {"keyHeader": []}]
    return finished(made, public_url)


def _records(many: str, one: str) -> Json:
    kind = one.capitalize()
    path, tag = f"/public/v2/{many}", many.capitalize()
    filters = _contact_filters() if one == "contact" else _company_filters()
    created = {
        "201": _answer(f"The new {one}.", f"{kind}Response", ("Location", "ETag")),
        "200": _answer(f"The {one} that existed (`on_duplicate`).", f"{kind}Response", ("Location", "ETag")),
    }
    record, etag = f"{kind}Response", ("ETag",)
    create = _operation(
        tag, f"create_{one}", f"Create a {one}", created, tuple(status for status in WRITING if status != "412"),
        parameters=[STRUCTURE, ON_DUPLICATE_PARAMETER, CLIENT], body=f"{kind}Request",
    )  # fmt: skip
    listing = _operation(
        tag, f"list_{many}", f"List {many}, newest last", {"200": _answer("A page.", f"{kind}Page")}, READING,
        parameters=[STRUCTURE, LIMIT, CURSOR, *filters, CLIENT],
    )  # fmt: skip
    get = _operation(
        tag, f"get_{one}", f"Get one {one}", {"200": _answer(f"The {one}.", record, etag)}, READING, parameters=[STRUCTURE, CLIENT]
    )  # fmt: skip
    change = _operation(
        tag, f"update_{one}", f"Change one {one}", {"200": _answer(f"The {one} as it is now.", record, etag)}, WRITING,
        parameters=[STRUCTURE, IF_MATCH, CLIENT], body=f"{kind}Change", content_type="application/merge-patch+json",
    )  # fmt: skip
    timeline = _operation(
        tag, f"get_{one}_timeline", f"What happened with one {one}, newest first", {"200": _answer("A page.", "TimelinePage")}, READING,
        parameters=[LIMIT, CURSOR, CLIENT],
    )  # fmt: skip
    return {
        path: {"get": listing, "post": create},
        f"{path}/{{id}}": {"parameters": [ID], "get": get, "patch": change},
        f"{path}/{{id}}/timeline": {"parameters": [ID], "get": timeline},
    }


def _admin() -> Json:
    denied = ("401", "403", "503")
    sought = [_parameter(name, {"type": "string", "minLength": 1}) for name in ("client", "tool")]
    sought += [_parameter("channel", {"enum": list(CHANNELS)}), _parameter("state", {"enum": list(STATES)})]
    inbox = _operation(
        "Inbox", "list_deliveries", "List deliveries, newest first", {"200": _answer("A page.", "DeliveryPage")},
        (*denied, "422"), parameters=[LIMIT, CURSOR, *sought, SINCE, WITH_PROBLEMS],
    )  # fmt: skip
    delivery = _operation(
        "Inbox", "get_delivery", "Get one delivery with its body", {"200": _answer("The delivery.", "DeliveryDetail")}, (*denied, "404")
    )
    replay = _operation(
        "Inbox", "replay_delivery", "Apply one delivery again", {"202": _answer("It waits.", "DeliveryOut")},
        (*denied, "404", "408", "409", "413", "422"),
    )  # fmt: skip
    groups = _operation(
        "Inbox", "group_deliveries", "Count deliveries that changed nothing and look alike", {"200": _answer("Groups.", "DeliveryGroups")},
        (*denied, "422"), parameters=[LIMIT, *sought[:3], _parameter("state", {"enum": list(GROUPED)})],
    )  # fmt: skip
    waits = {"202": _answer("They wait.", "ReplayOut"), "200": _answer("What would change (`dry_run`).", "ReplayOut")}
    replays = _operation(
        "Inbox", "replay_deliveries", "Apply many deliveries again", waits, ("400", *denied, "408", "413", "415", "422"),
        body="ReplayRequest",
    )  # fmt: skip
    clients = _operation(
        "Clients", "list_clients", "List clients", {"200": _answer("A page.", "ClientPage")}, (*denied, "422"), parameters=[LIMIT, CURSOR]
    )
    client = _operation("Clients", "get_client", "Get one client", {"200": _answer("The client.", "ClientDetail")}, (*denied, "404"))
    put = _operation(
        "Clients", "put_client", "Replace a client's settings, or add the client",
        {"200": _answer("The client as it is now.", "ClientDetail"), "201": _answer("The new client.", "ClientDetail")},
        ("400", *denied, "404", "409", "408", "413", "415", "422"), body="ClientRequest",
    )  # fmt: skip
    return {
        "/admin/v1/deliveries": {"get": inbox},
        "/admin/v1/deliveries/groups": {"get": groups},
        "/admin/v1/deliveries/replay": {"post": replays},
        "/admin/v1/deliveries/{id}": {"parameters": [ID], "get": delivery},
        "/admin/v1/deliveries/{id}/replay": {"parameters": [ID], "post": replay},
        "/admin/v1/clients": {"get": clients},
        "/admin/v1/clients/{client_id}": {"parameters": [CLIENT_ID_IN_PATH], "get": client, "put": put},
    }


def _connections() -> Json:
    denied, writing = ("401", "403", "503", "404"), ("400", "408", "413", "415", "422")
    shown = {"200": _answer("The connection; secrets are never shown.", "ConnectionOut")}
    path = "/admin/v1/clients/{client_id}/connections"
    listing = _operation(
        "Connections", "list_connections", "List a client's connections", {"200": _answer("All of them.", "ConnectionPage")},
        (*denied, "422"),
    )  # fmt: skip
    connect = _operation(
        "Connections", "connect", "Connect a tool", {"201": _answer("The new connection.", "ConnectionOut", ("Location",))},
        (*denied, *writing, "409"), body="ConnectionRequest",
    )  # fmt: skip
    get = _operation("Connections", "get_connection", "Get one connection", shown, denied)
    change = _operation(
        "Connections", "change_connection", "Change one connection", shown, (*denied, *writing, "409"), body="ConnectionChange",
        content_type="application/merge-patch+json",
    )  # fmt: skip
    gone = {"204": {"description": "Disconnected; what the tool has sent stays."}}
    remove = _operation("Connections", "disconnect", "Disconnect a tool", gone, denied)
    return {
        path: {"parameters": [CLIENT_ID_IN_PATH], "get": listing, "post": connect},
        f"{path}/{{channel}}/{{tool}}": {
            "parameters": [CLIENT_ID_IN_PATH, CHANNEL_IN_PATH, TOOL_IN_PATH], "get": get, "patch": change, "delete": remove,
        },
    }  # fmt: skip


def _operation(
    tag: str,
    name: str,
    summary: str,
    answers: Json,
    problems: tuple[str, ...],
    *,
    parameters: Any = (),
    body: str = "",
    content_type: str = "application/json",
) -> Json:
    responses = {**answers, **{status: {"$ref": f"#/components/responses/{_problem_name(status)}"} for status in problems}}
    made: Json = {"tags": [tag], "operationId": name, "summary": summary, "parameters": list(parameters), "responses": responses}
    if body:
        content = {kind: {"schema": {"$ref": f"#/components/schemas/{body}"}} for kind in dict.fromkeys((content_type, "application/json"))}
        made["requestBody"] = {"required": True, "content": content}
    return made


def _answer(about: str, schema: str, headers: tuple[str, ...] = ()) -> Json:
    made: Json = {"description": about, "content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema}"}}}}
    if headers:
        made["headers"] = {name: {"schema": {"type": "string"}} for name in headers}
    return made


def _problem_name(status: str) -> str:
    return f"Problem{status}"


def _problem(status: str) -> Json:
    made: Json = {"description": PROBLEMS[status]}
    made["content"] = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}, "example": problem(status)}}
    return made


def _parameter(name: str, schema: Json, about: str = "", place: str = "query") -> Json:
    made: Json = {"name": name, "in": place, "required": place == "path", "schema": schema}
    return {**made, "description": about} if about else made


def _contact_filters() -> list[Json]:
    return [
        _parameter("email", {"type": "string", "format": "email"}, "Compared in its normal form."),
        _parameter("linkedin_url", {"type": "string", "minLength": 1}, "Compared in its normal form."),
        _parameter("contact_status", {"type": "string", "minLength": 1}),
        _parameter("company_id", {"type": "integer", "minimum": 1, "maximum": limits.LARGEST_ID}),
        UPDATED_SINCE,
    ]


def _company_filters() -> list[Json]:
    return [
        _parameter("domain", {"type": "string", "minLength": 1}, "Compared in its normal form."),
        _parameter("company_status", {"type": "string", "minLength": 1}),
        UPDATED_SINCE,
    ]


_CLIENT_ID = {"type": "string", "pattern": f"^[A-Za-z0-9._~\\-]{{1,{limits.CLIENT_ID}}}$"}
ID = _parameter("id", {"type": "integer", "minimum": 1, "maximum": limits.LARGEST_ID}, place="path")
CLIENT_ID_IN_PATH = _parameter("client_id", _CLIENT_ID, place="path")
CHANNEL_IN_PATH = _parameter("channel", {"enum": list(CHANNELS)}, place="path")
TOOL_IN_PATH = _parameter("tool", {"type": "string", "pattern": "^[a-z0-9_]{1,40}$"}, place="path")
CLIENT = _parameter("X-Client-Id", _CLIENT_ID, "The client, where the key names none. Without keys: `default` when left out.", "header")
STRUCTURE = _parameter("structure", {"enum": list(STRUCTURES), "default": "NESTED"}, "The format of custom fields in the answer.")
ON_DUPLICATE_PARAMETER = _parameter(
    "on_duplicate", {"enum": list(ON_DUPLICATE)}, "When the record exists: 409, answer it, or merge into it. Without it the client decides."
)
LIMIT = _parameter(
    "limit", {"type": "integer", "minimum": 1, "maximum": LARGEST_PAGE, "default": USUAL_PAGE}, "How many a page holds at most."
)
CURSOR = _parameter("cursor", {"type": "string"}, "`next_cursor` of the page before; blank or left out: the first page.")
SINCE = _parameter("received_since", {"type": "string", "format": "date-time"}, "Only those received then or later.")
WITH_PROBLEMS = _parameter("problems", {"type": "boolean"}, "Only those that were applied with a problem.")
UPDATED_SINCE = _parameter(
    "updated_since",
    {"type": "string", "format": "date-time"},
    "The list is then in order of change. Who follows changes asks from a minute before the latest seen.",
)
IF_MATCH = _parameter("If-Match", {"type": "string"}, "The ETag that the record must still have.", "header")
