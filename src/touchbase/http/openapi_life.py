"""The description of the calls about clients' lives, about keys and about the server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from touchbase.auth.api import KeyOut, KeyPage, KeyRequest, KeyRotation, NewKeyOut
from touchbase.auth.api_key import KEY_STATES
from touchbase.clients.api.life import ClientChange, IdRotation, NewClient
from touchbase.clients.api.settings import ClientDetail
from touchbase.clients.models import CLIENT_STATES
from touchbase.http.health import StatusOut

Json = dict[str, Any]
Make = Callable[..., Json]
TYPES = (NewClient, ClientChange, IdRotation, ClientDetail, KeyRequest, KeyRotation, KeyOut, NewKeyOut, KeyPage, StatusOut)
DENIED = ("401", "403", "503")
WRITING = ("400", "408", "413", "415", "422")
CLIENT = "/admin/v1/clients/{client_id}"


def add_paths(paths: Json, operation: Make, answer: Make, parameter: Make, page: list[Json]) -> Json:
    """The paths with these calls put in; the makers are those of the whole document."""
    sought = [
        parameter("state", {"enum": list(CLIENT_STATES)}),
        parameter("name", {"type": "string", "minLength": 1}, "Part of its name or id."),
    ]
    paths["/admin/v1/clients"]["get"]["parameters"] += sought
    paths["/admin/v1/clients"]["post"] = _create(operation, answer)
    shown = {"200": answer("The client as it is now.", "ClientDetail")}
    one = paths[CLIENT]
    one["patch"] = operation(
        "Clients", "rename_client", "Give a client another name", shown, (*DENIED, *WRITING, "404", "409"), body="ClientChange",
        content_type="application/merge-patch+json",
    )  # fmt: skip
    one["delete"] = operation(
        "Clients", "delete_client", "Delete a client with all its data",
        {"202": answer("It is closed, and its data is being removed.", "ClientDetail")}, (*DENIED, "404", "422"),
        parameters=[{**parameter("confirm", {"type": "string"}, "The client's id once more."), "required": True}],
    )  # fmt: skip
    described = {"parameters": one["parameters"]}
    for name, about in (("suspend", "Close a client's records; its webhook calls are kept"), ("resume", "Open a suspended client again")):
        paths[f"{CLIENT}/{name}"] = {
            **described, "post": operation("Clients", f"{name}_client", about, shown, (*DENIED, "404", "409")),
        }  # fmt: skip
    rotate = operation(
        "Clients", "rotate_client_id", "Give a client another id; the one before is honoured for a while", shown,
        (*DENIED, *WRITING, "404", "409"), body="IdRotation",
    )  # fmt: skip
    paths[f"{CLIENT}/rotate-id"] = {**described, "post": rotate}
    told = operation("Status", "get_status", "Say how the server is", {"200": answer("How it is.", "StatusOut")}, DENIED)
    return {**paths, **_keys(operation, answer, parameter, page), "/admin/v1/status": {"get": told}}


def _create(operation: Make, answer: Make) -> Json:
    made = {"201": answer("The new client.", "ClientDetail", ("Location",))}
    return operation("Clients", "create_client", "Make a client", made, (*DENIED, *WRITING, "409"), body="NewClient")


def _keys(operation: Make, answer: Make, parameter: Make, page: list[Json]) -> Json:
    sought = [parameter("client", {"type": "string", "minLength": 1}), parameter("state", {"enum": list(KEY_STATES)})]
    listing = operation(
        "Keys", "list_keys", "List API keys, newest first", {"200": answer("A page.", "KeyPage")}, (*DENIED, "422"),
        parameters=[*page, *sought],
    )  # fmt: skip
    made = {"201": answer("The new key; its text is shown this once.", "NewKeyOut", ("Location",))}
    create = operation("Keys", "create_key", "Make an API key", made, (*DENIED, *WRITING, "404"), body="KeyRequest")
    get = operation("Keys", "get_key", "Get one key", {"200": answer("The key.", "KeyOut")}, (*DENIED, "404"))
    rotate = operation(
        "Keys", "rotate_key", "Make a key's successor, and let the key end", made, (*DENIED, *WRITING, "404", "409"), body="KeyRotation"
    )  # fmt: skip
    revoke = operation("Keys", "revoke_key", "Revoke a key", {"204": {"description": "It opens nothing any more."}}, (*DENIED, "404"))
    key_id = [parameter("key_id", {"type": "string", "pattern": "^[0-9a-f]{12}$"}, place="path")]
    return {
        "/admin/v1/keys": {"get": listing, "post": create},
        "/admin/v1/keys/{key_id}": {"parameters": key_id, "get": get, "delete": revoke},
        "/admin/v1/keys/{key_id}/rotate": {"parameters": key_id, "post": rotate},
    }
