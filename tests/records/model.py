"""One client's records in memory, as the documentation says they behave: docs/reference/api.md, search.md, the how-to pages, decisions 3,
78, 79 and 80.

An operation returns what the response must be: `Done`, or the refusals that are right. A record is its history; its values are a fold
(`model_fold.py`). These modules import nothing of the service.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from tests.records.model_fold import FIELDS, KEYS, Entry, Key, Values, first_keys, fold, normal

NOON = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)
STATUS = {"contacts": "contact_status", "companies": "company_status"}
CUSTOM = {"contacts": "contact_custom_fields", "companies": "company_custom_fields"}
REASONS = ("complained", "unsubscribed", "requested", "status", "legal", "competitor", "customer", "other", "hard_bounced")
"""Of several reasons the first is shown."""
CAUSES = {"email_unsubscribed": "unsubscribed", "email_bounced": "hard_bounced"}
READ_ONLY = ("id", "updated_time", "previous_status")


@dataclass(frozen=True)
class Refused:
    """A response that is right if several faults may be reported first."""

    status: int
    code: str
    existing: int | None = None


@dataclass(frozen=True)
class Done:
    """A success, with the record in question."""

    status: int
    record: Record


NO_COMPANY = Refused(422, "invalid")
"""For the id of no company; a creation that only returns a record does not look."""
Answer = Done | list[Refused]


@dataclass(eq=False)
class Record:
    """One record: its history and where it is."""

    id: int
    kind: str
    entries: list[Entry] = field(default_factory=list)
    has_merged: bool = False
    """Whether it was part of a merge: its place in lists is open."""
    deleted_at: int | None = None
    merged_into: int | None = None
    erased: bool = False
    further: dict[Key, str] = field(default_factory=dict)
    """The keys that it has besides the ones that it shows first, with their text."""
    had: set[Key] = field(default_factory=set)
    """All addresses that lead to it: present ones, former ones, those of merged records."""
    updated: int | None = None
    """The time of the last change; None where the documentation does not say."""
    last: Values | None = None

    @property
    def live(self) -> bool:
        """Whether it is in lists."""
        return self.deleted_at is None and self.merged_into is None and not self.erased

    @property
    def keys(self) -> dict[Key, str]:
        """All its keys, the first ones too."""
        return first_keys(self.kind, self.entries) | self.further

    def takes(self, sets: Values, *, by_key: bool = False) -> Values:
        """Return what a write sets; a record that was found `by_key` keeps its first key if the write names a further one."""
        first = first_keys(self.kind, self.entries)
        if "emails" in sets:
            self.further = {key: value for key, value in self.further.items() if key[0] != "email"} | keys_of(sets["emails"][1:])
        for name in KEYS[self.kind]:
            key = (name, normal(name, sets.get(name)) or "")
            if key in self.further and by_key:
                sets = {other_key: value for other_key, value in sets.items() if other_key != name}
            elif key in self.further:  # it is the first one now, and the former first one a further one
                del self.further[key]
                self.further |= {old: value for old, value in first.items() if old[0] == name}
        return sets

    @property
    def by_request(self) -> bool:
        """Whether a request has created it."""
        return any(entry.what == "create" for entry in self.entries)


@dataclass(frozen=True)
class Part:
    """A record as it was before a merge."""

    entries: list[Entry]
    further: dict[Key, str]
    had: set[Key]

    def keys(self, kind: str) -> set[Key]:
        """All its keys."""
        return {*first_keys(kind, self.entries), *self.further}


@dataclass
class Merge:
    """A merge that can be undone, with its records before it."""

    survivor: int
    before: dict[int, Part]
    entry: Entry


@dataclass
class Suppression:
    """What is known about one address or domain: the reason of a request, and of events with their times."""

    kind: str
    reason_asked: str | None = None
    asked_at: int = 0
    events: list[tuple[int, str]] = field(default_factory=list)
    copies: list[tuple[int, int, str]] = field(default_factory=list)
    """The deleted contact with this and other addresses, time and reason."""
    removed: int = -(10**9)

    @property
    def live(self) -> list[tuple[int, str]]:
        """Times and reasons that count."""
        results = [*self.events, *((at, reason) for _, at, reason in self.copies)]
        return [item for item in results if item[0] > self.removed] + ([(self.asked_at, self.reason_asked)] if self.reason_asked else [])

    @property
    def reason(self) -> str | None:
        """The reason shown, or None if it is on the list no more."""
        return min((reason for _, reason in self.live), key=REASONS.index, default=None)


def text(at: int | None) -> str | None:
    """A time as the API writes it."""
    return None if at is None else (NOON + timedelta(seconds=at)).strftime("%Y-%m-%dT%H:%M:%SZ")


class Model:
    """The records and the do-not-contact list of one client."""

    def __init__(self) -> None:
        self.records: dict[str, dict[int, Record]] = {"contacts": {}, "companies": {}}
        self.merges: dict[tuple[str, int], Merge] = {}
        self.suppressions: dict[str, Suppression] = {}
        self.joins: list[Merge] = []
        """Merges by the keys of a write, whose numbers are not known yet."""
        self.open = False
        """Whether the documentation does not say what the last write gives."""
        self.erased: list[set[Key]] = []
        """The addresses of each erased person, by their kind."""
        self.hands: dict[str, list[int]] = defaultdict(list)
        """Which contacts have had an e-mail address."""
        self.now = 0
        self._turn = 0

    def live(self, kind: str) -> list[Record]:
        """The records in lists, in the order of creation."""
        return sorted((record for record in self.records[kind].values() if record.live), key=lambda record: record.id)

    def deleted(self, kind: str) -> list[Record]:
        """The records in the bin, the last deleted first."""
        records = [record for record in self.records[kind].values() if record.deleted_at is not None]
        return sorted(records, key=lambda record: (record.deleted_at or 0, record.id), reverse=True)

    def values(self, record: Record) -> Values:
        """The values of a record, `company_id` of a company that is there."""
        values = fold(record.entries)
        company = self.root("companies", values.pop("company_id", None))
        return values | ({"company_id": company.id} if company is not None and company.live else {})

    def root(self, kind: str, number: int | None) -> Record | None:
        """The record with this id, or the one that it was merged into."""
        record = self.records[kind].get(number or 0)
        while record is not None and record.merged_into is not None:
            record = self.records[kind][record.merged_into]
        return record

    def past(self, record: Record, at: int) -> Values:
        """The record as of a time, without its company."""
        values = fold(record.entries, at)
        values.pop("company_id", None)
        return self.body(record, values)

    def shown(self, record: Record) -> Values:
        """The record with `structure=FLAT`, without `updated_time`."""
        return self.body(record, self.values(record))

    def body(self, record: Record, values: Values) -> Values:
        """The body of a record with these values."""
        kind = record.kind
        body: Values = {"id": record.id, "previous_status": values.get("previous"), "status_changed_at": text(values.get("changed"))}
        if kind == "contacts":
            body |= {name: values.get(name, "") for name in ("first_name", "last_name", "origin")}
            times = (
                ("first_campaign_email_sent", "first_sent"),
                ("last_campaign_email_sent", "last_sent"),
                ("last_reply_received", "replied"),
            )
            body |= {name: text(values.get(source)) for name, source in times}
        further = sorted(key for name, key in record.further if name == "email")
        if further:
            body["emails"] = [*filter(None, [values.get("email")]), *further]
        body |= {name: values[name] for name in ("email", "linkedin_url", "company_id", "domain", "name") if name in values}
        if "status" in values:
            body[STATUS[kind]] = values["status"]
        body[CUSTOM[kind]] = {name[3:]: value for name, value in values.items() if name.startswith("cf.")}
        return body

    def owners(self, kind: str, sets: Values, but: Record | None = None) -> dict[str, Record]:
        """The records in lists that have one of these addresses."""
        result = {}
        for name in KEYS[kind]:
            if (wanted := normal(name, sets.get(name))) is not None:
                for record in self.live(kind):
                    if record is not but and (name, wanted) in record.keys:
                        result[name] = record
        for key in keys_of(sets.get("emails", [])):
            result |= {" ".join(key): record for record in self.live(kind) if record is not but and key in record.keys}
        return result

    def settle(self) -> None:
        """Note what has changed, and who has which address."""
        for kind, records in self.records.items():
            for record in records.values():
                if not record.live:
                    continue
                shown = self.shown(record)
                if record.last is not None and shown != record.last:
                    record.updated = self.now
                record.last = shown
                record.had |= record.keys.keys()
                address = normal("email", shown.get("email"))
                if kind == "contacts" and address and record.id not in self.hands[address]:
                    self.hands[address].append(record.id)

    def entry(self, what: str, sets: Values, *, clears: bool = False) -> Entry:
        """An entry of a request, now."""
        self._turn += 1
        return Entry(self.now, self._turn, what, sets, clears)

    # Requests that write one record.

    def parse(self, kind: str, body: Values, *, creates: bool) -> tuple[Values, bool, list[Refused]]:
        """What a body sets, whether it removes all custom fields, and its faults."""
        sets: Values = {}
        faults, clears = [], False
        custom_names = (CUSTOM[kind], f"{CUSTOM[kind]}_input")
        for name, value in body.items():
            inner = "status" if name == STATUS[kind] else name
            if name in custom_names:
                clears = clears or value is None
                names = [item["field_name"].strip() for item in value or ()]
                faults += [Refused(422, "invalid")] * (len(set(names)) < len(names))
                sets |= {f"cf.{item['field_name'].strip()}": item["field_value"] and item["field_value"].strip() for item in value or ()}
            elif name == "company_id" and isinstance(value, str) and value.strip():
                company = self.owners("companies", {"domain": value}).get("domain")
                faults += [Refused(404, "not_found")] * (company is None)
                sets[name] = company and company.id
            elif name == "company_id" and isinstance(value, int):
                company = self.records["companies"].get(value)
                faults += [NO_COMPANY] * (company is None or not company.live)
                sets[name] = value
            elif name == "emails":
                sets |= {"emails": value, "email": value[0]}
            elif inner in FIELDS[kind]:
                wrong = value is None and creates and name not in ("email", "linkedin_url", "company_id")
                sets[inner] = (value or "").strip() or None
                wrong = wrong or (name == "email" and sets[inner] is not None and "@" not in sets[inner])
                wrong = wrong or (name == "domain" and (sets[inner] is None or "." not in sets[inner]))
                faults += [Refused(422, "invalid")] * wrong
                if name == "domain" and sets[inner]:
                    sets[inner] = normal("domain", sets[inner])
            elif name in ("Email", "status"):
                faults.append(Refused(422, "invalid"))
        return sets, clears, faults

    @property
    def banned(self) -> set[Key]:
        """The addresses of all erased persons."""
        return set().union(*self.erased)

    def is_banned(self, sets: Values) -> bool:
        """Whether one of these addresses is an erased person's."""
        named = {(name, normal(name, sets.get(name)) or "") for name in KEYS["contacts"]} | keys_of(sets.get("emails", [])).keys()
        return not named.isdisjoint(self.banned)

    def create(self, kind: str, body: Values, on_duplicate: str = "error", *, restore_erased: bool = False) -> Answer:
        """POST of a list."""
        sets, _, faults = self.parse(kind, body, creates=True)
        sets = {name: value for name, value in sets.items() if value is not None}
        faults += [Refused(422, "invalid")] * (kind == "companies" and "domain" not in sets)
        faults += [Refused(422, "invalid")] * (kind == "contacts" and not sets)  # it would be nobody
        if kind == "contacts" and self.is_banned(sets) and not restore_erased:
            faults.append(Refused(409, "person_erased"))
        owners = self.owners(kind, sets)
        if any(fault is not NO_COMPANY for fault in faults) or (faults and not (owners and on_duplicate == "return")):
            return faults + conflicts(owners.values())
        if owners and on_duplicate == "update":
            if (record := self.joined_record(kind, owners.values())) is None or self.is_another(record, sets):
                return conflicts(owners.values())
            owners = {"email": record}
        elif (owners and on_duplicate == "return" and self.is_another(next(iter(owners.values())), sets)) or (
            owners and on_duplicate == "error"
        ):
            return conflicts(owners.values())
        if restore_erased:
            named = {(name, normal(name, sets[name]) or "") for name in KEYS["contacts"] if name in sets}
            self.erased = [person for person in self.erased if not person & named]
        for record in owners.values():
            if on_duplicate == "update":
                record.entries.append(self.entry("create", self.write_by_key(record, sets)))
            return Done(200, record)
        return Done(201, self.add(kind, self.entry("create", sets)))

    def add(self, kind: str, entry: Entry) -> Record:
        """Add a record, whose id is not known yet."""
        number = min([0, *self.records[kind]]) - 1
        record = self.records[kind][number] = Record(number, kind, updated=self.now)
        record.takes(entry.sets)
        record.entries.append(entry)
        return record

    def number(self, record: Record, number: int) -> None:
        """Note the id of a new record: it is none that any record had."""
        if record.id == number:
            return
        records = self.records[record.kind]
        assert record.id < 0, f"{record} has the id {number} in a response"
        assert number > max(records), f"the id {number} was used before"
        del records[record.id]
        for ids in self.hands.values():
            if record.kind == "contacts" and record.id in ids:
                ids[ids.index(record.id)] = number
        record.id = number
        record.last = None
        records[number] = record

    def put(self, kind: str, match: str, body: Values) -> Answer:
        """PUT of a list."""
        sets, clears, faults = self.parse(kind, body, creates=False)
        faults += [Refused(422, "invalid")] * (sets.get(match) is None)
        if kind == "contacts" and self.is_banned(sets):
            faults.append(Refused(409, "person_erased"))
        owners = self.owners(kind, sets)
        record = owners.get(match)
        others = [owner for owner in owners.values() if owner is not record]
        if faults:
            return faults + conflicts(others)
        if record is None and others and not any(name == match for name, _ in first_keys(kind, others[0].entries)):
            record = others[0]  # it has no key of this kind yet
        elif others and (record is None or (record := self.joined_record(kind, owners.values())) is None):
            return conflicts(others)
        if record is not None and self.is_another(record, sets):
            return conflicts([record])
        if record is None:
            return Done(201, self.add(kind, self.entry("create", {name: value for name, value in sets.items() if value is not None})))
        unsets = clears or None in sets.values()
        sets = self.write_by_key(record, sets)
        record.entries.append(self.entry("write" if record.by_request or unsets else "create", sets, clears=clears))
        return Done(200, record)

    def patch(self, kind: str, number: int, body: Values) -> Answer:
        """PATCH of one record."""
        sets, clears, faults = self.parse(kind, body, creates=False)
        record = self.records[kind].get(number)
        if record is None or not record.live:
            faults.append(Refused(404, "not_found"))
        if kind == "contacts" and self.is_banned(sets):
            faults.append(Refused(409, "person_erased"))
        others = self.owners(kind, sets, record)
        if faults or others:
            return faults + conflicts(others.values())
        assert record is not None
        if sets or clears:
            record.entries.append(self.entry("write", record.takes(sets), clears=clears))
        return Done(200, record)

    # Two contacts that one write names.

    def write_by_key(self, record: Record, sets: Values) -> Values:
        """What a write sets on a record that it found by a key. Whether a merged record takes another spelling of its first key is open."""
        first = first_keys(record.kind, record.entries)
        spelled = {name: text for (name, key), text in first.items() if normal(name, sets.get(name)) == key}
        self.open |= record.has_merged and any(sets[name] != text for name, text in spelled.items())
        return record.takes(sets, by_key=True)

    def joined_record(self, kind: str, records: Iterable[Record]) -> Record | None:
        """The record that has all keys of a write, after a merge if they are of several contacts; None if they may not be one person."""
        result = list({record.id: record for record in records}.values())
        having = [item for item in result if any(name == "email" for name, _ in item.keys)]
        if len(result) == 1:
            return result[0]
        if kind == "companies" or len(having) > 1:
            return None
        survivor = next(iter(having), result[0])
        return self.join(survivor, [item for item in result if item is not survivor])

    def is_another(self, record: Record, sets: Values) -> bool:
        """Whether a write is about another person than the contact with its profile: one that never had the addresses."""
        named = {key for name, key in keys_of([*sets.get("emails", []), *filter(None, [sets.get("email")])])}
        had = {key for key in named if (hands := self.hands.get(key)) and self.root("contacts", hands[-1]) is record}
        mine = {key for name, key in record.keys if name == "email"}
        return bool(record.kind == "contacts" and mine and named and not named & (mine | had))

    def join(self, survivor: Record, others: list[Record]) -> Record:
        """Merge contacts that a write names."""
        raise NotImplementedError


def keys_of(emails: Iterable[str]) -> dict[Key, str]:
    """Addresses by their normal form."""
    return {("email", normal("email", email) or ""): email for email in emails}


def conflicts(records: Iterable[Record]) -> list[Refused]:
    """The refusals for addresses that these records have."""
    return [Refused(409, "duplicate", record.id) for record in records]
