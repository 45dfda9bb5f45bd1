"""Any program of API writes and calls gives the records of the model, in whatever order the calls are applied.

A program is drawn: POSTs with every `on_duplicate`, PATCHes of every field (null too), calls of a campaign tool with ids of its
own, of one without ids, of one with neither ids nor times, of a CRM with objects that change their address, belong to companies,
are merged and deleted, and of a CRM that sends whole bodies. It runs twice: each call applied as it is received, and once more
with calls applied late, retried with other attempt counters, replayed, and in turns of any size. Both runs must give the records of
`model.py`, timelines that add up to them, and nothing that `verify` finds. The sentences that hold:

- any order and any repetition of the same calls and writes, each write at its own time, gives the same records (section 2);
- a known fact decides no identity, changes nothing and counts once (2.1, 2.2);
- what a write unsets stays unset against anything older (2.3), and each write stands at its own time, also where it changes nothing (2.4);
- a fact with its own id counts once, at the time received first (2.5);
- the timeline adds up to the record, and `previous` is that of time order (2.6);
- who is erased stays absent through replays and retries (2.7);
- `POST on_duplicate=update` gives the record as if it had come first (2.8);
- a write beats an event that had been received before it, however far ahead its time (2.9);
- what differs in step, link or campaign is not the same fact (2.10); `verify` finds nothing (2.12);
- an empty value of one CRM object clears nothing that another has set (4.1); a contact has the company that its CRM object names (4.3).

`test_examples.py` has a named example of each. TOUCHBASE_MODEL_EXAMPLES asks for more programs than the usual run.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.projection.reference_model.model import Fact, Record, Write, records
from tests.projection.reference_model.world import Seen, World

from touchbase.errors import Conflict
from touchbase.sql.store import Store

EXAMPLES = int(os.environ.get("TOUCHBASE_MODEL_EXAMPLES") or examples(50))
PEOPLE = ("ann", "ann", "bob")
COMPANIES = ("acme.test", "beta.test")
OBJECTS = {"ann": ("1", "2"), "bob": ("3",)}
"""Objects of the CRM by person: Ann is there twice, and in some programs turns out to be two people."""
STEP = 100
"""Seconds between two places of a program; what happens at one place is told apart by fewer."""


@dataclass(frozen=True)
class Post:
    subject: str
    at: int
    on_duplicate: str
    fields: dict[str, str]
    custom: dict[str, str]
    kind: str = "contact"


@dataclass(frozen=True)
class Patch:
    subject: str
    at: int
    fields: dict[str, str | None]
    custom: dict[str, str | None]
    kind: str = "contact"
    clears: bool = False
    """Takes all custom fields away."""


@dataclass(frozen=True)
class Call:
    number: int
    at: int
    tool: str
    events: tuple[dict[str, Any], ...]
    delay: int
    """How many places later it is applied in the second run."""


@dataclass
class Program:
    writes: list[Post | Patch] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    retries: list[Call] = field(default_factory=list)

    @property
    def facts(self) -> list[Fact]:
        """Every event of every call; in the second run retries tell some again."""
        return [Fact(call.number, call.at, call.tool, said) for call in self.calls for said in call.events]

    @property
    def written(self) -> list[Write]:
        nothing = dict.fromkeys(("plan", "seats"))
        return [
            Write(
                w.subject,
                w.at,
                isinstance(w, Post),
                dict(w.fields),
                nothing if isinstance(w, Patch) and w.clears else dict(w.custom),
                w.kind,
            )
            for w in self.writes
            if _counts(w)
        ]

    def listing(self) -> str:
        """The program in order of time, as a failure shows it."""
        return "\n".join(str(item) for item in sorted([*self.writes, *self.calls, *self.retries], key=lambda first: first.at))


def _counts(write: Post | Patch) -> bool:
    """A second POST of somebody who is there is refused, or answers them."""
    return isinstance(write, Patch) or not write.on_duplicate.startswith("again")


NAMES = st.sampled_from(["Ann", "Bo", "Cy"])
STATUSES = st.sampled_from(["New", "New", "New", "Prospect", "customer", "contacted", "replied", "Hot"])
"""Often "New": what replaces it depends on who had set it."""
CUSTOM = st.dictionaries(st.sampled_from(["plan", "seats"]), st.one_of(st.none(), st.sampled_from(["1", "2", "3"])), max_size=2)
CAMPAIGN_EVENTS = st.sampled_from(
    ["email_sent", "email_sent", "email_opened", "email_replied", "email_replied", "email_bounced", "email_unsubscribed",
     "email_resubscribed", "email_spam_complaint", "lead_status_changed"]
)  # fmt: skip


class Maker:
    """Draws a program; each thing that is drawn gets a second of its own, so that no two entries stand at one time."""

    def __init__(self, draw: Callable[..., Any]) -> None:
        self.draw = draw
        self.program = Program()
        self._count = 0
        self._posted: dict[str, int] = {}
        self._moved: set[str] = set()
        self._homed: set[str] = set()
        # Of which record a write is where the person turns out to be two depends on which came first.
        self._divided = {"ann"} if draw(st.booleans()) else set()
        self._addresses = {person: [(-(10**6), f"{person}@x.test")] for person in set(PEOPLE)}

    def place(self, low: int = 0, high: int = 9) -> int:
        self._count += 1
        return int(self.draw(st.integers(low, high))) * STEP + self._count

    def after(self, earlier: int) -> int:
        at = self.place()
        return at if at > earlier else (earlier // STEP + 1) * STEP + self._count

    def subset(self, choices: dict[str, st.SearchStrategy[Any]]) -> dict[str, Any]:
        names = self.draw(st.lists(st.sampled_from(sorted(choices)), unique=True, max_size=3))
        return {name: self.draw(choices[name]) for name in names}

    # Writes through the API

    def companies(self) -> None:
        for number, domain in enumerate(COMPANIES):
            fields = {"domain": domain} | self.subset({"name": NAMES})
            self.program.writes.append(Post(domain, -10 * STEP + number, "error", fields, {}, "company"))

    def patch_company(self) -> None:
        domain = self.draw(st.sampled_from(COMPANIES))
        fields = self.subset({"name": st.one_of(st.none(), NAMES), "status": st.one_of(st.none(), STATUSES)})
        self.program.writes.append(Patch(domain, self.place(), fields, {"plan": self.draw(st.sampled_from(["1", "2"]))}, "company"))

    def post(self, person: str) -> None:
        if person in self._divided:
            return
        if person in self._posted:
            on_duplicate = f"again {self.draw(st.sampled_from(['error', 'return']))}"
            at = self.after(self._posted[person])
            if person not in self._moved | self._homed:
                self.program.writes.append(Post(person, at, on_duplicate, {"email": f"{person}@x.test", "first_name": "Eve"}, {}))
            return
        if person in self._homed:
            return  # a POST of an address that a record has left makes another record
        at = self._posted[person] = self.place(-9, 5)
        fields = self.subset(
            {"first_name": NAMES, "last_name": NAMES, "origin": st.just("list"), "status": STATUSES,
             "company": st.sampled_from(COMPANIES), "linkedin_url": st.just(f"https://linkedin.com/in/{person}")}
        )  # fmt: skip
        custom = {name: value for name, value in self.draw(CUSTOM).items() if value is not None}
        self.program.writes.append(Post(person, at, "update", {"email": f"{person}@x.test"} | fields, custom))

    def patch(self, person: str) -> None:
        if person not in self._posted:
            return
        at = self.after(self._posted[person])
        nothing = st.none()
        fields = self.subset(
            {"first_name": nothing | NAMES, "last_name": nothing | NAMES, "origin": nothing | st.just("list"),
             "status": nothing | STATUSES, "company": nothing | st.sampled_from(COMPANIES),
             "email": nothing | st.just(f"{person}-{at}@x.test"), "linkedin_url": nothing | st.just(f"https://linkedin.com/in/{person}")}
        )  # fmt: skip
        if "email" in fields:
            self._moved.add(person)
            # A second POST would make another person of the address that was left.
            self.program.writes = [w for w in self.program.writes if w.subject != person or w.at < at or isinstance(w, Patch)]
        if fields.get("email"):
            self._addresses[person].append((at, fields["email"]))
        clears = self.draw(st.integers(0, 5)) == 0
        custom = {} if clears else self.draw(CUSTOM)
        if custom or fields or clears:
            self.program.writes.append(Patch(person, at, fields, custom, clears=clears))

    # Calls

    def call(self) -> None:
        received = self.place()
        tool = self.draw(st.sampled_from(["camp", "camp", "plain", "bare", "crm", "crm", "crm", "full"]))
        make = {"crm": self.of_crm, "full": self.of_full}.get(tool, self.of_campaign)
        events = [make(tool, received)]
        if tool not in ("bare", "full") and self.draw(st.booleans()):
            # Two of one call that stand at its receipt have no order.
            events.append(make(tool, received) | {"occurred": self.place(-5, -1)})
        # What has neither time nor id says with another attempt counter that it happened again.
        is_retried = tool not in ("bare", "full") and self.draw(st.booleans())
        call = Call(len(self.program.calls), received, tool, tuple(events), self.draw(st.integers(0, 12)))
        self.program.calls.append(call)
        if is_retried:
            again = tuple(self.again(tool, said) for said in events)
            self.program.retries.append(Call(-call.number, self.after(received), tool, again, self.draw(st.integers(0, 12))))

    def again(self, tool: str, said: dict[str, Any]) -> dict[str, Any]:
        """A retry; one with an id of its own may tell another time."""
        if said.get("key") is None:
            return said
        return said | {"occurred": self.draw(st.sampled_from([said["occurred"], None, self.place()]))}

    def occurred(self, received: int) -> int | None:
        return self.draw(st.sampled_from([self.place(-5, 12), self.place(-5, 12), None, received + 3 * 86_400]))

    def of_campaign(self, tool: str, received: int) -> dict[str, Any]:
        person = self.draw(st.sampled_from(PEOPLE))
        addresses = [email for at, email in self._addresses[person] if at < received] + [
            f"{item}@home.test" for item in self._divided & {person}
        ]
        said: dict[str, Any] = {"event": self.draw(CAMPAIGN_EVENTS), "email": self.draw(st.sampled_from(addresses))}
        said["occurred"] = {"camp": lambda: self.occurred(received), "plain": lambda: self.place(-5, 12)}.get(tool, lambda: None)()
        if tool == "camp":
            said["key"] = f"k{self._count}"
        if said["event"] == "lead_status_changed":
            said["status"] = self.draw(st.sampled_from(["interested", "Hot", "New"]))
        if said["event"] == "email_bounced":
            said["kind"] = self.draw(st.sampled_from(["hard", "soft"]))
        if self.draw(st.booleans()):
            said["first_name"] = self.draw(NAMES)
        if self.draw(st.booleans()) and said["email"] == f"{person}@x.test":
            said["linkedin_url"] = f"https://linkedin.com/in/{person}"
        return said

    def of_crm(self, tool: str, received: int) -> dict[str, Any]:
        if self.draw(st.integers(0, 4)) == 0:
            return self.of_company(received)
        person = self.draw(st.sampled_from(PEOPLE))
        what = self.draw(st.sampled_from(["created", "updated", "updated", "status_changed", "status_changed", "deleted"]))
        number = self.draw(st.sampled_from(OBJECTS[person]))
        said: dict[str, Any] = {"event": f"contact.{what}", "object_type": "contact", "object_id": number}
        said |= {"occurred": self.occurred(received), "key": f"c{self._count}"}
        if what == "deleted":
            others = [item for item in OBJECTS[person] if item != number]
            if others and self.draw(st.booleans()):
                said["merged_into"] = others[0]
            return said
        if what == "status_changed":
            said["status"] = self.draw(STATUSES)
        may_move = person in self._divided or len(OBJECTS[person]) == 1
        address = self.draw(st.sampled_from([None, f"{person}@x.test", f"{person}@home.test" if may_move else None]))
        if address == f"{person}@home.test":
            if received < self._posted.get(person, received):
                address = None
            else:
                self._homed.add(person)
                self.program.writes = [w for w in self.program.writes if w.subject != person or _counts(w)]
        if address:
            said["email"] = address
        said["fields"] = self.subset({"first_name": NAMES, "last_name": st.none() | NAMES})
        said["custom"] = self.draw(CUSTOM)
        if self.draw(st.booleans()):
            said["company_object"] = ["account", self.draw(st.sampled_from(["11", "12"]))]
        return said

    def of_company(self, received: int) -> dict[str, Any]:
        number = self.draw(st.sampled_from([0, 1]))
        what = self.draw(st.sampled_from(["updated", "status_changed"]))
        said: dict[str, Any] = {"event": f"company.{what}", "object_type": "account", "object_id": str(11 + number)}
        said |= {"occurred": self.occurred(received), "key": f"c{self._count}"}
        if self.draw(st.booleans()):
            said["domain"] = COMPANIES[number]
        if what == "status_changed":
            said["status"] = self.draw(STATUSES)
        return said | {"fields": self.subset({"name": st.none() | NAMES}), "custom": self.draw(CUSTOM)}

    def of_full(self, tool: str, received: int) -> dict[str, Any]:
        person = self.draw(st.sampled_from(PEOPLE))
        fields = {name: self.draw(st.none() | NAMES) for name in ("first_name", "last_name")}
        custom = {name: self.draw(st.none() | st.sampled_from(["1", "2"])) for name in ("plan", "seats")}
        return {
            "event": "contact.updated", "object_type": "partner", "object_id": {"ann": "7", "bob": "8"}[person], "occurred": None,
            "email": f"{person}@x.test", "fields": fields, "custom": custom,
        }  # fmt: skip


@st.composite
def programs(draw: Callable[..., Any]) -> Program:
    maker = Maker(draw)
    maker.companies()
    for _ in range(draw(st.integers(6, 18))):
        what = draw(st.sampled_from(["post", "patch", "patch", "call", "call", "call", "call", "company"]))
        if what == "call":
            maker.call()
        elif what == "company":
            maker.patch_company()
        else:
            getattr(maker, what)(draw(st.sampled_from(PEOPLE)))
    maker.program.writes.sort(key=lambda write: write.at)
    return maker.program


async def write(world: World, created: dict[str, int], change: Post | Patch) -> None:
    """Do what is asked, with the interface's names."""
    fields: dict[str, Any] = dict(change.fields)
    if "status" in fields:
        fields[f"{change.kind}_status"] = fields.pop("status")
    if "company" in fields:
        company = fields.pop("company")
        fields["company_id"] = created[company] if company else None
    if isinstance(change, Patch):
        await world.patch(
            change.at,
            created[change.subject],
            None if change.clears else dict(change.custom),
            company=change.kind == "company",
            **fields,
        )
    elif change.on_duplicate == "again error":
        with suppress(Conflict):
            await world.post(change.at, "error", **fields)
            raise AssertionError("made twice")
    else:
        created[change.subject] = await world.post(change.at, change.on_duplicate.removeprefix("again "), dict(change.custom), **fields)


async def in_time(world: World, program: Program) -> None:
    """Each write and each call as it comes."""
    created: dict[str, int] = {}
    for item in sorted([*program.writes, *program.calls], key=lambda first: first.at):
        if isinstance(item, Call):
            await world.call(item.at, item.tool, *item.events)
        else:
            await write(world, created, item)


async def mixed(world: World, program: Program, seed: int) -> None:
    """Calls are applied late, told again and replayed, in turns of any size."""
    choose = random.Random(seed)
    created: dict[str, int] = {}
    steps = [(item.at, item) for item in program.writes]
    steps += [(retry.at + retry.delay * STEP, retry) for retry in [*program.calls, *program.retries]]
    stored: list[int] = []
    for _, entry in sorted(steps, key=lambda step: step[0]):
        if isinstance(entry, Call):
            stored.append(await world.keep(entry.at, entry.tool, *entry.events, attempt=2 if entry in program.retries else 1))
            if choose.random() < 0.6:
                await world.work(choose.randint(1, 3))
        else:
            await write(world, created, entry)
        if stored and choose.random() < 0.2:
            await world.replay(*choose.sample(stored, choose.randint(1, min(3, len(stored)))))
    await world.work()
    if stored and choose.random() < 0.5:
        await world.replay()


def plain(record: Record | Seen) -> dict[str, Any]:
    """What of a record is compared."""
    shown = {name: value for name, value in record.shown.items() if name != "company_id"}
    return {
        "kind": record.kind,
        **shown,
        "custom": record.custom,
        "entries": record.timeline if isinstance(record, Record) else record.entries,
    }


async def check(world: World, wanted: list[Record]) -> None:
    """The world has these records, their timelines add up to them, and `verify` finds nothing."""
    result = await world.records()

    def order(first: dict[str, Any]) -> str:
        return str((first["kind"], first.get("domain"), first.get("email"), first.get("linkedin_url"), first["entries"]))

    ours, theirs = sorted(map(plain, wanted), key=order), sorted(map(plain, result), key=order)
    assert [item["entries"] for item in theirs] == [item["entries"] for item in ours]
    for mine, yours in zip(ours, theirs, strict=True):
        assert {name: (yours[name], mine[name]) for name in mine if mine[name] != yours[name]} == {}
    for record in result:
        assert record.sum() == record.timeline_values()
    assert await world.differences() == []
    assert await world.states() <= {"applied", "ignored", "parked"}


@pytest.mark.slow_on_postgresql
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[*HealthCheck])
@given(program=programs(), seed=st.integers(0, 999))
async def test_any_program__gives_the_records_of_the_model(store: Store, program: Program, seed: int) -> None:
    first, second = await World.new(store), await World.new(store)

    await in_time(first, program)
    await mixed(second, program, seed)

    wanted = records(program.written, program.facts)
    note(program.listing())
    await check(first, wanted)
    await check(second, wanted)


@settings(max_examples=EXAMPLES // 4, deadline=None, suppress_health_check=[*HealthCheck])
@given(program=programs(), seed=st.integers(0, 999))
async def test_any_program__leaves_who_is_erased_absent(store: Store, program: Program, seed: int) -> None:
    world = await World.new(store)
    await mixed(world, program, seed)

    await world.erase(world.now + 1, "ann@x.test")
    await world.replay()
    for call in program.retries:
        await world.call(world.now + 1, call.tool, *call.events, attempt=3)

    assert [record for record in await world.records() if record.shown.get("email") == "ann@x.test"] == []
    assert await world.differences() == []
