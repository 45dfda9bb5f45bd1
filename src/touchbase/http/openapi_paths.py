"""The paths of the OpenAPI document: every operation with its parameters and responses."""

from __future__ import annotations

from touchbase.auth.api_key import KEY_STATES
from touchbase.clients.models import CLIENT_STATES
from touchbase.common import field_limits as limits
from touchbase.connections.models import CHANNELS
from touchbase.http.openapi_operations import (
    CHANNEL_IN_PATH,
    CLIENT,
    CLIENT_ID_IN_PATH,
    CURSOR,
    ID,
    IF_MATCH,
    KEY_ID_IN_PATH,
    LIMIT,
    NON_EMPTY,
    ON_DUPLICATE_PARAMETER,
    SINCE,
    STRUCTURE,
    TOOL_IN_PATH,
    UPDATED_SINCE,
    WITH_PROBLEMS,
    Json,
    operation,
    parameter,
    response,
)
from touchbase.inbox.delivery import STATES
from touchbase.inbox.refused import CAUSES
from touchbase.inbox.service import GROUPED

READ = ("401", "403", "404", "422", "503")
WRITE = ("400", "401", "403", "404", "408", "409", "412", "413", "415", "422", "503")
DENIED = ("401", "403", "503")
BODY = ("400", "408", "413", "415", "422")
"""Statuses of problems, by kind of operation."""

RECEIVERS = ("emailcampaign-webhook", "crm-webhook")
WEBHOOK_BODY: Json = {  # one content type: generators that find several cannot send a value without a type
    "required": False,
    "description": "The tool's webhook. Most tools send JSON; any other content type, such as a form or XML, is accepted too.",
    "content": {
        "application/json": {"schema": {"description": "Any JSON value."}, "example": {"event": "reply", "email": "jane@example.com"}}
    },
}


def all_paths() -> Json:
    """Return all paths of the interface."""
    paths: Json = {**_records("contacts", "contact"), **_records("companies", "company")}
    paths["/public/v2/contacts/{id}"]["delete"] = _erase_contact()
    return {**paths, **_export(), **_webhooks(), **_inbox(), **_clients(), **_connections(), **_keys(), **_status()}


def _records(many: str, one: str) -> Json:
    kind = one.capitalize()
    path, tag = f"/public/v2/{many}", many.capitalize()
    filters = _contact_filters() if one == "contact" else _company_filters()
    restore = "Create a person who was erased; without it that is a 409 `person_erased`."
    restoring = [parameter("restore_erased", {"type": "boolean"}, restore)] if one == "contact" else []
    created = {
        "201": response(f"The new {one}.", f"{kind}Response", ("Location", "ETag")),
        "200": response(f"The {one} that existed (`on_duplicate`).", f"{kind}Response", ("Location", "ETag")),
    }
    record, etag = f"{kind}Response", ("ETag",)
    create = operation(
        tag, f"create_{one}", f"Create a {one}", created, tuple(status for status in WRITE if status != "412"),
        parameters=[STRUCTURE, ON_DUPLICATE_PARAMETER, CLIENT, *restoring], body=f"{kind}Request",
    )  # fmt: skip
    listing = operation(
        tag, f"list_{many}", f"List {many}, newest last", {"200": response("A page.", f"{kind}Page")}, READ,
        parameters=[STRUCTURE, LIMIT, CURSOR, *filters, CLIENT],
    )  # fmt: skip
    get = operation(
        tag, f"get_{one}", f"Get one {one}", {"200": response(f"The {one}.", record, etag)}, READ, parameters=[STRUCTURE, CLIENT]
    )  # fmt: skip
    change = operation(
        tag, f"update_{one}", f"Update one {one}", {"200": response(f"The {one} as it is now.", record, etag)}, WRITE,
        parameters=[STRUCTURE, IF_MATCH, CLIENT], body=f"{kind}Change", content_type="application/merge-patch+json",
    )  # fmt: skip
    timeline = operation(
        tag, f"get_{one}_timeline", f"Get the timeline of one {one}, newest first", {"200": response("A page.", "TimelinePage")}, READ,
        parameters=[LIMIT, CURSOR, CLIENT],
    )  # fmt: skip
    return {
        path: {"get": listing, "post": create},
        f"{path}/{{id}}": {"parameters": [ID], "get": get, "patch": change},
        f"{path}/{{id}}/timeline": {"parameters": [ID], "get": timeline},
    }


def _contact_filters() -> list[Json]:
    return [
        parameter("email", {"type": "string", "format": "email"}, "Compared in its normal form."),
        parameter("linkedin_url", NON_EMPTY, "Compared in its normal form."),
        parameter("contact_status", NON_EMPTY),
        parameter("company_id", {"type": "integer", "minimum": 1, "maximum": limits.LARGEST_ID}),
        UPDATED_SINCE,
    ]


def _company_filters() -> list[Json]:
    return [
        parameter("domain", NON_EMPTY, "Compared in its normal form."),
        parameter("company_status", NON_EMPTY),
        UPDATED_SINCE,
    ]


def _inbox() -> Json:
    filters = [parameter(name, NON_EMPTY) for name in ("client", "tool")]
    channel = parameter("channel", {"enum": list(CHANNELS)})
    state = parameter("state", {"enum": list(STATES)})
    listing = operation(
        "Inbox", "list_deliveries", "List deliveries, newest first", {"200": response("A page.", "DeliveryPage")},
        (*DENIED, "422"), parameters=[LIMIT, CURSOR, *filters, channel, state, SINCE, WITH_PROBLEMS],
    )  # fmt: skip
    delivery = operation(
        "Inbox", "get_delivery", "Get one delivery with its body", {"200": response("The delivery.", "DeliveryDetail")}, (*DENIED, "404")
    )
    replay = operation(
        "Inbox", "replay_delivery", "Apply one delivery again", {"202": response("It waits to be applied.", "DeliveryOut")},
        (*DENIED, "404", "408", "409", "413", "422"),
    )  # fmt: skip
    groups = operation(
        "Inbox", "group_deliveries", "Count similar deliveries that changed nothing", {"200": response("Groups.", "DeliveryGroups")},
        (*DENIED, "422"), parameters=[LIMIT, *filters, channel, parameter("state", {"enum": list(GROUPED)})],
    )  # fmt: skip
    replayed = {"202": response("They wait to be applied.", "ReplayOut"), "200": response("What would change (`dry_run`).", "ReplayOut")}
    replay_many = operation(
        "Inbox", "replay_deliveries", "Apply many deliveries again", replayed, ("400", *DENIED, "408", "413", "415", "422"),
        body="ReplayRequest",
    )  # fmt: skip
    refusals = operation(
        "Inbox", "list_refusals", "List refused webhooks, newest first", {"200": response("A page.", "RefusalPage")},
        (*DENIED, "422"), parameters=[LIMIT, CURSOR, *filters, channel, parameter("cause", {"enum": list(CAUSES)})],
    )  # fmt: skip
    return {
        "/admin/v1/deliveries": {"get": listing},
        "/admin/v1/deliveries/groups": {"get": groups},
        "/admin/v1/deliveries/replay": {"post": replay_many},
        "/admin/v1/deliveries/{id}": {"parameters": [ID], "get": delivery},
        "/admin/v1/deliveries/{id}/replay": {"parameters": [ID], "post": replay},
        "/admin/v1/refusals": {"get": refusals},
    }


def _clients() -> Json:
    path, in_path = "/admin/v1/clients/{client_id}", {"parameters": [CLIENT_ID_IN_PATH]}
    changed = {"200": response("The client as it is now.", "ClientDetail")}
    listing = operation(
        "Clients", "list_clients", "List clients", {"200": response("A page.", "ClientPage")}, (*DENIED, "422"),
        parameters=[
            LIMIT, CURSOR, parameter("state", {"enum": list(CLIENT_STATES)}), parameter("name", NON_EMPTY, "Part of its name or id."),
        ],
    )  # fmt: skip
    create = operation(
        "Clients", "create_client", "Create a client", {"201": response("The new client.", "ClientDetail", ("Location",))},
        (*DENIED, *BODY, "409"), body="NewClient",
    )  # fmt: skip
    get = operation("Clients", "get_client", "Get one client", {"200": response("The client.", "ClientDetail")}, (*DENIED, "404"))
    put = operation(
        "Clients", "put_client", "Replace a client's settings, or create the client",
        {**changed, "201": response("The new client.", "ClientDetail")}, (*DENIED, *BODY, "404", "409"), body="ClientRequest",
    )  # fmt: skip
    rename = operation(
        "Clients", "rename_client", "Rename a client", changed, (*DENIED, *BODY, "404", "409"), body="ClientChange",
        content_type="application/merge-patch+json",
    )  # fmt: skip
    delete = operation(
        "Clients", "delete_client", "Delete a client with all its data",
        {"202": response("It is closed, and its data is being removed.", "ClientDetail")}, (*DENIED, "404", "422"),
        parameters=[{**parameter("confirm", {"type": "string"}, "The client's id again."), "required": True}],
    )  # fmt: skip
    suspend = operation(
        "Clients", "suspend_client", "Close a client's records; its webhooks are still stored", changed, (*DENIED, "404", "409")
    )
    resume = operation("Clients", "resume_client", "Open a suspended client again", changed, (*DENIED, "404", "409"))
    rotate = operation(
        "Clients", "rotate_client_id", "Give a client a new id; the old one stays valid for a while", changed,
        (*DENIED, *BODY, "404", "409"), body="IdRotation",
    )  # fmt: skip
    return {
        "/admin/v1/clients": {"get": listing, "post": create},
        path: {**in_path, "get": get, "put": put, "patch": rename, "delete": delete},
        f"{path}/suspend": {**in_path, "post": suspend},
        f"{path}/resume": {**in_path, "post": resume},
        f"{path}/rotate-id": {**in_path, "post": rotate},
    }


def _connections() -> Json:
    shown = {"200": response("The connection; secrets are never shown.", "ConnectionOut")}
    path = "/admin/v1/clients/{client_id}/connections"
    listing = operation(
        "Connections", "list_connections", "List a client's connections", {"200": response("All connections.", "ConnectionPage")},
        (*DENIED, "404", "422"),
    )  # fmt: skip
    connect = operation(
        "Connections", "connect", "Connect a tool", {"201": response("The new connection.", "ConnectionOut", ("Location",))},
        (*DENIED, "404", *BODY, "409"), body="ConnectionRequest",
    )  # fmt: skip
    get = operation("Connections", "get_connection", "Get one connection", shown, (*DENIED, "404"))
    change = operation(
        "Connections", "change_connection", "Update one connection", shown, (*DENIED, "404", *BODY, "409"), body="ConnectionChange",
        content_type="application/merge-patch+json",
    )  # fmt: skip
    gone = {"204": {"description": "Disconnected; records and deliveries stay."}}
    remove = operation("Connections", "disconnect", "Disconnect a tool", gone, (*DENIED, "404"))
    return {
        path: {"parameters": [CLIENT_ID_IN_PATH], "get": listing, "post": connect},
        f"{path}/{{channel}}/{{tool}}": {
            "parameters": [CLIENT_ID_IN_PATH, CHANNEL_IN_PATH, TOOL_IN_PATH], "get": get, "patch": change, "delete": remove,
        },
    }  # fmt: skip


def _keys() -> Json:
    listing = operation(
        "Keys", "list_keys", "List API keys, newest first", {"200": response("A page.", "KeyPage")}, (*DENIED, "422"),
        parameters=[LIMIT, CURSOR, parameter("client", NON_EMPTY), parameter("state", {"enum": list(KEY_STATES)})],
    )  # fmt: skip
    created = {"201": response("The new key; its text is shown only here.", "NewKeyOut", ("Location",))}
    create = operation("Keys", "create_key", "Create an API key", created, (*DENIED, *BODY, "404"), body="KeyRequest")
    get = operation("Keys", "get_key", "Get one key", {"200": response("The key.", "KeyOut")}, (*DENIED, "404"))
    rotate = operation(
        "Keys", "rotate_key", "Create a key's successor, and let the key expire", created, (*DENIED, *BODY, "404", "409"),
        body="KeyRotation",
    )  # fmt: skip
    revoke = operation("Keys", "revoke_key", "Revoke a key", {"204": {"description": "The key is invalid now."}}, (*DENIED, "404"))
    in_path = {"parameters": [KEY_ID_IN_PATH]}
    return {
        "/admin/v1/keys": {"get": listing, "post": create},
        "/admin/v1/keys/{key_id}": {**in_path, "get": get, "delete": revoke},
        "/admin/v1/keys/{key_id}/rotate": {**in_path, "post": rotate},
    }


def _status() -> Json:
    status = operation("Status", "get_status", "Get the server's status", {"200": response("The status.", "StatusOut")}, DENIED)
    return {"/admin/v1/status": {"get": status}}


def _erase_contact() -> Json:
    erase = parameter("erase", {"type": "boolean"}, "Must be true: deleting a contact erases its person.")
    return operation(
        "Contacts", "erase_contact", "Erase a person: the contact, its timeline, and the webhooks that mention the person",
        {"200": response("What was erased.", "ErasureOut")}, READ, parameters=[{**erase, "required": True}, CLIENT],
    )  # fmt: skip


def _export() -> Json:
    export = operation(
        "Contacts", "export_contact", "Export everything that is stored about one person", {"200": response("A page.", "PersonExport")},
        READ, parameters=[LIMIT, CURSOR, CLIENT],
    )  # fmt: skip
    return {"/public/v2/contacts/{id}/export": {"parameters": [ID], "get": export}}


def _webhooks() -> Json:
    return {
        f"/public/{name}/{{client_id}}": {"parameters": [CLIENT_ID_IN_PATH], "post": _receive(name), "get": _check(name)}
        for name in RECEIVERS
    }


def _receive(name: str) -> Json:
    stored = {"200": {"description": "Stored, or stored before. No body, unless the tool's own protocol requires one."}}
    made = operation(
        "Webhooks", name.replace("-", "_"), "Receive a webhook and store it byte for byte", stored, ("401", "404", "408", "413", "503")
    )
    return {**made, "requestBody": WEBHOOK_BODY, "security": []}


def _check(name: str) -> Json:
    made = operation(
        "Webhooks", f"check_{name.replace('-', '_')}", "Let a tool check the address", {"200": {"description": "No body."}}, ("404",)
    )
    return {**made, "security": []}
