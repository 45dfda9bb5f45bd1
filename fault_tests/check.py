"""Check after a fault that the store has every acknowledged write exactly once and complete."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field

import apsw
from bench.load import Address

from fault_tests.calls import ApiClient
from fault_tests.journal import Journal
from touchbase.clients.sql.clients import find_client
from touchbase.consistency import service as consistency_service
from touchbase.consistency.sql import audit_deliveries, audit_records
from touchbase.history.events import CONTACT, StoredEvent
from touchbase.records.models import Contact
from touchbase.sql.store import Store
from touchbase.stores import open_store

PAGE = 500
STILL_SECONDS = 15.0
TOLD = 8
StoredContacts = list[tuple[Contact, list[StoredEvent]]]


@dataclass
class Findings:
    """Everything that a check found wrong, without repetitions; empty if the store is as expected."""

    about: str = ""
    """The client that is checked."""
    losses: set[str] = field(default_factory=set)
    doubles: set[str] = field(default_factory=set)
    faults: set[str] = field(default_factory=set)
    """Records that are incomplete or differ from their stored events."""

    missed: set[str] = field(default_factory=set)
    """Performance goals that were missed; the stored data is right."""

    def add_lost(self, what: str) -> None:
        self.losses.add(f"{self.about} lost: {what}".strip())

    def add_duplicate(self, what: str) -> None:
        self.doubles.add(f"{self.about} twice: {what}".strip())

    def fault(self, what: str) -> None:
        self.faults.add(f"{self.about} {what}".strip())

    def add_missed(self, what: str) -> None:
        self.missed.add(what)

    def add(self, other: Findings) -> None:
        """Merge the findings of another check."""
        self.losses |= other.losses
        self.doubles |= other.doubles
        self.faults |= other.faults

    @property
    def complaints(self) -> list[str]:
        """The first few findings as text."""
        return [item for kind in (self.faults, self.losses, self.doubles, self.missed) for item in sorted(kind)[:TOLD]]

    def exactly(self, count: int, what: str, *, least: int = 1) -> None:
        """Add a finding unless `count` is 1, or 0 where `least` is 0."""
        if count < least:
            self.add_lost(what)
        elif count > 1:
            self.add_duplicate(what)


def wait_until_applied(address: Address, client: str, stall_limit: float = STILL_SECONDS) -> bool:
    """Wait until the inbox of this client is empty; return False after `stall_limit` seconds without progress."""
    api, before, until = ApiClient(address, client), None, time.perf_counter() + stall_limit
    try:
        while time.perf_counter() < until:
            waiting = api.expect_ok("GET", f"/admin/v1/deliveries?client={client}&state=received&limit=200")["data"]
            if not waiting:
                return True
            said = api.call("GET", "/metrics").raw.splitlines()
            now = (len(waiting), waiting[-1]["id"], [line for line in said if line.startswith(b"touchbase_deliveries_processed_total{")])
            if now != before:
                before, until = now, time.perf_counter() + stall_limit
            time.sleep(0.02)
        return False
    finally:
        api.close()


def check(database: str, journal: Journal, *, answered_only: bool = False) -> Findings:
    """Compare the store with the journal; a server may be running if its inbox is empty.

    With `answered_only`, a stored record whose request got no response is a finding too.
    """
    findings = Findings(journal.client)
    asyncio.run(_check(database, journal, findings, answered_only))
    if database.startswith("sqlite"):
        check_integrity(database.removeprefix("sqlite:///"), findings)
    for item in journal.odd[:5]:
        findings.fault(f"an answer nobody should get: {item}")
    return findings


def contacts_of(database: str, client_id: str) -> int:
    """Count the contacts of a client."""
    return asyncio.run(_count(database, client_id))


async def _count(database: str, client_id: str) -> int:
    store = await open_store(database, as_is=True)
    try:
        client = await store.read(find_client(client_id))
        return 0 if client is None else len(await _contacts(store, client.number))
    finally:
        await store.close()


async def _check(database: str, journal: Journal, findings: Findings, answered_only: bool) -> None:
    store = await open_store(database, as_is=True)
    try:
        client = await store.read(find_client(journal.client))
        assert client is not None, "the client itself is gone"
        stored = await _contacts(store, client.number)
        _check_created(stored, journal, findings)
        _check_patched(stored, journal, findings)
        _check_webhooks(stored, await _deliveries(store, client.number), journal, findings)
        if answered_only:
            _check_unacknowledged(stored, journal, findings)
        async for difference in consistency_service.verify(store, client.number, consistency_service.Verified(), lambda: None):
            findings.fault(f"not what the kept events say: {difference}")
    finally:
        await store.close()


def _check_created(stored: StoredContacts, journal: Journal, findings: Findings) -> None:
    by_name: dict[str | None, list[Contact]] = defaultdict(list)
    for contact, _ in stored:
        by_name[contact.first_name].append(contact)
    for name, number in (journal.created | journal.created_once).items():
        there = by_name[name]
        findings.exactly(len(there), f"contact {name}", least=int(number is not None))
        if number is not None and there and there[0].id != number:
            findings.fault(f"contact {name} was acknowledged as {number} and is {there[0].id}")
        if there and name in journal.never_stored:
            findings.fault(f"contact {name} was refused and is there")
        if any(len(item.custom_fields) != 2 for item in there):
            findings.fault(f"contact {name} is half-written")


def _check_unacknowledged(stored: StoredContacts, journal: Journal, findings: Findings) -> None:
    names, emails = {contact.first_name for contact, _ in stored}, {contact.email for contact, _ in stored}
    ids = {contact.id: contact for contact, _ in stored}
    silent = [f"contact {name}" for name, number in (journal.created | journal.created_once).items() if number is None and name in names]
    silent += [f"webhook call about {email}" for email, webhook in journal.webhooks.items() if not webhook and email in emails]
    silent += [f"erasure of contact {who}" for who, value in journal.erased.items() if not value and who not in ids]
    for who, place in journal.patched.items():
        if who in ids and int(ids[who].last_name or 0) > place.acknowledged:
            silent.append(f"patch of contact {who}")
    for what in silent:
        findings.add_lost(f"the answer to a call that was carried out: {what}")


def _check_patched(stored: StoredContacts, journal: Journal, findings: Findings) -> None:
    by_id = {contact.id: contact for contact, _ in stored}
    for who, place in journal.patched.items():
        contact = by_id.get(who)
        if contact is None or int(contact.last_name or 0) < place.acknowledged:
            findings.add_lost(f"patch {place.acknowledged} of contact {who}")
        elif {contact.last_name, *(custom_field.value for custom_field in contact.custom_fields)} != {contact.last_name}:
            findings.fault(f"patch of contact {who} is half-written")
        elif int(contact.last_name or 0) > place.sent:
            findings.fault(f"contact {who} has a name that nobody sent")
    for who, acknowledged in journal.erased.items():
        if acknowledged and who in by_id:
            findings.add_lost(f"erasure of contact {who}")


def _check_webhooks(stored: StoredContacts, states: Counter[str], journal: Journal, findings: Findings) -> None:
    """Each webhook call is one delivery that was applied, one contact, and one event in its history.

    A call that was sent again before the first was applied is stored once more, and ends as `ignored` (decision 5).
    """
    by_email: dict[str | None, list[list[StoredEvent]]] = defaultdict(list)
    for contact, events in stored:
        by_email[contact.email].append(events)
    for email, acknowledged in journal.webhooks.items():
        there = by_email[email]
        findings.exactly(len(there), f"webhook call about {email}", least=int(acknowledged))
        for events in there:
            findings.exactly(len(events), f"event of {email}")
    least, most = sum(journal.webhooks.values()), len(journal.webhooks)
    extra = max(states["applied"] - most, states.total() - 2 * most)
    for number in range(extra):
        findings.add_duplicate(f"a delivery, {number + 1} of {extra}")
    if states["applied"] < least or set(states) - {"applied", "ignored"}:
        findings.fault(f"deliveries are {dict(states)}, and {least} to {most} should be applied")


async def _contacts(store: Store, client: int) -> StoredContacts:
    stored: StoredContacts = []
    after: int | None = 0
    while after is not None:
        page = await store.read(audit_records(client, CONTACT, after, PAGE))
        stored += [(record, events) for record, events in page.records if isinstance(record, Contact)]
        after = page.last
    return stored


async def _deliveries(store: Store, client: int) -> Counter[str]:
    states: Counter[str] = Counter()
    after: int | None = 0
    while after is not None:
        page = await store.read(audit_deliveries(client, after, PAGE))
        states.update(delivery.state for delivery in page.deliveries)
        after = page.last
    return states


def check_integrity(path: str, findings: Findings) -> None:
    """Add a finding if a SQLite file is damaged."""
    with apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY) as connection:
        result = [row[0] for row in connection.execute("PRAGMA integrity_check")]
    if result != ["ok"]:
        findings.fault(f"the file is damaged: {result[:3]}")
