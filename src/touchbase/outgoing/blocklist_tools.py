"""Blocklists of campaign tools: requests that add an address or remove it, and the meaning of responses. Nothing is sent here.

References, read 2026-11-28: Instantly API v2 (block-lists-entries), Smartlead API (domain-block-list), lemlist API (unsubscribes),
ReachInbox API (blocklist): the vendors' pages. HeyReach, EmailBison, Woodpecker and Reply.io: clients that others published.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import msgspec

from touchbase.connections.models import Connection
from touchbase.connections.tools import ApiRequest, ApiResponse, FetchFailed
from touchbase.do_not_contact.models import DOMAIN, EMAIL, LINKEDIN_URL

_MAILS = (EMAIL, DOMAIN)
FOUND_BYTES = 262_144
"""Bytes of a response that lists at most 100 entries; it is read on the event loop."""
LONGEST_ID = 200
"""Characters of the id of an entry."""
_TAKEN = ("already", "exists", "duplicate")
"""Words with which a tool refuses an entry that its list has."""


@dataclass(frozen=True, slots=True)
class Blocklist:
    """How to add an entry to one tool's blocklist."""

    name: str
    """The tool as people write it."""
    base: str | None
    """Base URL of the API; None: each customer has an own one."""
    headers: Callable[[str], Mapping[str, str]]
    """Headers of a request by the access token."""
    add: Callable[[str, str], tuple[str, Mapping[str, Any] | None]]
    """Path and body of the request for a kind of entry and its value, by POST."""
    test: str
    """Path of a request that shows that the token is right and changes nothing, by GET."""
    kinds: tuple[str, ...] = _MAILS
    """The kinds of entries that the tool takes."""
    token_in_query: str = ""
    """The parameter for the token, of an API that takes it in no header."""
    remove: Callable[[str, str], tuple[str, str, Mapping[str, Any] | None]] | None = None
    """Method, path and body of the request that removes an entry; with `{id}` in the path, which `find` finds. None: not published."""
    find: Callable[[str], str] | None = None
    """Path of a request that lists the entries with a value."""


def _bearer(token: str) -> Mapping[str, str]:
    return {"authorization": f"Bearer {token}"}


def _emailbison(kind: str, value: str) -> tuple[str, Mapping[str, Any]]:
    return ("/api/blacklisted-emails", {"email": value}) if kind == EMAIL else ("/api/blacklisted-domains", {"domain": value})


def _woodpecker(kind: str, value: str) -> tuple[str, Mapping[str, Any]]:
    return ("/rest/v2/blacklist/emails", {"emails": [value]}) if kind == EMAIL else ("/rest/v2/blacklist/domains", {"domains": [value]})


def _heyreach(kind: str, value: str) -> tuple[str, Mapping[str, Any]]:
    return "/blacklist/AddLeads", {"leads": [{"email" if kind == EMAIL else "profileUrl": value}]}


def _without_woodpecker(kind: str, value: str) -> tuple[str, str, Mapping[str, Any]]:
    return "DELETE", *_woodpecker(kind, value)


def _without_heyreach(kind: str, value: str) -> tuple[str, str, Mapping[str, Any]]:
    return "POST", "/blacklist/RemoveLeads", _heyreach(kind, value)[1]


BLOCKLISTS: Mapping[str, Blocklist] = {
    "instantly": Blocklist(
        "Instantly", "https://api.instantly.ai/api/v2", _bearer,
        lambda kind, value: ("/block-lists-entries", {"bl_value": value}), "/block-lists-entries?limit=1",
        remove=lambda kind, value: ("DELETE", "/block-lists-entries/{id}", None),
        find=lambda value: f"/block-lists-entries?limit=100&search={quote(value, safe='')}",
    ),
    "smartlead": Blocklist(
        "Smartlead", "https://server.smartlead.ai/api/v1", lambda token: {},
        lambda kind, value: ("/leads/add-domain-block-list", {"domain_block_list": [value]}),
        "/leads/get-domain-block-list?offset=0&limit=1", token_in_query="api_key",  # noqa: S106 (a name)
        remove=lambda kind, value: ("DELETE", "/leads/delete-domain-block-list?id={id}", None),
        find=lambda value: f"/leads/get-domain-block-list?offset=0&limit=100&filter_email_or_domain={quote(value, safe='')}",
    ),
    "lemlist": Blocklist(
        "lemlist", "https://api.lemlist.com/api", lambda token: {"authorization": f"Basic {b64encode(f':{token}'.encode()).decode()}"},
        lambda kind, value: (f"/v2/unsubscribes/variables/{quote(value, safe='')}", None), "/v2/unsubscribes/variables?limit=1",
        (EMAIL, DOMAIN, LINKEDIN_URL),
        remove=lambda kind, value: ("DELETE", f"/v2/unsubscribes/variables/{quote(value, safe='')}", None),
    ),
    "heyreach": Blocklist(
        "HeyReach", "https://api.heyreach.io/api/public", lambda token: {"x-api-key": token}, _heyreach, "/auth/CheckApiKey",
        (EMAIL, LINKEDIN_URL), remove=_without_heyreach,
    ),
    "reply_io": Blocklist(
        "Reply.io", "https://api.reply.io", lambda token: {"x-api-key": token, **_bearer(token)},  # version 1 and version 3 of its API
        lambda kind, value: (f"/v1/Blacklist?{kind}={quote(value, safe='')}", None), "/v1/Blacklist?outputType=Domains",
    ),
    "emailbison": Blocklist("EmailBison", None, _bearer, _emailbison, "/api/blacklisted-emails"),
    "woodpecker": Blocklist(
        "Woodpecker", "https://api.woodpecker.co", lambda token: {"x-api-key": token}, _woodpecker, "/rest/v2/blacklist/emails?per_page=1",
        remove=_without_woodpecker,
    ),
    "reachinbox": Blocklist(
        "ReachInbox", "https://api.reachinbox.ai", _bearer,
        lambda kind, value: ("/api/v1/blocklist/add", {"emails" if kind == EMAIL else "domains": [value]}),
        "/api/v1/blocklist/emails?limit=1",
    ),
}  # fmt: skip
"""By tool, the blocklists that an endpoint of the kind `blocklist` fills."""


def request_to_add(tool: str, connection: Connection, kind: str, value: str) -> ApiRequest:
    """Return the request that puts an address on the tool's blocklist."""
    path, body = BLOCKLISTS[tool].add(kind, value)
    return request_of(tool, connection, "POST", path, body)


def request_to_find(tool: str, connection: Connection, value: str) -> ApiRequest | None:
    """Return the request that finds the id of an entry; None if the tool removes entries by their address."""
    find = BLOCKLISTS[tool].find
    return None if find is None else request_of(tool, connection, "GET", find(value), None)


def request_to_remove(tool: str, connection: Connection, kind: str, value: str, entry_id: str) -> ApiRequest:
    """Return the request that takes an address off the tool's blocklist."""
    remove = BLOCKLISTS[tool].remove
    assert remove is not None
    method, path, body = remove(kind, value)
    return request_of(tool, connection, method, path.replace("{id}", quote(entry_id, safe="")), body)


def entry_id_in(response: ApiResponse, value: str) -> str:
    """Return the id of the entry with exactly this value in a list of entries; empty if there is none, never a guess.

    Raises `FetchFailed` for a response that is no such list. Instantly's DELETE without an id empties the whole list.
    """
    try:
        body = msgspec.json.decode(response.body) if len(response.body) <= FOUND_BYTES else None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        body = None
    members = body.values() if isinstance(body, dict) else (body,)
    rows = next((member for member in members if isinstance(member, list)), None)
    if rows is None:
        raise FetchFailed(f"the response to a search of the list has more than {FOUND_BYTES:,} bytes, or is no list of entries")
    for row in rows:
        if not isinstance(row, dict) or not isinstance(number := row.get("id"), str | int):
            continue
        entry = row.get("bl_value") or row.get("email_or_domain")
        if isinstance(entry, str) and entry.lower() == value.lower() and len(str(number)) <= LONGEST_ID:
            return str(number)
    return ""


def request_to_test(tool: str, connection: Connection) -> ApiRequest:
    """Return a request that changes nothing."""
    return request_of(tool, connection, "GET", BLOCKLISTS[tool].test, None)


def request_of(tool: str, connection: Connection, method: str, path: str, body: Mapping[str, Any] | None) -> ApiRequest:
    """Return a request to the tool's API with the token of the connection."""
    blocklist = BLOCKLISTS[tool]
    headers = {"accept": "application/json", **blocklist.headers(connection.access_token)}
    if blocklist.token_in_query:
        path += f"{'&' if '?' in path else '?'}{blocklist.token_in_query}={quote(connection.access_token, safe='')}"
    if body is None:
        return ApiRequest(method, path, headers)
    return ApiRequest(method, path, headers | {"content-type": "application/json"}, msgspec.json.encode(body))


def is_taken(response: ApiResponse) -> bool:
    """Return whether the tool refuses an entry because its list has it."""
    text = response.body[:4_000].decode("utf-8", "replace").lower()
    return response.status == 409 or (response.status in (400, 422) and any(word in text for word in _TAKEN))


def refusal(response: ApiResponse) -> str:
    """Return why a 2xx response is a refusal in the tool's words; empty: it is none.

    Smartlead answers 200 with `success: false`, HeyReach 200 with `validationErrors`, some with `error`.
    """
    try:
        body = msgspec.json.decode(response.body[:100_000])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ""
    if not isinstance(body, dict):
        return ""
    if body.get("success") is False or body.get("ok") is False:
        return "the response says that it did not succeed"
    return next((f"the response has {name}" for name in ("validationErrors", "error", "errors") if body.get(name)), "")


def advice(tool: str, response: ApiResponse) -> str:
    """Return advice for a person about a response; empty if the tool's own words have it."""
    name = BLOCKLISTS[tool].name
    if response.status == 401:
        return f"{name} refuses the access token of the connection: give it a new one"
    if response.status == 402:
        return f"{name} asks for a plan that has an API"
    if response.status == 403:
        return f"the access token of the connection may not change the blocklist: give it a {name} token that may"
    if 300 <= response.status < 400 or response.status in (404, 405):
        return f"this is not the API of {name}: correct the setting api_base of the connection"
    return ""
