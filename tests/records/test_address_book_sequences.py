"""The address book under any sequence of writes: a key has at most one owner, and every way in finds the same one."""

from __future__ import annotations

import itertools
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.asgi_client import MakeClient
from tests.custom_fields.conftest import _settled
from tests.custom_fields.fields import done
from tests.examples import examples
from tests.house import House, read

from touchbase.clients.sql.clients import find_client
from touchbase.imports.report import ImportOptions
from touchbase.imports.rows import ContactCells, ValidRow
from touchbase.imports.sql import import_rows
from touchbase.imports.table import Row
from touchbase.records.create import creation_of
from touchbase.records.record_type import CONTACT_TYPE
from touchbase.sql.store import Store

__all__ = ["_settled"]
CONTACTS = "/public/v2/contacts"
ADDRESSES = [f"{name}@x.example" for name in "abcd"]
PROFILES = ["https://www.linkedin.com/in/ann", "https://www.linkedin.com/in/bob"]
_NUMBERS = itertools.count()
EMAILS = st.lists(st.sampled_from(ADDRESSES), min_size=1, max_size=3, unique=True)
PLACE = st.integers(0, 3)
STEP = st.one_of(
    st.tuples(st.sampled_from(["create", "update", "put", "import"]), EMAILS, st.none() | st.sampled_from(PROFILES)),
    st.tuples(st.just("merge"), PLACE, PLACE),
    st.tuples(st.sampled_from(["undo", "delete", "restore"]), PLACE),
    st.tuples(st.just("emails"), PLACE, EMAILS),
    st.tuples(st.just("email"), PLACE, st.sampled_from(ADDRESSES)),
    st.tuples(st.sampled_from(["unset", "erase"]), PLACE),
    st.tuples(st.just("camp"), st.sampled_from(ADDRESSES), st.none() | st.sampled_from(PROFILES), st.integers(-50, 0)),
    st.tuples(st.just("replay")),
    st.tuples(st.just("field"), PLACE, st.sampled_from("AB"), st.sampled_from(["1", "2", None])),
    st.tuples(st.just("rename"), st.sampled_from("AB"), st.sampled_from("BC")),
    st.tuples(st.just("crm"), st.sampled_from("12"), EMAILS, st.integers(-50, 0)),
)


class Program:
    """The contacts and merges of one client, and the steps that change them."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.deleted: list[int] = []
        self.merges: list[tuple[int, int]] = []

    async def run(self, kind: str, *said: Any) -> None:
        """Run one step; many are refused, which must change nothing."""
        self.house.call.clock.move(1)
        await getattr(self, f"_{kind}")(*said)

    async def _at(self, place: int) -> int | None:
        numbers = sorted(item["id"] for item in await self.house.listed())
        return numbers[place % len(numbers)] if numbers else None

    async def _send(self, method: str, target: str, body: Any = None) -> Any:
        reply = await self.house.request(method, target, body)
        assert reply.status in (200, 201, 202, 404, 409, 422), (method, target, body, reply.body)
        return reply

    async def _create(self, emails: list[str], profile: str | None, query: str = "") -> None:
        await self._send("POST", CONTACTS + query, {"emails": emails, "linkedin_url": profile})

    async def _update(self, emails: list[str], profile: str | None) -> None:
        await self._create(emails, profile, "?on_duplicate=update")

    async def _put(self, emails: list[str], profile: str | None) -> None:
        await self._send("PUT", f"{CONTACTS}?match=email", {"emails": emails} | ({} if profile is None else {"linkedin_url": profile}))

    async def _import(self, emails: list[str], profile: str | None) -> None:
        client = await self.house.call.parts.store.read(find_client(self.house.client_id))
        assert client is not None
        now = self.house.call.clock()
        cells = ContactCells(emails=emails, linkedin_url=profile or "")
        row = ValidRow(Row(1, []), creation_of(CONTACT_TYPE, cells, client, now, "update"))
        await self.house.call.parts.store.write(
            import_rows(client.number, "contact", [row], ImportOptions(started_us=now), now, client.settings)
        )

    async def _merge(self, place: int, second_item: int) -> None:
        first, second = await self._at(place), await self._at(second_item)
        if first is not None and second is not None and first != second:
            self.merges.append((first, (await self.house.merge(first, second))["merge_id"]))

    async def _undo(self, place: int) -> None:
        if self.merges:
            number, merge = self.merges[place % len(self.merges)]
            await self._send("POST", f"{CONTACTS}/{number}/merge/{merge}/undo")

    async def _delete(self, place: int) -> None:
        number = await self._at(place)
        if number is not None:
            await self.house.delete(number)
            self.deleted.append(number)

    async def _restore(self, place: int) -> None:
        if self.deleted:
            await self._send("POST", f"{CONTACTS}/{self.deleted[place % len(self.deleted)]}/restore")

    async def _emails(self, place: int, emails: list[str]) -> None:
        if (number := await self._at(place)) is not None:
            await self._send("PATCH", f"{CONTACTS}/{number}", {"emails": emails})

    async def _email(self, place: int, email: str) -> None:
        if (number := await self._at(place)) is not None:
            await self._send("PATCH", f"{CONTACTS}/{number}", {"email": email})

    async def _unset(self, place: int) -> None:
        if (number := await self._at(place)) is not None:
            await self._send("PATCH", f"{CONTACTS}/{number}", {"email": None})

    async def _erase(self, place: int) -> None:
        if (number := await self._at(place)) is not None:
            await self._send("DELETE", f"{CONTACTS}/{number}?erase=true")

    async def _camp(self, email: str, profile: str | None, at: int) -> None:
        event = {"event": "email_sent", "email": email, "linkedin_url": profile, "message_id": str(next(_NUMBERS)), "at": at}
        await self.house.hook("camp", event)

    async def _replay(self) -> None:
        await self.house.replay()

    async def _field(self, place: int, name: str, value: str | None) -> None:
        if (number := await self._at(place)) is not None:
            await self._send("PATCH", f"{CONTACTS}/{number}", {"contact_custom_fields": [{"field_name": name, "field_value": value}]})

    async def _rename(self, name: str, new: str) -> None:
        if name != new:
            reply = await self._send("PATCH", f"/public/v2/custom-fields/contacts/{name}", {"name": new})
            assert reply.status != 202 or await done(self.house, reply)

    async def _crm(self, number: str, emails: list[str], at: int) -> None:
        event = {"event": "contact.updated", "object_type": "person", "object_id": "7", "email": emails[0], "emails": emails, "at": at}
        await self.house.hook({"1": "pipedrive", "2": "hubspot"}[number], event)


async def owners(house: House, email: str) -> list[int | None]:
    """The contact that each way in finds by an address."""
    shown = [item["id"] for item in await house.listed() if email in (item.get("email"), *item.get("emails", ()))]
    assert len(shown) < 2, f"{email} has two owners: {shown}"
    listed = [item["id"] for item in await house.listed(query=f"email={email}")]
    searched = await house.request("POST", f"{CONTACTS}/search", {"where": {"any": [{"email": email}]}})
    [matched] = (await house.request("POST", f"{CONTACTS}/match", {"items": [{"email": email}]})).json()["data"]
    lists = (shown, listed, [item["id"] for item in searched.json()["data"]], [matched["id"]])
    results = [next(iter(item), None) for item in lists]
    if matched["id"] is not None:
        created = await house.request("POST", CONTACTS, {"email": email})
        put = await house.request("PUT", f"{CONTACTS}?match=email", {"email": email})
        results += [created.problem["existing_id"] if created.status == 409 else None, put.json()["id"] if put.status == 200 else None]
    return results


async def same_fields(house: House, number: int) -> None:
    """The history of a contact ends with the custom fields that it has, each under one name."""
    reply = await house.request("GET", f"{CONTACTS}/{number}?structure=FLAT")
    history = (await house.request("GET", f"{CONTACTS}/{number}/history?limit=200")).json()["data"]
    present = {item["field"]: item["value"] for item in history if item["until"] is None and item["field"].startswith("cf.")}
    fields = {f"cf.{name}": value for name, value in reply.json()["contact_custom_fields"].items()}
    assert {name: value for name, value in present.items() if value is not None} == fields, (number, history)


@given(st.lists(STEP, min_size=2, max_size=9))
@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_any_sequence__leaves_each_key_one_owner_that_every_way_in_finds(
    store: Store, make_client: MakeClient, steps: list[tuple[Any, ...]]
) -> None:
    house = await House.of(make_client(store, read=read), f"book{next(_NUMBERS)}")
    program = Program(house)

    for step in steps:
        await program.run(*step)

    house.call.clock.move(5)
    assert await house.differences() == [], steps
    for contact in await house.listed():
        assert "email" in contact or "emails" not in contact, contact
        await same_fields(house, contact["id"])
    for email in ADDRESSES:
        result = await owners(house, email)
        assert len(set(result)) == 1, (email, result)
        if result[0] is not None:
            before = {item["id"]: len(await house.timeline(item["id"])) for item in await house.listed()}
            await house.hook("camp", {"event": "email_opened", "email": email, "message_id": str(next(_NUMBERS))})
            after = {item["id"]: len(await house.timeline(item["id"])) for item in await house.listed()}
            assert {number for number in after if after[number] != before.get(number)} == {result[0]}, email
