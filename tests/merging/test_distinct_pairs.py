"""Pairs that are not the same: for everybody, listed, reversible, and that they go where their records go."""

from __future__ import annotations

from typing import Any

from tests.auth.test_people import Office, office, quick_passwords

__all__ = ["office", "quick_passwords"]
CONTACTS, COMPANIES = "/public/v2/contacts", "/public/v2/companies"
PAIRS = "/team/v1/distinct-pairs/ours"


async def jane(office: Office, number: int) -> int:
    members = {"email": f"jane{number}@firm.example", "first_name": "Jane", "last_name": "Doe"}
    reply = await office("POST", CONTACTS, members, x_client_id="ours")
    assert reply.status == 201, reply
    return int(reply.json()["id"])


async def duplicates(office: Office, path: str = CONTACTS) -> set[tuple[int, ...]]:
    many = path.rpartition("/")[2]
    page = (await office("GET", f"{path}/duplicates", x_client_id="ours")).json()
    return {tuple(record["id"] for record in pair[many]) for pair in page["data"]}


async def distinct(office: Any, path: str = f"{PAIRS}/contacts") -> list[list[int]]:
    return [pair["ids"] for pair in (await office("GET", path)).json()["data"]]


async def test_pair__is_no_duplicate_for_anybody_until_it_is_taken_back(office: Office) -> None:
    first, second, third = [await jane(office, number) for number in range(3)]
    mira = await office.join("mira@example.com", role="operator")
    assert await duplicates(office) == {(first, second), (first, third), (second, third)}

    for _ in range(2):
        assert (await mira("POST", f"{PAIRS}/contacts", {"ids": [second, first]})).status == 204

    assert await duplicates(office) == {(first, third), (second, third)}
    [pair] = (await office("GET", f"{PAIRS}/contacts")).json()["data"]
    assert (pair["ids"], pair["actor"]["name"]) == ([first, second], "Mir")
    acts = (await office("GET", "/team/v1/audit-events?action=duplicate.refused")).json()["data"]
    assert acts[0]["target"]["id"] == f"contact {first} {second}"
    assert (await mira("DELETE", f"{PAIRS}/contacts/{second}/{first}")).status == 204
    assert (await mira("DELETE", f"{PAIRS}/contacts/{first}/{second}")).status == 404
    assert await duplicates(office) == {(first, second), (first, third), (second, third)}


async def test_pair_of_companies__and_pages(office: Office) -> None:
    ids = []
    for number in range(3):
        reply = await office("POST", COMPANIES, {"domain": f"firm{number}.example", "name": "Kestrel Freight"}, x_client_id="ours")
        ids.append(reply.json()["id"])
    for other in ids[1:]:
        assert (await office("POST", f"{PAIRS}/companies", {"ids": [ids[0], other]})).status == 204

    assert await duplicates(office, COMPANIES) == {(ids[1], ids[2])}
    page = (await office("GET", f"{PAIRS}/companies?limit=1")).json()
    following = (await office("GET", f"{PAIRS}/companies?limit=1&cursor={page['next_cursor']}")).json()
    assert [pair["ids"] for pair in (*page["data"], *following["data"])] == [[ids[0], other] for other in ids[1:]]
    assert following["next_cursor"] is None


async def test_faults(office: Office) -> None:
    first = await jane(office, 1)
    same = await office("POST", f"{PAIRS}/contacts", {"ids": [first, first]})
    missing = await office("POST", f"{PAIRS}/contacts", {"ids": [first, 999]})
    odd = await office("DELETE", f"{PAIRS}/contacts/x/{first}")

    assert (same.status, same.json()["errors"][0]["pointer"], missing.status, odd.status) == (422, "/ids", 404, 404)


async def test_merge__takes_pairs_along_and_its_undo_gives_them_back(office: Office) -> None:
    first, second, third = [await jane(office, number) for number in range(3)]
    await office("POST", f"{PAIRS}/contacts", {"ids": [second, third]})

    merged = await office("POST", f"{CONTACTS}/{first}/merge", {"with": [second]}, x_client_id="ours")

    assert merged.status == 200, merged
    assert await distinct(office) == [[first, third]]
    assert await duplicates(office) == set()
    merge_id = merged.json()["merge_id"]
    assert (await office("POST", f"{CONTACTS}/{first}/merge/{merge_id}/undo", x_client_id="ours")).status == 200
    assert [second, third] in await distinct(office)


async def test_bin_and_erasure__take_pairs_along(office: Office) -> None:
    first, second, third = [await jane(office, number) for number in range(3)]
    for other in (second, third):
        await office("POST", f"{PAIRS}/contacts", {"ids": [first, other]})

    assert (await office("DELETE", f"{CONTACTS}/{second}", x_client_id="ours")).status == 200
    assert await distinct(office) == [[first, third]]
    await office("POST", f"{CONTACTS}/{second}/restore", x_client_id="ours")
    assert await distinct(office) == [[first, second], [first, third]]
    assert (await office("DELETE", f"{CONTACTS}/{third}?erase=true", x_client_id="ours")).status == 200

    assert await distinct(office) == [[first, second]]
