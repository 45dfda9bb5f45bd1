"""Live changes: a stream over all clients that somebody may see, until the key, the session or the person ends."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.asgi_client import ApiClient, MakeClient, Streamed
from tests.auth.test_people import PAGE, Browser, Office, PersonalKey, grants, office, quick_passwords
from tests.conversations.test_people import reply_to
from tests.house import House

from touchbase.auth.service import ADMIN, KEY_ID, add_key
from touchbase.event_log.feed import Feed
from touchbase.live import api
from touchbase.sql.store import Store

__all__ = ["office", "quick_passwords"]
PATH = api.PATH
PATIENCE = 25


class Live:
    """An open stream, piece by piece."""

    def __init__(self, call: ApiClient, **headers: str) -> None:
        self.streamed = Streamed(call, PATH, **headers)
        self._messages = self._read()

    async def _read(self) -> AsyncIterator[tuple[str, dict[str, Any]]]:
        async for piece in self.streamed.pieces():
            for message in piece.split("\n\n"):
                fields = dict(line.split(": ", 1) for line in message.split("\n") if line)
                if "event" in fields:
                    yield fields["event"], json.loads(fields["data"])

    async def next(self) -> tuple[str, dict[str, Any]]:
        async with asyncio.timeout(PATIENCE):
            return await anext(self._messages)

    async def until(self, kind: str) -> dict[str, Any]:
        """The next notice of this type."""
        while True:
            _, data = await self.next()
            if data.get("type") == kind:
                return data

    async def end(self) -> list[tuple[str, dict[str, Any]]]:
        """What comes until the stream ends."""
        async with asyncio.timeout(PATIENCE):
            return [message async for message in self._messages]

    async def leave(self) -> None:
        async with asyncio.timeout(PATIENCE):
            await self.streamed.leave()


async def another_reply(office: Office, client_id: str, contact: int) -> None:
    message = {"direction": "received", "contact_id": contact, "text": "And one more thing"}
    assert (await office("POST", "/public/v2/messages", message, x_client_id=client_id)).status == 201


async def opened(call: ApiClient, **headers: str) -> Live:
    live = Live(call, **headers)
    assert await live.next() == ("ready", {})
    return live


async def of(browser: Browser) -> Live:
    return await opened(browser.call, cookie=browser.cookie, **PAGE)


async def test_stream__has_the_changes_of_all_visible_clients_with_who_made_them(office: Office) -> None:
    contacts = {client_id: await reply_to(office, client_id) for client_id in ("ours", "yours", "theirs")}
    mira = await office.join("mira@example.com", grants=grants(ours="operator", yours="viewer"))
    joe = await office.join("joe@example.com", role="operator")
    live = await of(mira)

    for client_id, contact in contacts.items():
        done = await joe("PATCH", f"/team/v1/conversations/{client_id}/{contact}", {"state": "done"})
        assert done.status == 200
    untils = [await live.until("conversation.done") for _ in range(2)]
    await another_reply(office, "theirs", contacts["theirs"])
    await another_reply(office, "ours", contacts["ours"])
    arrived = await live.until("message.received")

    assert {(notice["client_id"], notice["record"], notice["record_id"]) for notice in untils} == {
        (client_id, "contact", contacts[client_id]) for client_id in ("ours", "yours")
    }
    assert untils[0]["actor"] == {"type": "user", "id": joe.user["id"], "name": "Joe", "via": "console"}
    assert arrived["client_id"] == "ours"
    await live.leave()


async def test_stream__says_that_a_conversation_was_snoozed_or_labelled(office: Office) -> None:
    contact = await reply_to(office, "ours")
    mira = await office.join("mira@example.com", role="operator")
    live = await of(mira)

    for body in ({"snoozed_until": "2026-11-21T09:30:00Z"}, {"label": "later"}, {"kind": "automatic"}):
        assert (await mira("PATCH", f"/team/v1/conversations/ours/{contact}", body)).status == 200
        assert (await live.until("conversation.updated"))["record_id"] == contact
    await live.leave()


async def test_stream__ends_with_the_session_the_person_and_the_key(office: Office) -> None:
    mira = await office.join("mira@example.com", role="operator")
    joe = await office.join("joe@example.com", role="operator")
    personal = await PersonalKey.of(joe)
    key = await office.key_of("ours", "records:read")
    key_id = key["authorization"].removeprefix("Bearer ")[KEY_ID]
    signed_in, suspended, of_person, of_key = (
        await of(mira), await of(joe), await opened(office.call, **personal.headers), await opened(office.call, **key),
    )  # fmt: skip

    assert (await mira("DELETE", "/console/session")).status == 204
    assert (await office("PATCH", f"/team/v1/users/{joe.user['id']}", {"state": "suspended"})).status == 200
    assert (await office("DELETE", f"/admin/v1/keys/{key_id}")).status == 204

    for live in (signed_in, suspended, of_person, of_key):
        assert [(event, data["code"]) for event, data in await live.end()][-1:] == [("error", "unauthorized")]
        assert live.streamed.task.done() or await asyncio.wait_for(live.streamed.task, PATIENCE) is None


async def test_stream__follows_the_clients_that_a_person_may_see(office: Office) -> None:
    mira = await office.join("mira@example.com", grants=grants(ours="operator"))
    live = await of(mira)

    rights = grants(ours="operator", theirs="viewer")
    assert (await office("PATCH", f"/team/v1/users/{mira.user['id']}", {"grants": rights})).status == 200
    await live.until("access.changed")
    contact = await reply_to(office, "theirs")

    assert (await live.until("message.received"))["client_id"] == "theirs"
    assert (await office("PATCH", f"/team/v1/users/{mira.user['id']}", {"grants": grants(ours="operator")})).status == 200
    await live.until("access.changed")
    await another_reply(office, "theirs", contact)
    await reply_to(office, "ours")
    assert (await live.until("message.received"))["client_id"] == "ours"
    await live.leave()


async def test_operator_of_two_clients__meets_no_other_by_address_search_stream_or_key(office: Office) -> None:
    contacts = {client_id: await reply_to(office, client_id) for client_id in ("ours", "yours", "theirs")}
    mira = await office.join("mira@example.com", grants=grants(ours="operator", yours="operator"))
    key = await PersonalKey.of(mira)
    handle = (await office("GET", "/admin/v1/clients/theirs")).json()["handle"]
    live = await of(mira)

    for browser, name in itertools.product((mira, key), ("theirs", handle, "nobody")):
        of_it = {"x_client_id": name}
        for path in (f"/public/v2/contacts/{contacts['theirs']}", "/public/v2/contacts?q=ann", "/public/v2/messages"):
            assert (await browser("GET", path, **of_it)).status == 404, (path, name)
        assert (await browser("GET", f"/team/v1/conversations/{name}/{contacts['theirs']}")).status == 404
    for browser in (mira, key):
        found = (await browser("GET", "/team/v1/conversations?q=ann")).json()["data"]
        assert {conversation["client_id"] for conversation in found} == {"ours", "yours"}
        assert (await browser("GET", "/team/v1/counters")).json()["open"] == 2
    for client_id in ("theirs", "yours"):
        await another_reply(office, client_id, contacts[client_id])
    assert (await live.until("message.received"))["client_id"] == "yours"
    await live.leave()


async def test_stream__of_a_reader_that_falls_behind_is_one_notice_for_each_client(
    store: Store, make_client: MakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = House(make_client(store, feed=Feed(store, look_seconds=3_600)))
    await house.contact(email="jane@example.com")
    live = await opened(house.call)
    await house.contact(email="first@example.com")
    await live.until("contact.created")
    monkeypatch.setattr(api, "MOST", 1)
    commands = [{"op": "create", "body": {"email": f"p{n}@example.com"}} for n in range(3)]
    await house.call.post("/public/v2/contacts/batch", {"commands": commands, "atomic": True})  # it sees all of them at once

    assert await live.next() == ("change", {"type": "many", "client_id": house.client_id})
    await live.leave()


async def test_stream__reads_the_store_once_in_a_pause(store: Store, make_client: MakeClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "PAUSE_SECONDS", 3_600.0)
    feed = Feed(store)
    house = House(make_client(store, feed=feed))
    await house.contact(email="jane@example.com")
    live = await opened(house.call)
    await house.contact(email="first@example.com")
    assert (await live.next())[1]["type"] == "contact.created"

    later = await opened(house.call)
    await house.contact(email="second@example.com")
    await later.until("contact.created")
    reading = asyncio.ensure_future(live.next())
    await house.contact(email="third@example.com")  # the stream would have read the second one by now

    assert not reading.done()
    reading.cancel()
    await live.leave()
    await later.leave()


async def test_stream__sees_a_webhook_that_is_refused(store: Store, make_client: MakeClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "KEEP_ALIVE_SECONDS", 0.05)
    house = House(make_client(store))
    await house.contact(email="jane@example.com")
    live = await opened(house.call)

    await house.hook("camp", {"event": "of a kind that nobody knows"})

    await live.until("attention.changed")
    await live.leave()


async def test_stream__says_who_else_writes_an_answer(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "PRESENCE_SECONDS", 0.05)
    ours, theirs = await reply_to(office, "ours"), await reply_to(office, "theirs")
    mira = await office.join("mira@example.com", role="operator")
    joe = await office.join("joe@example.com", grants=grants(ours="viewer"))
    own, live = await of(mira), await of(joe)

    for client_id, contact in (("theirs", theirs), ("ours", ours)):
        path = f"/team/v1/conversations/{client_id}/{contact}/draft"
        assert (await mira("PUT", path, {"text": "Thursday at ten"})).status == 204

    notice = await live.until("presence")
    assert (notice["client_id"], notice["record_id"], notice["actor"]["name"]) == ("ours", ours, "Mir")
    await another_reply(office, "ours", ours)
    types = [(await own.next())[1]["type"]]
    while types[-1] != "message.received":
        types.append((await own.next())[1]["type"])
    assert "presence" not in types
    await live.leave()
    await own.leave()


async def test_stream__is_refused_to_too_many_readers_and_ends_with_the_server(store: Store, make_client: MakeClient) -> None:
    feed = Feed(store, 2)
    call = make_client(store, auth="api-key", feed=feed)
    key = {"authorization": f"Bearer {await add_key(store, None, [ADMIN], 'first', call.clock.now)}"}
    live = [await opened(call, **key) for _ in range(2)]

    refused = await call("GET", PATH, **key)
    feed.stop()

    assert (refused.status, refused.headers["retry-after"]) == (503, "5")
    assert [await item.end() for item in live] == [[], []]


@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_stream__ends_at_once_for_a_reader_that_is_gone(store: Store, make_client: MakeClient, method: str) -> None:
    house = House(make_client(store))
    await house.contact(email="jane@example.com")

    async with asyncio.timeout(PATIENCE):
        reply = await house.call(method, PATH)

    assert (reply.status, reply.headers["content-type"], b"ready" in reply.body) == (200, "text/event-stream", method == "GET")
