"""`If-Match` on deletions, restorations and merges, and the names of their events."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.house import House

PAGE = (Path(__file__).parents[2] / "docs/reference/events.md").read_text().partition("## From the API\n")[2]


async def test_events__of_the_bin_and_of_merges_stand_on_their_page(house: House) -> None:
    contact = await house.contact(first_name="Jane")
    await house.request("PATCH", f"/public/v2/contacts/{contact}", {"last_name": "Doe"})
    await house.delete(contact)
    await house.restore(contact)
    merge = (await house.merge(contact, await house.contact()))["merge_id"]
    await house.undo(contact, merge)
    events = await house.timeline(contact)

    assert {*events} == {f"contact.{what}" for what in ("created", "updated", "deleted", "restored", "merged")}
    assert [event for event in events if f"| `{event}`, `{event.replace('contact', 'company')}` |" not in PAGE] == []


async def test_if_match__of_deletions_restorations_and_merges(house: House) -> None:
    jane, john = await house.contact(email="jane@example.com"), await house.contact(first_name="John")
    read = (await house.request("GET", f"/public/v2/contacts/{jane}")).headers["etag"]
    await house.request("PATCH", f"/public/v2/contacts/{jane}", {"first_name": "Jane"})
    now = (await house.request("GET", f"/public/v2/contacts/{jane}")).headers["etag"]

    late = [
        await house.request("DELETE", f"/public/v2/contacts/{jane}", if_match=read),
        await house.request("DELETE", f"/public/v2/contacts/{jane}?erase=true", if_match=read),
        await house.request("DELETE", f"/public/v2/contacts/{jane}?dry_run=true", if_match=read),
        await house.request("POST", f"/public/v2/contacts/{jane}/merge", {"with": [john]}, if_match=read),
    ]
    deleted = await house.request("DELETE", f"/public/v2/contacts/{jane}", if_match=now)
    tag = deleted.headers["etag"]
    late.append(await house.request("POST", f"/public/v2/contacts/{jane}/restore", if_match=read))
    restored = await house.request("POST", f"/public/v2/contacts/{jane}/restore", if_match=tag)
    merged = await house.request("POST", f"/public/v2/contacts/{jane}/merge", {"with": [john]}, if_match=restored.headers["etag"])

    assert [reply.status for reply in late] == [412] * 5
    assert [reply.status for reply in (deleted, restored, merged)] == [200, 200, 200]
    assert await house.differences() == []


async def test_if_match__is_decided_with_the_write(house: House) -> None:
    """Of several writes that have read the same state, one is carried out."""
    john = await house.contact(first_name="John")

    async def tag(number: int) -> str:
        return (await house.request("GET", f"/public/v2/contacts/{number}")).headers["etag"]

    for target, method, body in (("", "DELETE", None), ("/merge", "POST", {"with": [john]})):
        number = await house.contact(email="jane@example.com")
        read = await tag(number)
        replies = await asyncio.gather(
            house.request("PATCH", f"/public/v2/contacts/{number}", {"first_name": "Jane"}, if_match=read),
            house.request(method, f"/public/v2/contacts/{number}{target}", body, if_match=read),
        )
        assert sorted(reply.status for reply in replies)[0] == 200
        assert sorted(reply.status for reply in replies)[1] in (404, 412)
        await house.request("DELETE", f"/public/v2/contacts/{number}")

    assert await house.differences() == []
