"""HubSpot's words for write-back: requests of its API, and meanings of its responses.

Reference: developers.hubspot.com, CRM objects (update a contact), properties (read one), usage guidelines (rate limits), read 2026-11-26.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import msgspec

from touchbase.connections.models import Connection
from touchbase.connections.tools import ApiRequest, ApiResponse

TOOL, OBJECT = "hubspot", "contact"
API = "https://api.hubapi.com"
SCHEME = "hubspot:"
SHOWN = f"{SCHEME}contacts"
"""The URL of an endpoint of this kind: it names the written records, and nothing is sent to it."""
_CONTACTS = "/crm/v3/objects/contacts"
_OBJECTS, _PROPERTY = "contacts", "properties"
_ID = re.compile(r"[0-9]{1,20}")
_TOO_MANY = 429
_INTERVAL = "x-hubspot-ratelimit-interval-milliseconds"
LIMIT_SECONDS, DAILY_SECONDS = 10, 3_600
"""Pause after a 429 that names no time: of the limit for ten seconds, and of the limit for a day."""


def is_id(text: str) -> bool:
    """Return whether a text has the form of HubSpot's ids; it becomes part of a path."""
    return _ID.fullmatch(text) is not None


def write_target(client: int, objects: Sequence[str]) -> str:
    """Return the target of a write to these contacts."""
    return f"{SCHEME}{client}/{_OBJECTS}/{','.join(objects)}"


def test_target(client: int, name: str) -> str:
    """Return the target of a test: the property is read, and nothing is written."""
    return f"{SCHEME}{client}/{_PROPERTY}/{name}"


def client_of(target: str) -> int:
    """Return the client of a target."""
    return int(target.removeprefix(SCHEME).partition("/")[0])


def requests_of(target: str, connection: Connection, body: bytes) -> list[ApiRequest]:
    """Return the requests of a target, one for each contact."""
    _, place, names = target.removeprefix(SCHEME).split("/")
    headers = {"authorization": f"Bearer {connection.access_token}", "accept": "application/json"}
    if place == _PROPERTY:
        return [ApiRequest("GET", f"/crm/v3/properties/contacts/{names}", headers)]
    headers["content-type"] = "application/json"
    return [ApiRequest("PATCH", f"{_CONTACTS}/{name}", headers, body) for name in names.split(",")]


def paths_of(target: str) -> list[str]:
    """Return the method and path of each request of a write."""
    return [f"PATCH {_CONTACTS}/{number}" for number in target.rpartition("/")[2].split(",")]


def status_body(name: str, status: str | None, values: Mapping[str, str]) -> bytes:
    """Return the body that sets the property to a status, by the name that HubSpot has for it; no status empties it."""
    return msgspec.json.encode({"properties": {name: values.get(status or "", status or "")}})


def is_gone(response: ApiResponse) -> bool:
    """Return whether HubSpot says that it has no such object; a 404 that is not JSON comes from another server."""
    return response.status in (404, 410) and response.body.lstrip()[:1] == b"{"


def advice(request: ApiRequest, response: ApiResponse) -> str:
    """Return advice for a person about a response; empty if HubSpot's own words have it."""
    if response.status == 401:
        return "HubSpot refuses the access token of the connection: give it a new one"
    if response.status == 403:
        return "the access token of the connection lacks a permission: it needs crm.objects.contacts.read and crm.objects.contacts.write"
    if request.method == "GET" and is_gone(response):
        return "HubSpot's contacts have no such property: make it there, or correct the setting written_property of the connection"
    if 300 <= response.status < 400 or (response.status == 404 and not is_gone(response)):
        return "this is not HubSpot's API: correct the setting api_base of the connection"
    return ""


def headers_of(response: ApiResponse) -> Mapping[str, str]:
    """Return the headers; a 429 gets a `Retry-After` by the limit that HubSpot names, if it has none."""
    if response.status != _TOO_MANY or "retry-after" in response.headers:
        return response.headers
    interval = response.headers.get(_INTERVAL, "")
    seconds = -(-int(interval) // 1_000) if interval.isascii() and interval.isdigit() and len(interval) < 10 else LIMIT_SECONDS
    if b'"DAILY"' in response.body.upper():
        seconds = DAILY_SECONDS
    return {**response.headers, "retry-after": str(seconds)}
