"""Duplicates of all clients: each person sees the pairs of the clients that the role is for, in pages of any size."""

from __future__ import annotations

from typing import Any

import pytest
from tests.auth.test_people import Browser, Office, grants, office, quick_passwords

from touchbase.merging.api import duplicates

__all__ = ["office", "quick_passwords"]
CLIENTS = ("ours", "yours", "theirs")
PATH = "/team/v1/contacts/duplicates"


async def pairs(browser: Browser | Office, size: int, path: str = PATH) -> list[tuple[str, list[str]]]:
    """The client and the names of each pair of all pages."""
    found: list[tuple[str, list[str]]] = []
    cursor = ""
    while True:
        reply: Any = await browser("GET", f"{path}?limit={size}{cursor}")
        assert reply.status == 200, reply.body
        for pair in reply.json()["data"]:
            found.append((pair["client_id"], [record.get("email") or record["domain"] for record in pair[path.split("/")[3]]]))
        if reply.json()["next_cursor"] is None:
            return found
        cursor = f"&cursor={reply.json()['next_cursor']}"


@pytest.fixture
async def filled(office: Office) -> Office:
    """Three clients with two pairs of contacts and one of companies, and one without any."""
    await office.client("none")
    for client_id in CLIENTS:
        headers = {"x_client_id": client_id}
        for name in ("jane", "cleo"):
            for address in (f"{name}@a.example", f"{name}.doe@a.example"):
                body = {"email": address, "first_name": name.title(), "last_name": f"Doe {name}"}
                assert (await office("POST", "/public/v2/contacts", body, **headers)).status == 201
        for domain in ("acme.example", "acme.test"):
            assert (await office("POST", "/public/v2/companies", {"domain": domain, "name": "Acme"}, **headers)).status == 201
    return office


@pytest.mark.parametrize("most", [1, 2, 25])
async def test_pairs_of_all_clients__are_complete_in_pages_of_any_size(filled: Office, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duplicates, "MOST_CLIENTS", most)
    by_client = {
        client_id: (await filled("GET", "/public/v2/contacts/duplicates", x_client_id=client_id)).json()["data"] for client_id in CLIENTS
    }
    expected = sorted((client_id, [one["email"] for one in pair["contacts"]]) for client_id in CLIENTS for pair in by_client[client_id])

    assert len(expected) >= 6
    for size in (1, 2, 50):
        assert sorted(await pairs(filled, size)) == expected, size
    assert [client_id for client_id, _ in await pairs(filled, 50, "/team/v1/companies/duplicates")] == sorted(CLIENTS)


async def test_pairs_of_all_clients__are_those_that_a_person_may_see(filled: Office) -> None:
    mira = await filled.join("mira@example.com", grants=grants(ours="admin", yours="viewer"))
    sam = await filled.join("sam@example.com", grants=grants(theirs="viewer"))

    assert {client_id for client_id, _ in await pairs(mira, 1)} == {"ours", "yours"}
    assert {client_id for client_id, _ in await pairs(sam, 50)} == {"theirs"}
    assert (await mira("GET", f"{PATH}?client=theirs")).status == 404
    assert {pair["client_id"] for pair in (await mira("GET", f"{PATH}?client=yours")).json()["data"]} == {"yours"}


async def test_cursor_of_a_client_that_is_gone__goes_on_with_the_next_one(filled: Office) -> None:
    first = (await filled("GET", f"{PATH}?limit=1")).json()
    assert (await filled("DELETE", "/admin/v1/clients/ours?confirm=ours")).status in (200, 202)

    following = (await filled("GET", f"{PATH}?limit=50&cursor={first['next_cursor']}")).json()

    assert first["data"][0]["client_id"] == "ours"
    assert {pair["client_id"] for pair in following["data"]} == {"theirs", "yours"}
