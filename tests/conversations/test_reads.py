"""Read marks: each person has read a conversation up to a reply, by every way in."""

from __future__ import annotations

from tests.auth.test_people import Browser, Office, grants, office, quick_passwords
from tests.conversations.test_conversations import PATH
from tests.conversations.test_people import reply_to
from tests.live.test_stream import another_reply

__all__ = ["office", "quick_passwords"]


async def unread(browser: Browser, query: str = "") -> list[bool]:
    reply = await browser("GET", f"{PATH}{query}")
    assert reply.status == 200, reply.body
    return [conversation["unread"] for conversation in reply.json()["data"]]


async def counted(browser: Browser) -> int:
    return int((await browser("GET", "/team/v1/counters")).json()["unread"])


async def test_read_conversation__is_unread_again_after_the_next_reply_and_for_others(office: Office) -> None:
    contact = await reply_to(office, "ours")
    mira, ben = [await office.join(f"{name}@example.com", role="viewer") for name in ("mira", "ben")]
    before = await unread(mira), await counted(mira)

    marked = await mira("POST", f"{PATH}/ours/{contact}/read")

    assert (before, marked.status) == (([True], 1), 204)
    assert (await unread(mira), await counted(mira), await unread(mira, "?unread=true")) == ([False], 0, [])
    assert (await unread(ben), await counted(ben)) == ([True], 1)
    office.call.clock.move(1)
    await another_reply(office, "ours", contact)
    assert (await unread(mira), await unread(mira, "?unread=true"), await counted(mira)) == ([True], [True], 1)
    assert (await mira("GET", f"{PATH}/ours/{contact}")).json()["unread"] is True


async def test_unread_mark__is_taken_away_and_set_again(office: Office) -> None:
    contact = await reply_to(office, "ours")
    mira = await office.join("mira@example.com", role="operator")

    await mira("POST", f"{PATH}/ours/{contact}/read")
    assert (await mira("DELETE", f"{PATH}/ours/{contact}/read")).status == 204
    again = await unread(mira)
    await mira("PATCH", f"{PATH}/ours/{contact}", {"state": "done"})

    assert again == [True]
    assert (await unread(mira, "?state=done"), await unread(mira, "?state=done&unread=true"), await counted(mira)) == ([False], [], 0)


async def test_mark__is_refused_after_a_reply_that_nobody_has_seen(office: Office) -> None:
    contact = await reply_to(office, "ours")
    mira = await office.join("mira@example.com", role="viewer")
    version = (await mira("GET", f"{PATH}/ours/{contact}")).json()["version"]
    office.call.clock.move(1)
    await another_reply(office, "ours", contact)

    refused = await mira("POST", f"{PATH}/ours/{contact}/read", if_match=f'"{version}"')

    assert (refused.status, await unread(mira)) == (412, [True])


async def test_mark__is_for_people_who_may_see_the_client(office: Office) -> None:
    contacts = {client_id: await reply_to(office, client_id) for client_id in ("ours", "theirs")}
    mira = await office.join("mira@example.com", grants=grants(ours="viewer"))

    assert (await mira("POST", f"{PATH}/theirs/{contacts['theirs']}/read")).status == 404
    assert (await mira("POST", f"{PATH}/ours/999/read")).status == 404
    assert (await office("POST", f"{PATH}/ours/{contacts['ours']}/read")).status == 403
    assert (await office("GET", PATH)).json()["data"][0]["unread"] is False


async def test_mark__goes_with_its_contact(office: Office) -> None:
    contact = await reply_to(office, "ours")
    mira = await office.join("mira@example.com", role="operator")
    await mira("POST", f"{PATH}/ours/{contact}/read")

    await office("DELETE", f"/public/v2/contacts/{contact}", x_client_id="ours")

    assert (await mira("POST", f"{PATH}/ours/{contact}/read")).status == 404
