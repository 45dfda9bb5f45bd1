"""Verification: recompute every derived value from the stored events, page by page, and report each difference.

Only reads, also while the server runs: a page is read in one transaction, and a record that differs is read once more
before its difference is reported. Memory holds one page, however many records there are.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field

from touchbase.consistency.inbox import wrong_body, wrong_state
from touchbase.consistency.records import Difference, differences
from touchbase.consistency.sql import RecordPage, WaitingPage, audit_bodies, audit_deliveries, audit_records, audit_waiting
from touchbase.custom_fields.uses import audit_uses
from touchbase.history.events import COMPANY, CONTACT, StoredEvent
from touchbase.records.models import Company, Contact
from touchbase.records.projection import refold_status
from touchbase.records.sql.status_moves import audit_moves, correct_moves
from touchbase.sql.store import Store

PAGE = 200
BODY_SHARE = 10
"""By how many times a page of bodies is shorter than one of records: bodies are large."""
KINDS = {CONTACT: "contact", COMPANY: "company"}


@dataclass(slots=True)
class Verified:
    """Counts of the rows read so far, and of the differences."""

    contacts: int = 0
    companies: int = 0
    events: int = 0
    deliveries: int = 0
    differences: int = 0
    recounted: int = 0
    """Wrong counts that were corrected; they are no differences any more."""
    renaming: set[int] = field(default_factory=set)
    """Jobs that still give records the new name of a status: such records were compared by it."""


async def verify(
    store: Store,
    client: int,
    so_far: Verified,
    on_page: Callable[[], None] = lambda: None,
    page: int = PAGE,
    *,
    bodies: bool = False,
    recount: bool = False,
) -> AsyncIterator[Difference]:
    """Yield every difference between one client's rows and its events, and count into `so_far`.

    With `bodies` the body of each delivery is read too, and compared with the delivery's key. With `recount` wrong counts of statuses
    are corrected.
    """
    for kind, name in KINDS.items():
        after: int | None = 0
        while after is not None:
            records = await store.read(audit_records(client, kind, after, page))
            _count(so_far, kind, records)
            _rename(so_far, records)
            for difference in [of_record async for of_record in _of_records(store, client, kind, records)]:
                so_far.differences += 1
                yield difference
            after = records.last
            on_page()
        for field_name, present, counted in await store.read(audit_uses(client, kind)):
            so_far.differences += 1
            yield Difference(f"{name} custom field {field_name!r}", "use", str(present), str(counted))
        wrong = await store.read(audit_moves(client, kind))
        if recount and wrong:
            await store.write(correct_moves(client, kind, wrong))
            so_far.recounted += len(wrong)
        else:
            so_far.differences += len(wrong)
        for count in wrong:
            yield Difference(f"{name} statuses", str(count), str(count.stored), str(count.counted))
    for check in (_waiting, _deliveries, *([_bodies] if bodies else [])):
        async for difference in check(store, client, so_far, page):
            so_far.differences += 1
            yield difference
        on_page()


def _count(so_far: Verified, kind: int, page: RecordPage) -> None:
    so_far.events += sum(len(history) for _, history in page.records)
    if kind == CONTACT:
        so_far.contacts += len(page.records)
    else:
        so_far.companies += len(page.records)


def _rename(so_far: Verified | None, page: RecordPage) -> None:
    """Rename the records' statuses, as an unfinished job will."""
    if page.renaming is None:
        return
    for record, history in page.records:
        if page.words.is_outdated(record):
            refold_status(record, history, page.words)
            if so_far is not None:
                so_far.renaming.add(page.renaming)


async def _of_records(store: Store, client: int, kind: int, page: RecordPage) -> AsyncIterator[Difference]:
    suspects = {record.id for record, history in page.records if any(_of(page, record, history))}
    suspects |= {number for _, number in page.strays} | {number for number, *_ in page.astray}
    for number in sorted(suspects):
        again = await store.read(audit_records(client, kind, number - 1, 1))
        _rename(None, again)
        for difference in _differences_of(kind, again, number):
            yield difference


def _of(page: RecordPage, record: Contact | Company, history: list[StoredEvent]) -> Iterator[Difference]:
    return differences(record, history, page.links.get(record.id, ()), page.companies, page.words, page.open_emails.get(record.id, ()))


def _differences_of(kind: int, page: RecordPage, number: int) -> Iterator[Difference]:
    for record, history in page.records:
        if record.id == number:
            yield from _of(page, record, history)
    for what, stray in page.strays:
        if stray == number:
            yield Difference(f"{KINDS[kind]} {number}", what, "present", "absent, because there is no such record")
    for at, what, present, wanted in page.astray:
        if at == number:
            yield Difference(f"{KINDS[kind]} {number}", what, present, wanted)


async def _waiting(store: Store, client: int, so_far: Verified, page: int) -> AsyncIterator[Difference]:
    after: int | None = 0
    while after is not None:
        audited = await store.read(audit_waiting(client, after, page))
        so_far.events += sum(count for _, count, _ in audited.parked)
        for parking_id, _, led_to in audited.parked:
            if not led_to:
                again = await store.read(audit_waiting(client, parking_id - 1, 1))
                for difference in _unlinked(again, parking_id):
                    yield difference
        after = audited.last


def _unlinked(page: WaitingPage, parking_id: int) -> Iterator[Difference]:
    for at, count, led_to in page.parked:
        if at == parking_id and not led_to:
            yield Difference(f"link {parking_id}", "waiting events", str(count), "0, because no link without a record leads there")


async def _deliveries(store: Store, client: int, so_far: Verified, page: int) -> AsyncIterator[Difference]:
    after: int | None = 0
    while after is not None:
        audited = await store.read(audit_deliveries(client, after, page))
        so_far.deliveries += len(audited.deliveries)
        for number, _ in audited.strays:
            for missing, count in (await store.read(audit_deliveries(client, number - 1, 1))).strays:
                if missing == number:
                    yield Difference(f"delivery {number}", "events", str(count), "0, because there is no such delivery")
        for number in [delivery.id for delivery in audited.deliveries if wrong_state(delivery)]:
            for delivery in (await store.read(audit_deliveries(client, number - 1, 1))).deliveries:
                if delivery.id == number and (wanted := wrong_state(delivery)):
                    yield Difference(f"delivery {number}", "state", repr(delivery.state), wanted)
        after = audited.last


async def _bodies(store: Store, client: int, so_far: Verified, page: int) -> AsyncIterator[Difference]:
    after: int | None = 0
    while after is not None:
        audited = await store.read(audit_bodies(client, after, max(1, page // BODY_SHARE)))
        for number in [body.id for body in audited.bodies if wrong_body(body)]:
            for delivery in (await store.read(audit_bodies(client, number - 1, 1))).bodies:
                if delivery.id == number and (wanted := wrong_body(delivery)):
                    body = "missing" if delivery.body is None else f"{len(delivery.body)} bytes"
                    yield Difference(f"delivery {number}", "body", body, wanted)
        after = audited.last
