"""Any sequence of writes and webhooks: what the feed says changed gives the records as the API shows them."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.asgi_client import MakeClient
from tests.event_log.replaying import copied, shown
from tests.examples import examples
from tests.house import House, read

from touchbase.erasure.service import Eraser
from touchbase.sql.store import Store

_NUMBERS = itertools.count(1)
BEGINNING: list[tuple[Any, ...]] = [
    ("company", "x.example", "new"),
    ("firm", "1", "y.example", "Ann", {"Seats": "1"}, None, -60),
    ("create", "p0@x.example", "Ann", "new", {"Plan": "1"}),
    ("person", "1", "p1@x.example", "Bob", {"Seats": "2"}, None, "1", -60),
    ("link", 0, 0),
]
"""Most programs begin with some records."""
EMAILS = st.sampled_from([f"p{n}@x.example" for n in range(3)])
DOMAINS = st.sampled_from(["x.example", "y.example", "z.example"])
OBJECTS = st.sampled_from(["1", "2", "3"])
WORDS = st.sampled_from(["new", "contacted", "won", "replied"])
NAMES = st.sampled_from(["Ann", "Bob", None])
TIMES = st.integers(-50, 500)
PLACES = st.integers(0, 3)
"""Which of the records."""
SEATS = st.dictionaries(st.sampled_from(["Seats", "Plan"]), st.sampled_from(["1", "2", None]), max_size=2)

Step = tuple[Any, ...]
steps = st.one_of(
    st.tuples(st.just("create"), EMAILS, NAMES, WORDS, SEATS),
    st.tuples(st.just("upsert"), EMAILS, NAMES, WORDS, SEATS),
    st.tuples(st.just("company"), DOMAINS, WORDS),
    st.tuples(
        st.just("patch"), PLACES, st.fixed_dictionaries({}, optional={"first_name": NAMES, "contact_status": WORDS, "email": EMAILS})
    ),
    st.tuples(st.just("custom"), PLACES, SEATS),
    st.tuples(st.just("link"), PLACES, PLACES),
    st.tuples(st.just("patch_company"), PLACES, st.fixed_dictionaries({}, optional={"name": NAMES, "domain": DOMAINS})),
    st.tuples(st.just("delete"), st.sampled_from(["contacts", "companies"]), PLACES),
    st.tuples(st.just("restore"), st.sampled_from(["contacts", "companies"]), PLACES),
    *[st.tuples(st.just("merge"), st.sampled_from(["contacts", "companies"]), PLACES, PLACES)] * 3,
    *[st.tuples(st.just("undo"), st.integers(0, 1))] * 3,
    st.tuples(st.just("mail"), st.sampled_from(["email_sent", "email_replied", "email_unsubscribed", "email_bounced"]), EMAILS, TIMES),
    st.tuples(st.just("person"), OBJECTS, st.none() | EMAILS, NAMES, SEATS, st.none() | OBJECTS, st.none() | OBJECTS, TIMES),
    st.tuples(st.just("firm"), OBJECTS, st.none() | DOMAINS, NAMES, SEATS, st.none() | OBJECTS, TIMES),
    st.tuples(st.just("replay")),
    st.tuples(st.just("suppress"), EMAILS),
    st.tuples(st.just("erase"), PLACES),
)


def inputs(custom: dict[str, str | None]) -> list[dict[str, str | None]]:
    return [{"field_name": name, "field_value": value} for name, value in custom.items()]


class Program:
    """Carries out the steps; one that the API refuses changes nothing."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.merges: list[tuple[str, int, int]] = []

    async def run(self, step: Step) -> None:
        self.house.call.clock.move(3)
        await getattr(self, f"do_{step[0]}")(*step[1:])

    async def _send(self, method: str, path: str, body: object = None, **headers: str) -> Any:
        reply = await self.house.request(method, f"/public/v2/{path}", body, **headers)
        assert reply.status < 500, reply.body
        return reply.json() if reply.status < 300 and reply.body else None

    async def _pick(self, kind: str, place: int) -> int:
        records = await self.house.listed(kind)
        return records[place % len(records)]["id"] if records else 0

    async def do_create(self, email: str, name: str | None, status: str, custom: dict[str, str | None]) -> None:
        value_item = {key: value for key, value in custom.items() if value is not None}
        await self._send(
            "POST",
            "contacts",
            {"email": email, "first_name": name or "", "contact_status": status, "contact_custom_fields_input": inputs(value_item)},
        )

    async def do_upsert(self, email: str, name: str | None, status: str, custom: dict[str, str | None]) -> None:
        body = {"email": email, "first_name": name, "contact_status": status, "contact_custom_fields_input": inputs(custom)}
        await self._send("PUT", "contacts?match=email", body)

    async def do_company(self, domain: str, status: str) -> None:
        await self._send("POST", "companies", {"domain": domain, "company_status": status})

    async def do_patch(self, place: int, fields: dict[str, Any]) -> None:
        await self._send("PATCH", f"contacts/{await self._pick('contacts', place)}", fields)

    async def do_custom(self, place: int, custom: dict[str, str | None]) -> None:
        await self._send("PATCH", f"contacts/{await self._pick('contacts', place)}", {"contact_custom_fields_input": inputs(custom)})

    async def do_link(self, place: int, company: int) -> None:
        number = await self._pick("companies", company)
        await self._send("PATCH", f"contacts/{await self._pick('contacts', place)}", {"company_id": number or None})

    async def do_patch_company(self, place: int, fields: dict[str, Any]) -> None:
        await self._send("PATCH", f"companies/{await self._pick('companies', place)}", fields)

    async def do_delete(self, kind: str, place: int) -> None:
        await self._send("DELETE", f"{kind}/{await self._pick(kind, place)}")

    async def do_restore(self, kind: str, place: int) -> None:
        deleted = (await self._send("GET", f"{kind}/deleted"))["data"]
        if deleted:
            await self._send("POST", f"{kind}/{deleted[place % len(deleted)]['id']}/restore")

    async def do_merge(self, kind: str, place: int, second: int) -> None:
        number, gone = await self._pick(kind, place), await self._pick(kind, place + 1 + second)
        record = await self._send("POST", f"{kind}/{number}/merge", {"with": [gone]})
        if record is not None:
            self.merges.append((kind, number, record["merge_id"]))

    async def do_undo(self, place: int) -> None:
        if self.merges:
            kind, number, merge = self.merges[-1 - place % len(self.merges)]
            await self._send("POST", f"{kind}/{number}/merge/{merge}/undo")

    async def do_mail(self, event: str, email: str, at: int) -> None:
        await self.house.hook("camp", {"event": event, "email": email, "at": at, "kind": "hard"})

    async def do_person(
        self, ref: str, email: str | None, name: str | None, custom: dict[str, Any], merged: str | None, company: str | None, at: int
    ) -> None:
        event: dict[str, Any] = {"event": "contact.updated", "object_type": "contact", "object_id": ref, "at": at, "custom": custom}
        event |= {"email": email, "fields": {"first_name": name}, "merged_into": None if merged == ref else merged}
        if company is not None:
            event["company_object"] = ["company", company]
        await self.house.hook("hubspot", event)

    async def do_firm(self, ref: str, domain: str | None, name: str | None, custom: dict[str, Any], merged: str | None, at: int) -> None:
        event: dict[str, Any] = {"event": "company.updated", "object_type": "company", "object_id": ref, "at": at, "custom": custom}
        await self.house.hook(
            "hubspot", event | {"domain": domain, "fields": {"name": name}, "merged_into": None if merged == ref else merged}
        )

    async def do_replay(self) -> None:
        await self.house.replay()

    async def do_suppress(self, email: str) -> None:
        await self._send("POST", "suppressions", {"value": email})

    async def do_erase(self, place: int) -> None:
        number = await self._pick("contacts", place)
        if number:
            await Eraser(self.house.call.parts.store, read, self.house.call.clock).erase(self.house.number, number)


@pytest.mark.slow_on_postgresql
@given(st.sampled_from([BEGINNING, []]), st.lists(steps, min_size=1, max_size=12), st.integers(1, 5))
@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
async def test_replay__of_any_program_gives_the_records(
    store: Store, make_client: MakeClient, beginning: list[Step], program: list[Step], limit: int
) -> None:
    house = await House.of(make_client(store, read=read), f"c{next(_NUMBERS)}")
    runner = Program(house)
    copy, cursor = await copied(house)

    for step in [*beginning, *program]:
        await runner.run(step)
        copy, cursor = await copied(house, copy, cursor, limit)
        assert copy == await shown(house), step

    _, end = await copied(house, copy, cursor)
    assert end == cursor  # reading logs nothing
