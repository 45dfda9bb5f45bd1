"""Do-not-contact lists, the bin and erasures of all clients: each person sees those of the clients that the role is for."""

from __future__ import annotations

from typing import Any

import pytest
from tests.auth.test_people import Browser, Office, grants, office, quick_passwords
from tests.conversations.test_people import reply_to

__all__ = ["office", "quick_passwords"]
CLIENTS = ("ours", "yours", "theirs")
LISTS = ("/team/v1/suppressions", "/team/v1/contacts/deleted", "/team/v1/erasures")


async def pages(browser: Browser | Office, path: str, size: int = 1) -> list[str]:
    """The clients of all items of a list, read in pages."""
    owners: list[str] = []
    cursor = ""
    while True:
        reply: Any = await browser("GET", f"{path}?limit={size}{cursor}")
        assert reply.status == 200, reply.body
        owners += [item["client_id"] for item in reply.json()["data"]]
        if reply.json()["next_cursor"] is None:
            return owners
        cursor = f"&cursor={reply.json()['next_cursor']}"


@pytest.fixture
async def filled(office: Office) -> Office:
    """Two entries, a deleted contact and an erasure of each client."""
    for client_id in CLIENTS:
        headers = {"x_client_id": client_id}
        for value in ("ann@a.example", "b.example"):
            assert (await office("POST", "/public/v2/suppressions", {"value": value}, **headers)).status == 201
        for name, how in (("ann", ""), ("bob", "?erase=true")):
            contact = await reply_to(office, client_id, name)
            assert (await office("DELETE", f"/public/v2/contacts/{contact}{how}", **headers)).status == 200
    return office


async def test_lists_of_all_clients__are_complete_in_pages_of_any_size(filled: Office) -> None:
    for path in LISTS:
        expected = sorted([*CLIENTS] * (2 if path.endswith("suppressions") else 1))
        for size in (1, 2, 50):
            assert sorted(await pages(filled, path, size)) == expected, (path, size)
        assert (await filled("GET", f"{path}?client=yours")).json()["data"][0]["client_id"] == "yours"
    found = (await filled("GET", "/team/v1/suppressions?value=B.example")).json()["data"]
    assert [(entry["client_id"], entry["value"]) for entry in found] == [(client_id, "b.example") for client_id in CLIENTS]
    assert (await filled("GET", "/team/v1/companies/deleted")).json()["data"] == []


async def test_lists_of_all_clients__have_what_a_person_may_see(filled: Office) -> None:
    mira = await filled.join("mira@example.com", grants=grants(ours="admin", yours="viewer"))

    assert {path: {*(await pages(mira, path))} for path in LISTS} == {
        "/team/v1/suppressions": {"ours", "yours"}, "/team/v1/contacts/deleted": {"ours", "yours"}, "/team/v1/erasures": {"ours"},
    }  # fmt: skip
    for path in LISTS:
        assert (await mira("GET", f"{path}?client=theirs")).status == 404
