"""Any sequence of webhooks, writes, deletions, merges and erasures: a report says what a recount of the records says."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from itertools import pairwise
from typing import Any

import pytest
from tests.house import House
from tests.reports.test_campaigns import DAY, report
from tests.reports.test_statuses import STATUSES

from touchbase.common.timestamps import SECOND, from_text, to_text
from touchbase.history.events import CONTACT, StoredEvent
from touchbase.history.sql import get_history
from touchbase.records.record_type import CONTACT_TYPE
from touchbase.records.sql.reads import find_record

PEOPLE = [f"p{number}@example.com" for number in range(5)]
KINDS = ("email_sent", "email_sent", "email_sent", "email_replied", "email_bounced", "email_unsubscribed", "email_resubscribed")
STEPS = 30
COUNTS = {"sent": "mail", "reply": "repl", "bounce": "bounce", "unsubscribe": "unsubscribe", "complaint": "compl"}


class Client:
    """A client to which things happen by chance."""

    def __init__(self, house: House, chance: random.Random) -> None:
        self.house, self.chance = house, chance
        self.deleted: list[int] = []
        self.merges: list[tuple[int, int]] = []
        self.begin = house.call.clock.now

    async def step(self) -> None:
        """Let time pass, and one thing happen; what is refused is no harm."""
        self.house.call.clock.move(self.chance.choice((1, 3_600, DAY, 3 * DAY)))
        does = self.chance.choices(
            (self.hear, self.write, self.create, self.delete, self.restore, self.merge, self.undo, self.erase, self.house.replay),
            (20, 4, 3, 2, 2, 3, 2, 1, 1),
        )
        await does[0]()

    async def hear(self) -> None:
        """A webhook of one or two events, of any time so far."""
        now = (self.house.call.clock.now - self.begin) // SECOND
        events = []
        for _ in range(self.chance.choice((1, 1, 2))):
            event = self.chance.choice(KINDS)
            campaign = self.chance.choice(("Autumn", "Winter", None))
            event = {"event": event, "at": self.chance.randint(-2 * DAY, now), "email": self.chance.choice(PEOPLE), "campaign": campaign}
            if event["event"] == "email_bounced":
                event["kind"] = self.chance.choice(("hard", "soft"))
            if campaign == "Autumn":
                event["campaign_id"] = "7"
            events.append(event)
        await self.house.hook(self.chance.choice(("camp", "plain")), *events)

    async def write(self) -> None:
        """A status by request."""
        for first in await self.sample_contacts(1):
            status = self.chance.choice(("new", "customer", "lost", ""))
            await self.house.request("PATCH", f"/public/v2/contacts/{first}", {"contact_status": status or None})

    async def create(self) -> None:
        """A contact by request, perhaps one that exists."""
        body = {"email": self.chance.choice(PEOPLE), **self.chance.choice(({}, {"contact_status": "new"}))}
        await self.house.request("POST", "/public/v2/contacts", body)

    async def delete(self) -> None:
        """A deletion into the bin."""
        for first in await self.sample_contacts(1):
            await self.house.delete(first)
            self.deleted.append(first)

    async def restore(self) -> None:
        """A restoration, if the address is free."""
        if self.deleted:
            await self.house.request("POST", f"/public/v2/contacts/{self.deleted.pop()}/restore")

    async def merge(self) -> None:
        """A merge of two."""
        ids = await self.sample_contacts(2)
        if len(ids) == 2:
            self.merges.append((ids[0], (await self.house.merge(*ids))["merge_id"]))

    async def undo(self) -> None:
        """The undoing of the last merge, if it is still possible."""
        if self.merges:
            first, merge = self.merges.pop()
            await self.house.request("POST", f"/public/v2/contacts/{first}/merge/{merge}/undo")

    async def erase(self) -> None:
        """An erasure of a person."""
        for first in await self.sample_contacts(1):
            await self.house.request("DELETE", f"/public/v2/contacts/{first}?erase=true")

    async def sample_contacts(self, count: int) -> list[int]:
        """Up to so many contacts."""
        ids = [item["id"] for item in await self.house.listed()]
        return self.chance.sample(ids, min(count, len(ids)))


def recount(histories: dict[int, list[StoredEvent]], edges: list[int], by_campaign: bool) -> dict[tuple[Any, ...], dict[str, Any]]:
    """Count the events of all contacts, group by group."""
    rows: dict[tuple[Any, ...], Any] = defaultdict(lambda: {"mailed_replied": 0, "events": Counter(), "people": defaultdict(set)})
    for since, until in pairwise(edges):
        for contact, history in histories.items():
            for event in history:
                if event.effect in COUNTS and since <= event.occurred_us < until:
                    group = (to_text(since), *key_of(event, by_campaign))
                    rows[group]["events"][event.effect] += 1
                    rows[group]["people"][event.effect].add(contact)
    for (since, *key), row in rows.items():
        until = edges[[to_text(edge) for edge in edges].index(since) + 1]
        for contact in row["people"]["sent"]:
            mine = [event for event in histories[contact] if list(key_of(event, by_campaign)) == key]
            mails = [event.occurred_us for event in mine if event.effect == "sent" and from_text(since) <= event.occurred_us < until]
            row["mailed_replied"] += any(event.effect == "reply" and event.occurred_us >= min(mails) for event in mine)
    return rows


def key_of(event: StoredEvent, by_campaign: bool) -> tuple[Any, ...]:
    return (event.tool, event.campaign_id or event.campaign) if by_campaign else ()


def counted(row: dict[str, Any]) -> tuple[Any, ...]:
    """The counts of a recounted row."""
    effects = ("sent", "reply", "bounce", "unsubscribe")
    return (*((row["events"][effect], len(row["people"][effect])) for effect in effects), row["mailed_replied"])


def shown(row: dict[str, Any]) -> tuple[Any, ...]:
    """The same of a row of the report."""
    pairs = (("mails", "mailed"), ("replies", "replied"), ("bounces", "bounced"), ("unsubscribes", "unsubscribed"))
    return (*((row[events], row[people]) for events, people in pairs), row["mailed_replied"])


@pytest.mark.parametrize("seed", range(8))
async def test_reports__say_what_a_recount_says(house: House, seed: int) -> None:
    client = Client(house, random.Random(f"reports {seed}"))
    for _ in range(STEPS):
        await client.step()
    house.call.clock.move(1)
    ids = [item["id"] for item in await house.listed()]
    histories = {first: await house.call.parts.store.read(get_history(house.number, CONTACT, first)) for first in ids}

    for group_by in ("campaign,week", "week"):
        rows = await report(house, f"group_by={group_by}&since=90d")
        begins = sorted({row["begins_at"] for row in rows})
        edges = [from_text(row) for row in begins] + [house.call.clock.now]
        by_campaign = "campaign" in group_by
        result = {
            (row["begins_at"], *((row["tool"], row["campaign_id"] or row["campaign"]) if by_campaign else ())): shown(row) for row in rows
        }
        assert result == {group: counted(row) for group, row in recount(histories, week_edges(edges), by_campaign).items()}

    await check_statuses(house, ids)
    assert await house.differences() == []


def week_edges(edges: list[int]) -> list[int]:
    """All weeks, also those in which nothing happened."""
    if len(edges) == 1:
        return edges * 2
    full_indexes = list(range(edges[0], edges[-1], 7 * DAY * SECOND))
    return [*full_indexes, edges[-1]]


async def created_us(house: House, first: int) -> int:
    """When a contact was created: it counts from then on."""
    contact = await house.call.parts.store.read(find_record(house.number, CONTACT_TYPE, first))
    assert contact is not None
    return contact.created_us


async def check_statuses(house: House, ids: list[int]) -> None:
    """Compare the report with the statuses of each contact as of each end."""
    rows = await report(house, "interval=day&since=20d", STATUSES)
    created = {first: await created_us(house, first) for first in ids}
    for end in sorted({row["ends_at"] for row in rows}):
        expected: Counter[Any] = Counter()
        for first_item in (first for first in ids if created[first] < from_text(end)):
            reply = await house.request("GET", f"/public/v2/contacts/{first_item}?as_of={to_text(from_text(end) - 1)}")
            if reply.status == 200:
                expected[reply.json().get("contact_status")] += 1
        result = {row["status"]: row["records"] for row in rows if row["ends_at"] == end and row["records"]}
        assert result == dict(expected), end
