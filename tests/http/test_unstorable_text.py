"""What no store can hold, in a path or in a cursor that somebody made up: it is refused, and never a fault of ours."""

from __future__ import annotations

import pytest
from tests.asgi_client import ApiClient

from touchbase.http.query_parameters import cursor_text

CONTACTS, KEYS, CONNECTION = "/public/v2/contacts", "/admin/v1/keys", "/admin/v1/clients/default/connections/crm"


@pytest.mark.parametrize(
    ("method", "target"),
    [
        ("GET", f"{KEYS}/%00"),
        ("DELETE", f"{KEYS}/a%00b"),
        ("POST", f"{KEYS}/%00/rotate"),
        ("GET", f"{CONNECTION}/%00"),
        ("PATCH", f"{CONNECTION}/%00"),
        ("DELETE", f"{CONNECTION}/hubspot%00"),
        ("GET", f"{CONTACTS}/1%00"),
        ("GET", "/admin/v1/clients/%00"),
        ("GET", "/docs/%00"),
    ],
)
async def test_path__with_a_nul_gets_404(call: ApiClient, method: str, target: str) -> None:
    await call.post(CONTACTS, {"first_name": "Jane"})

    reply = await call(method, target, {} if method in ("POST", "PATCH") else None)

    assert (reply.status, reply.problem["code"]) == (404, "not_found")


LISTS = [
    (CONTACTS, "contacts by creation", (0, 1)),
    (f"{CONTACTS}?updated_since=2026-01-01", "contacts by time", (0, 1)),
    (f"{CONTACTS}/1/timeline", "contact 1", (0, "a")),
    (f"{CONTACTS}/1/export", "export 1", 1),
    ("/admin/v1/deliveries", "deliveries", 1),
    ("/admin/v1/clients", "clients", "a"),
    (KEYS, "keys", (0, "a")),
    ("/team/v1/events", "/team/v1/events", (0, 1, 1)),
    ("/team/v1/conversations", "/team/v1/conversations/newest", (0, 1, 1)),
]
UNSTORABLE = (2**63, 2**64, -(2**63) - 1, -(2**63), 2**63 - 1, "a\0")
"""Also numbers whose neighbour no store can hold: lists look for what is next to a place."""


def spoilt(place: object) -> list[object]:
    """This place with what no store can hold in each of its parts."""
    if isinstance(place, tuple):
        return [(*place[:at], worse, *place[at + 1 :]) for at in range(len(place)) for worse in spoilt(place[at])]
    return [worse for worse in UNSTORABLE if type(worse) is type(place)]


@pytest.mark.parametrize(("target", "listing", "place"), LISTS, ids=[listing for _, listing, _ in LISTS])
async def test_cursor__with_unstorable_values_gets_422(call: ApiClient, target: str, listing: str, place: object) -> None:
    await call.post(CONTACTS, {"first_name": "Jane"})
    joined = "&" if "?" in target else "?"

    good = await call.get(f"{target}{joined}cursor={cursor_text(listing, place)}")
    replies = [await call.get(f"{target}{joined}cursor={cursor_text(listing, worse)}") for worse in spoilt(place)]

    assert good.status == 200
    assert len(replies) >= 1
    assert {(reply.status, reply.problem["errors"][0]["pointer"]) for reply in replies} == {(422, "?cursor")}


@pytest.mark.parametrize("place", [("default", 2**64), ("default\0", 1), ("default", None)])
async def test_replay_cursor__with_unstorable_values_gets_422(call: ApiClient, place: tuple[str, int | None]) -> None:
    await call.post(CONTACTS, {"first_name": "Jane"})

    reply = await call.post("/admin/v1/deliveries/replay", {"state": "failed", "cursor": cursor_text("replay", place)})

    assert (reply.status, reply.body.count(b'"/cursor"')) == ((202, 0) if place == ("default", None) else (422, 1))
