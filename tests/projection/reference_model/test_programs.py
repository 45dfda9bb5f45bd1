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
from hypothesis import strategies as some
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
    def told(self) -> list[Fact]:
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
        return "\n".join(str(each) for each in sorted([*self.writes, *self.calls, *self.retries], key=lambda one: one.at))


def _counts(write: Post | Patch) -> bool:
    """A second POST of somebody who is there is refused, or answers them."""
    return isinstance(write, Patch) or not write.on_duplicate.startswith("again")


NAMES = some.sampled_from(["Ann", "Bo", "Cy"])
STATUSES = some.sampled_from(["New", "New", "New", "Prospect", "customer", "contacted", "replied", "Hot"])
"""Often "New": what replaces it depends on who had set it."""
CUSTOM = some.dictionaries(some.sampled_from(["plan", "seats"]), some.one_of(some.none(), some.sampled_from(["1", "2", "3"])), max_size=2)
CAMPAIGN_EVENTS = some.sampled_from(
    ["email_sent", "email_sent", "email_opened", "email_replied", "email_replied", "email_bounced", "email_unsubscribed",
     "email_resubscribed", "email_spam_complaint", "lead_status_changed"]
)  # fmt: skip


class Maker:
    """Draws a program; each thing that is drawn gets a second of its own, so that no two entries stand at one time."""

    def __init__(self, draw: Callable[..., Any]) -> None:
        self.draw = draw
        self.made = Program()
        self._count = 0
        self._posted: dict[str, int] = {}
        self._moved: set[str] = set()
        self._homed: set[str] = set()
        # Of which record a write is where the person turns out to be two depends on which came first.
        self._divided = {"ann"} if draw(some.booleans()) else set()
        self._addresses = {person: [(-(10**6), f"{person}@x.test")] for person in set(PEOPLE)}

    def place(self, low: int = 0, high: int = 9) -> int:
        self._count += 1
        return int(self.draw(some.integers(low, high))) * STEP + self._count

    def after(self, earlier: int) -> int:
        at = self.place()
        return at if at > earlier else (earlier // STEP + 1) * STEP + self._count

    def subset(self, choices: dict[str, some.SearchStrategy[Any]]) -> dict[str, Any]:
        names = self.draw(some.lists(some.sampled_from(sorted(choices)), unique=True, max_size=3))
        return {name: self.draw(choices[name]) for name in names}

    # Writes through the API

    def companies(self) -> None:
        for number, domain in enumerate(COMPANIES):
            fields = {"domain": domain} | self.subset({"name": NAMES})
            self.made.writes.append(Post(domain, -10 * STEP + number, "error", fields, {}, "company"))

    def patch_company(self) -> None:
        domain = self.draw(some.sampled_from(COMPANIES))
        fields = self.subset({"name": some.one_of(some.none(), NAMES), "status": some.one_of(some.none(), STATUSES)})
        self.made.writes.append(Patch(domain, self.place(), fields, {"plan": self.draw(some.sampled_from(["1", "2"]))}, "company"))

    def post(self, person: str) -> None:
        if person in self._divided:
            return
        if person in self._posted:
            on_duplicate = f"again {self.draw(some.sampled_from(['error', 'return']))}"
            at = self.after(self._posted[person])
            if person not in self._moved | self._homed:
                self.made.writes.append(Post(person, at, on_duplicate, {"email": f"{person}@x.test", "first_name": "Eve"}, {}))
            return
        if person in self._homed:
            return  # a POST of an address that a record has left makes another record
        at = self._posted[person] = self.place(-9, 5)
        fields = self.subset(
            {"first_name": NAMES, "last_name": NAMES, "origin": some.just("list"), "status": STATUSES,
             "company": some.sampled_from(COMPANIES), "linkedin_url": some.just(f"https://linkedin.com/in/{person}")}
        )  # fmt: skip
        custom = {name: value for name, value in self.draw(CUSTOM).items() if value is not None}
        self.made.writes.append(Post(person, at, "update", {"email": f"{person}@x.test"} | fields, custom))

    def patch(self, person: str) -> None:
        if person not in self._posted:
            return
        at = self.after(self._posted[person])
        nothing = some.none()
        fields = self.subset(
            {"first_name": nothing | NAMES, "last_name": nothing | NAMES, "origin": nothing | some.just("list"),
             "status": nothing | STATUSES, "company": nothing | some.sampled_from(COMPANIES),
             "email": nothing | some.just(f"{person}-{at}@x.test"), "linkedin_url": nothing | some.just(f"https://linkedin.com/in/{person}")}
        )  # fmt: skip
        if "email" in fields:
            self._moved.add(person)
            # A second POST would make another person of the address that was left.
            self.made.writes = [w for w in self.made.writes if w.subject != person or w.at < at or isinstance(w, Patch)]
        if fields.get("email"):
            self._addresses[person].append((at, fields["email"]))
        clears = self.draw(some.integers(0, 5)) == 0
        custom = {} if clears else self.draw(CUSTOM)
        if custom or fields or clears:
            self.made.writes.append(Patch(person, at, fields, custom, clears=clears))

    # Calls

    def call(self) -> None:
        received = self.place()
        tool = self.draw(some.sampled_from(["camp", "camp", "plain", "bare", "crm", "crm", "crm", "full"]))
        make = {"crm": self.of_crm, "full": self.of_full}.get(tool, self.of_campaign)
        events = [make(tool, received)]
        if tool not in ("bare", "full") and self.draw(some.booleans()):
            # Two of one call that stand at its receipt have no order.
            events.append(make(tool, received) | {"occurred": self.place(-5, -1)})
        # What has neither time nor id says with another attempt counter that it happened again.
        is_retried = tool not in ("bare", "full") and self.draw(some.booleans())
        call = Call(len(self.made.calls), received, tool, tuple(events), self.draw(some.integers(0, 12)))
        self.made.calls.append(call)
        if is_retried:
            again = tuple(self.again(tool, said) for said in events)
            self.made.retries.append(Call(-call.number, self.after(received), tool, again, self.draw(some.integers(0, 12))))

    def again(self, tool: str, said: dict[str, Any]) -> dict[str, Any]:
        """A retry; one with an id of its own may tell another time."""
        if said.get("key") is None:
            return said
        return said | {"occurred": self.draw(some.sampled_from([said["occurred"], None, self.place()]))}

    def occurred(self, received: int) -> int | None:
        return self.draw(some.sampled_from([self.place(-5, 12), self.place(-5, 12), None, received + 3 * 86_400]))

    def of_campaign(self, tool: str, received: int) -> dict[str, Any]:
        person = self.draw(some.sampled_from(PEOPLE))
        known = [email for at, email in self._addresses[person] if at < received] + [
            f"{each}@home.test" for each in self._divided & {person}
        ]
        said: dict[str, Any] = {"event": self.draw(CAMPAIGN_EVENTS), "email": self.draw(some.sampled_from(known))}
        said["occurred"] = {"camp": lambda: self.occurred(received), "plain": lambda: self.place(-5, 12)}.get(tool, lambda: None)()
        if tool == "camp":
            said["key"] = f"k{self._count}"
        if said["event"] == "lead_status_changed":
            said["status"] = self.draw(some.sampled_from(["interested", "Hot", "New"]))
        if said["event"] == "email_bounced":
            said["kind"] = self.draw(some.sampled_from(["hard", "soft"]))
        if self.draw(some.booleans()):
            said["first_name"] = self.draw(NAMES)
        if self.draw(some.booleans()) and said["email"] == f"{person}@x.test":
            said["linkedin_url"] = f"https://linkedin.com/in/{person}"
        return said

    def of_crm(self, tool: str, received: int) -> dict[str, Any]:
        if self.draw(some.integers(0, 4)) == 0:
            return self.of_company(received)
        person = self.draw(some.sampled_from(PEOPLE))
        what = self.draw(some.sampled_from(["created", "updated", "updated", "status_changed", "status_changed", "deleted"]))
        number = self.draw(some.sampled_from(OBJECTS[person]))
        said: dict[str, Any] = {"event": f"contact.{what}", "object_type": "contact", "object_id": number}
        said |= {"occurred": self.occurred(received), "key": f"c{self._count}"}
        if what == "deleted":
            others = [each for each in OBJECTS[person] if each != number]
            if others and self.draw(some.booleans()):
                said["merged_into"] = others[0]
            return said
        if what == "status_changed":
            said["status"] = self.draw(STATUSES)
        may_move = person in self._divided or len(OBJECTS[person]) == 1
        address = self.draw(some.sampled_from([None, f"{person}@x.test", f"{person}@home.test" if may_move else None]))
        if address == f"{person}@home.test":
            if received < self._posted.get(person, received):
                address = None
            else:
                self._homed.add(person)
                self.made.writes = [w for w in self.made.writes if w.subject != person or _counts(w)]
        if address:
            said["email"] = address
        said["fields"] = self.subset({"first_name": NAMES, "last_name": some.none() | NAMES})
        said["custom"] = self.draw(CUSTOM)
        if self.draw(some.booleans()):
            said["company_object"] = ["account", self.draw(some.sampled_from(["11", "12"]))]
        return said

    def of_company(self, received: int) -> dict[str, Any]:
        number = self.draw(some.sampled_from([0, 1]))
        what = self.draw(some.sampled_from(["updated", "status_changed"]))
        said: dict[str, Any] = {"event": f"company.{what}", "object_type": "account", "object_id": str(11 + number)}
        said |= {"occurred": self.occurred(received), "key": f"c{self._count}"}
        if self.draw(some.booleans()):
            said["domain"] = COMPANIES[number]
        if what == "status_changed":
            said["status"] = self.draw(STATUSES)
        return said | {"fields": self.subset({"name": some.none() | NAMES}), "custom": self.draw(CUSTOM)}

    def of_full(self, tool: str, received: int) -> dict[str, Any]:
        person = self.draw(some.sampled_from(PEOPLE))
        fields = {name: self.draw(some.none() | NAMES) for name in ("first_name", "last_name")}
        custom = {name: self.draw(some.none() | some.sampled_from(["1", "2"])) for name in ("plan", "seats")}
        return {
            "event": "contact.updated", "object_type": "partner", "object_id": {"ann": "7", "bob": "8"}[person], "occurred": None,
            "email": f"{person}@x.test", "fields": fields, "custom": custom,
        }  # fmt: skip


@some.composite
def programs(draw: Callable[..., Any]) -> Program:
    maker = Maker(draw)
    maker.companies()
    for _ in range(draw(some.integers(6, 18))):
        what = draw(some.sampled_from(["post", "patch", "patch", "call", "call", "call", "call", "company"]))
        if what == "call":
            maker.call()
        elif what == "company":
            maker.patch_company()
        else:
            getattr(maker, what)(draw(some.sampled_from(PEOPLE)))
    maker.made.writes.sort(key=lambda write: write.at)
    return maker.made


async def write(world: World, made: dict[str, int], asked: Post | Patch) -> None:
    """Do what is asked, with the interface's names."""
    fields: dict[str, Any] = dict(asked.fields)
    if "status" in fields:
        fields[f"{asked.kind}_status"] = fields.pop("status")
    if "company" in fields:
        company = fields.pop("company")
        fields["company_id"] = made[company] if company else None
    if isinstance(asked, Patch):
        await world.patch(
            asked.at, made[asked.subject], None if asked.clears else dict(asked.custom), company=asked.kind == "company", **fields
        )
    elif asked.on_duplicate == "again error":
        with suppress(Conflict):
            await world.post(asked.at, "error", **fields)
            raise AssertionError("made twice")
    else:
        made[asked.subject] = await world.post(asked.at, asked.on_duplicate.removeprefix("again "), dict(asked.custom), **fields)


async def in_time(world: World, program: Program) -> None:
    """Each write and each call as it comes."""
    made: dict[str, int] = {}
    for each in sorted([*program.writes, *program.calls], key=lambda one: one.at):
        if isinstance(each, Call):
            await world.call(each.at, each.tool, *each.events)
        else:
            await write(world, made, each)


async def mixed(world: World, program: Program, seed: int) -> None:
    """Calls are applied late, told again and replayed, in turns of any size."""
    choose = random.Random(seed)
    made: dict[str, int] = {}
    steps = [(each.at, each) for each in program.writes]
    steps += [(each.at + each.delay * STEP, each) for each in [*program.calls, *program.retries]]
    kept: list[int] = []
    for _, each in sorted(steps, key=lambda step: step[0]):
        if isinstance(each, Call):
            kept.append(await world.keep(each.at, each.tool, *each.events, attempt=2 if each in program.retries else 1))
            if choose.random() < 0.6:
                await world.work(choose.randint(1, 3))
        else:
            await write(world, made, each)
        if kept and choose.random() < 0.2:
            await world.replay(*choose.sample(kept, choose.randint(1, min(3, len(kept)))))
    await world.work()
    if kept and choose.random() < 0.5:
        await world.replay()


def plain(one: Record | Seen) -> dict[str, Any]:
    """What of a record is compared."""
    shown = {name: value for name, value in one.shown.items() if name != "company_id"}
    return {"kind": one.kind, **shown, "custom": one.custom, "entries": one.timeline if isinstance(one, Record) else one.entries}


async def check(world: World, wanted: list[Record]) -> None:
    """The world has these records, their timelines add up to them, and `verify` finds nothing."""
    found = await world.records()

    def order(one: dict[str, Any]) -> str:
        return str((one["kind"], one.get("domain"), one.get("email"), one.get("linkedin_url"), one["entries"]))

    ours, theirs = sorted(map(plain, wanted), key=order), sorted(map(plain, found), key=order)
    assert [each["entries"] for each in theirs] == [each["entries"] for each in ours]
    for mine, yours in zip(ours, theirs, strict=True):
        assert {name: (yours[name], mine[name]) for name in mine if mine[name] != yours[name]} == {}
    for each in found:
        assert each.sum() == each.told()
    assert await world.differences() == []
    assert await world.states() <= {"applied", "ignored", "parked"}


@pytest.mark.slow_on_postgresql
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[*HealthCheck])
@given(program=programs(), seed=some.integers(0, 999))
async def test_any_program__gives_the_records_of_the_model(store: Store, program: Program, seed: int) -> None:
    first, second = await World.new(store), await World.new(store)

    await in_time(first, program)
    await mixed(second, program, seed)

    wanted = records(program.written, program.told)
    note(program.listing())
    await check(first, wanted)
    await check(second, wanted)


@settings(max_examples=EXAMPLES // 4, deadline=None, suppress_health_check=[*HealthCheck])
@given(program=programs(), seed=some.integers(0, 999))
async def test_any_program__leaves_who_is_erased_absent(store: Store, program: Program, seed: int) -> None:
    world = await World.new(store)
    await mixed(world, program, seed)

    await world.erase(world.now + 1, "ann@x.test")
    await world.replay()
    for call in program.retries:
        await world.call(world.now + 1, call.tool, *call.events, attempt=3)

    assert [each for each in await world.records() if each.shown.get("email") == "ann@x.test"] == []
    assert await world.differences() == []
