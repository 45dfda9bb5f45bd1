"""What records must be: a list of facts, sorted and folded, and nothing of how the service does it.

The rules, each a few lines below: a fact is one thing however often it is received (`facts`); names that are seen together
are one record (`_groups`), but for a CRM's objects with different addresses (`division.py`); an entry stands at the earlier of
its own time and its receipt (`Fact.place`); the last entry that names a field sets it, what campaign tools carry along only
fills (`_value`); the status is a walk (`_walk`).
Times are seconds. These modules import nothing of the service.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.projection.reference_model.separate_objects import divided

DAY = 86_400
FIELDS = {"contact": ("email", "linkedin_url", "first_name", "last_name", "origin", "company"), "company": ("domain", "name")}
EMPTY: dict[str, Any] = {}
Place = tuple[int, int]
Name = tuple[str, ...]
"""One name of a record: of whom or what, and by which kind of identity."""


@dataclass(frozen=True)
class Write:
    """A POST or PATCH that the service has accepted. `subject` says which POST made the record."""

    subject: str
    at: int
    creates: bool
    fields: dict[str, str | None]
    custom: dict[str, str | None] = field(default_factory=dict)
    kind: str = "contact"


@dataclass(frozen=True)
class Fact:
    """One event in one received call."""

    call: int
    received: int
    tool: str
    said: dict[str, Any]

    @property
    def usable(self) -> bool:
        """Whether the tool's own time counts."""
        occurred = self.said.get("occurred")
        return occurred is not None and occurred <= self.received + DAY

    @property
    def shown(self) -> int:
        """When it happened, as it is shown."""
        return int(self.said["occurred"]) if self.usable else self.received

    @property
    def place(self) -> tuple[int, int]:
        """Its place among all entries: never after its receipt; the tool's own order among those that are ahead of it."""
        return min(self.shown, self.received), max(0, self.shown - self.received)

    @property
    def identity(self) -> str:
        """Equal for the same fact: the tool's own id; else what it says with its time; else once in each call."""
        said = self.said
        if said.get("key") is not None:
            return json.dumps([self.tool, said["event"], said["key"], said.get("object_id")])
        return json.dumps([self.tool, said, None if self.usable else self.call], sort_keys=True)

    @property
    def kind(self) -> str:
        """Of which kind of record it is."""
        return "company" if self.said["event"].startswith("company.") else "contact"

    @property
    def source(self) -> str | None:
        """The CRM's object that it is of."""
        return f"{self.tool} {self.said['object_id']}" if self.said.get("object_id") else None


Given = Callable[[Fact], dict[str, Any]]
"""The values that a fact gives."""


@dataclass
class Record:
    """A record as it must be."""

    kind: str
    shown: dict[str, Any]
    custom: dict[str, str]
    timeline: list[tuple[str, str, int]]
    """Tool, event and time of all entries, oldest first."""


def facts(reported: Iterable[Fact]) -> list[Fact]:
    """Each fact once: as it was received first, whatever was applied first."""
    first: dict[str, Fact] = {}
    for item in sorted(reported, key=lambda fact: (fact.received, fact.call)):
        first.setdefault(item.identity, item)
    return list(first.values())


def records(writes: list[Write], reported: Iterable[Fact]) -> list[Record]:
    """All records that these facts give."""
    expected = facts(reported)
    results = []
    objects: dict[Name, str] = {}
    for mine, theirs in _groups("company", writes, expected):
        if _named("company", mine, theirs):
            results.append(_company(mine, theirs))
            objects |= {_object(fact): results[-1].shown["domain"] for fact in theirs}
    for mine, theirs in _groups("contact", writes, expected):
        if _named("contact", mine, theirs):
            results.append(_contact(mine, theirs, objects))
    return results


def _named(kind: str, writes: list[Write], reported: list[Fact]) -> bool:
    """Whether there is a record: made by a POST, or by a call that names an address (a deletion makes nobody)."""
    return bool(writes) or any(_makes(kind, fact) for fact in reported)


def _makes(kind: str, fact: Fact) -> bool:
    said = fact.said
    if said["event"].endswith(".deleted"):
        return False
    return bool(said.get("domain")) if kind == "company" else bool(said.get("email") or _linkedin(fact))


def _linkedin(fact: Fact) -> str | None:
    linkedin_url = fact.said.get("linkedin_url")
    return str(linkedin_url) if linkedin_url else None


def _object(fact: Fact) -> Name:
    return (fact.tool, fact.kind, str(fact.said.get("object_id")))


def _groups(kind: str, writes: list[Write], reported_facts: list[Fact]) -> list[tuple[list[Write], list[Fact]]]:
    """The writes and facts of each record: names seen together are one; a LinkedIn address never joins two e-mail addresses."""
    leader: dict[Name, Name] = {}

    def find(name: Name) -> Name:
        while leader.setdefault(name, name) != name:
            name = leader[name]
        return name

    def join(names: list[Name]) -> Name:
        for name in names[1:]:
            leader[find(name)] = find(names[0])
        return find(names[0])

    mine = [write for write in writes if write.kind == kind]
    theirs = [fact for fact in reported_facts if fact.kind == kind]
    for write in mine:
        address = write.fields.get("email" if kind == "contact" else "domain")
        join([("api", write.subject), *([("address", address)] if address else [])])
    for fact in theirs:
        join(_names(fact) or [("linkedin", _linkedin(fact) or "")])
    for fact in theirs:
        if (linkedin := _linkedin(fact)) and _names(fact):
            join([*_names(fact), ("linkedin", linkedin)])
    for write in mine:
        if linkedin := write.fields.get("linkedin_url"):
            join([("api", write.subject), ("linkedin", linkedin)])
    groups: dict[Name, tuple[list[Write], list[Fact]]] = defaultdict(lambda: ([], []))
    for write in mine:
        groups[find(("api", write.subject))][0].append(write)
    for fact in theirs:
        groups[find((_names(fact) or [("linkedin", _linkedin(fact) or "")])[0])][1].append(fact)
    address = "email" if kind == "contact" else "domain"
    return [
        part
        for mine, theirs in groups.values()
        for part in divided(mine, theirs, address, lambda fact, reported=theirs: _leader(fact.source, reported))
    ]


def _names(fact: Fact) -> list[Name]:
    said = fact.said
    address = None if said["event"].endswith(".deleted") else said.get("email") or said.get("domain")
    names: list[Name] = [("address", address)] if address else []
    return names + [(fact.tool, said["object_type"], item) for item in (said.get("object_id"), said.get("merged_into")) if item]


def _company(writes: list[Write], reported: list[Fact]) -> Record:
    record = _record("company", writes, reported)
    record.shown["domain"] = _latest("domain", writes, reported, lambda fact: fact.said)
    return record


def _contact(writes: list[Write], reported: list[Fact], companies: dict[Name, str]) -> Record:
    def addresses(fact: Fact) -> dict[str, Any]:
        value = fact.said if not fact.said["event"].endswith(".deleted") else EMPTY
        return {name: value[name] for name in ("email", "linkedin_url") if value.get(name)}

    def company(fact: Fact) -> dict[str, Any]:
        named = fact.said.get("company_object")
        response = companies.get((fact.tool, "company", named[1])) if named else None
        return {"company": response} if response else EMPTY

    record = _record("contact", writes, reported)
    for name in ("email", "linkedin_url"):
        record.shown[name] = _latest(name, writes, reported, addresses)
    record.shown["company"] = _latest("company", writes, reported, company)
    sent = [fact.shown for fact in reported if fact.said["event"] == "email_sent"]
    replied = [fact.shown for fact in reported if fact.said["event"] == "email_replied"]
    record.shown |= {"first_sent": min(sent, default=None), "last_sent": max(sent, default=None), "replied": max(replied, default=None)}
    origins: list[tuple[Place, str | None]] = [(fact.place, fact.tool) for fact in reported]
    origins += [((write.at, 0), None) for write in writes if write.creates and "origin" not in write.fields]
    named = [(write.at, write.fields["origin"]) for write in writes if "origin" in write.fields]
    record.shown["origin"] = max(named)[1] if named else min(origins, key=lambda origin: origin[0])[1]
    return record


def _record(kind: str, writes: list[Write], reported: list[Fact]) -> Record:
    shown: dict[str, Any] = dict(zip(("status", "previous", "changed"), _walk(kind, writes, reported), strict=True))
    for name in ("first_name", "last_name") if kind == "contact" else ("name",):
        shown[name] = _value(name, writes, reported, lambda fact: fact.said.get("fields", EMPTY), carried=lambda fact: fact.said)
    custom = {}
    names = {name for write in writes for name in write.custom} | {name for fact in reported for name in fact.said.get("custom", EMPTY)}
    for name in names:
        theirs = [Write(item.subject, item.at, item.creates, item.custom) for item in writes]
        value = _value(name, theirs, reported, lambda fact: fact.said.get("custom", EMPTY))
        if value is not None:
            custom[name] = value
    entries = [((write.at, 0), ("api", "", write.at)) for write in writes]
    entries += [(fact.place, (fact.tool, str(fact.said["event"]), fact.shown)) for fact in reported]
    return Record(kind, shown, custom, [entry for _, entry in sorted(entries)])


def _value(name: str, writes: list[Write], reported: list[Fact], value_item: Given, carried: Given | None = None) -> Any:
    """The last deliberate entry that names a field sets it, object by object; without one the earliest that carries a value fills it.

    A write of the API replaces what came before. After it each object of a CRM has its own last value; an empty one gives way
    to another object's. Of several objects of one kind the first to come counts, one that was deleted after all others.
    """
    by_api: list[tuple[Place, Any]] = [((write.at, 0), write.fields[name]) for write in writes if name in write.fields]
    fills: list[tuple[Place, Any]] = []
    last: dict[str, tuple[Place, Any]] = {}
    for fact in sorted(reported, key=lambda fact: fact.place):
        if "." not in fact.said["event"]:
            if response := (carried or value_item)(fact).get(name):
                fills.append((fact.place, response))
        elif name in value_item(fact):
            last[_leader(fact.source, reported)] = (fact.place, value_item(fact)[name])
    ours = max(by_api, default=None, key=lambda item: item[0])
    standing = {of: value for of, value in last.items() if value[1] is not None and (ours is None or value[0] > ours[0])}
    if standing:
        kinds = {of.rpartition(" ")[0] for of in standing}
        first = [min((of for of in standing if of.startswith(f"{kind} ")), key=lambda of: _rank(of, reported)) for kind in kinds]
        return max(standing[of] for of in first)[1]
    if ours is not None or last:
        return None if ours is None or any(item[0] > ours[0] for item in last.values()) else ours[1]
    return min(fills, default=((0, 0), None))[1]


def _latest(name: str, writes: list[Write], reported: list[Fact], value: Given) -> Any:
    """The last deliberate entry that names an address or a company; without one the earliest that carries it along."""
    deliberate = [((write.at, 0), write.fields[name]) for write in writes if name in write.fields]
    deliberate += [(fact.place, value(fact)[name]) for fact in reported if "." in fact.said["event"] and value(fact).get(name)]
    fills = [(fact.place, value(fact)[name]) for fact in reported if "." not in fact.said["event"] and value(fact).get(name)]
    return max(deliberate, key=lambda item: item[0])[1] if deliberate else min(fills, default=((0, 0), None))[1]


def _leader(source: str | None, reported: list[Fact]) -> str:
    """The object, or the one of those merged with it whose name comes first."""
    assert source is not None
    tool, _, number = source.rpartition(" ")
    merged = [(fact.said["object_id"], fact.said["merged_into"]) for fact in reported if fact.source and fact.said.get("merged_into")]
    return next((f"{tool} {min(pair)}" for pair in merged if number in pair and tool == "crm"), source)


def _rank(leader: str, reported: list[Fact]) -> tuple[bool, Place]:
    facts = sorted((fact for fact in reported if fact.source and _leader(fact.source, reported) == leader), key=lambda fact: fact.place)
    last = facts[-1].said
    return last["event"].endswith(".deleted") and not last.get("merged_into"), facts[0].place


NEW = ("new", "not contacted")
MOVING = ("email_sent", "email_replied", "email_bounced", "email_unsubscribed", "email_resubscribed", "email_spam_complaint")
FURTHER = ("customer", "interested", "do_not_contact")


def _entries(kind: str, writes: list[Write], reported: list[Fact]) -> Iterator[tuple[tuple[int, int], int, str, str | None]]:
    for write in writes:
        if "status" in write.fields and not (write.creates and write.fields["status"] is None):
            yield (write.at, 0), write.at, "created" if write.creates else "set", write.fields["status"]
    for fact in reported:
        event = fact.said["event"]
        if event.endswith("status_changed"):
            yield fact.place, fact.place[0], "told" if "." in event else "set", fact.said["status"]
        elif event in MOVING and fact.said.get("kind") != "soft":
            yield fact.place, fact.place[0], event, None


def _walk(kind: str, writes: list[Write], reported: list[Fact]) -> tuple[str | None, str | None, int | None]:
    """The status, the one before it, and when it changed (decision 3)."""
    status = previous = changed = None
    cause = before = ""
    for _, at, what, word in sorted(_entries(kind, writes, reported), key=lambda entry: entry[0]):
        new = _asked(status, cause, what, word, previous)
        if new is None:
            continue
        (wanted,) = new
        if wanted == status and what != "email_resubscribed":
            cause = cause if what == "email_unsubscribed" else what
        elif what == "created" and status is None:
            status, cause = wanted, what
        else:
            status, previous, changed = wanted, status, at
            # A re-subscription gives back the status before, and what had set it.
            cause, before = (before if what == "email_resubscribed" else what), cause
    return status, previous, changed


def _asked(status: str | None, cause: str, what: str, word: str | None, previous: str | None) -> tuple[str | None] | None:
    """The status that an entry sets, or None where it sets none."""
    stopped = cause in ("email_unsubscribed", "email_spam_complaint")
    folded = (status or "").casefold()
    if what in ("set", "told", "created"):
        return (word,)
    if what == "email_sent":
        return ("contacted",) if status is None or folded in NEW else None
    if what == "email_replied":
        # What a CRM tells holds, but its word for a person that nobody has worked on.
        holds = cause == "set" or (cause == "told" and folded not in NEW) or (cause == "created" and folded in FURTHER)
        return None if holds or stopped else ("replied",)
    if what == "email_bounced":
        return None if stopped or folded == "do_not_contact" else ("bounced",)
    if what == "email_resubscribed":
        return (previous,) if cause == "email_unsubscribed" else None
    return ("do_not_contact",)
