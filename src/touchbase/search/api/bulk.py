"""`PATCH` of a list: one change of all contacts or companies that match its filters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Generic, TypeVar

import msgspec
from msgspec import Meta, Struct

from touchbase.audit import current_act, record_bulk_change
from touchbase.auth.authentication import WRITE
from touchbase.clients.models import Client
from touchbase.common.cipher import Cipher
from touchbase.common.timestamps import Micros
from touchbase.errors import Fault, Invalid, NotFound, PreconditionFailed, TooManyAffected, TouchbaseError
from touchbase.event_log.sql.changes import BULK, note_change
from touchbase.http.endpoint import Call, author_of
from touchbase.http.headers import HANDLING, PREFER_HEADER, STRICT, applied, described, is_strict, preferences
from touchbase.http.query_parameters import DRY_RUN, Parameters
from touchbase.http.responses import Response
from touchbase.http.routing import Route, Success, Tag
from touchbase.http.schemas import encode, example
from touchbase.records.api.bodies import Read, RecordBodies, ignored_header, put_references
from touchbase.records.api.parameters import UPDATED_SINCE
from touchbase.records.api.resource_type import ResourceType
from touchbase.records.api.schemas import CompanyRequest, ContactRequest
from touchbase.records.models import Company, Contact
from touchbase.records.operations import WRITES
from touchbase.records.sql.reads import Listing, count_matching, matching
from touchbase.records.update import update_of
from touchbase.records.writes import RecordUpdate, new_write_key, record_of
from touchbase.search.api.parameters import FILTERS, Q, query_of, search_for
from touchbase.search.queries import RecordSearch
from touchbase.search.service import index_all
from touchbase.search.sql.plans import count_matches, search_page
from touchbase.sql.ids import Ids
from touchbase.sql.operation import command, plan_of
from touchbase.sql.statement import Plan
from touchbase.sql.store import Store

MAX_AFFECTED = 10_000
"""Records of one request."""
STEP = 50
"""Records of one transaction, for which all other writes wait on SQLite. Each is read with its custom fields."""
STEP_FIELDS = 4_096
"""Custom fields that one transaction changes, of at least one record."""
MAX_LISTED = 100
"""Failed records that the result lists."""


@dataclass(slots=True)
class Step:
    """Outcomes of the records of one step."""

    matched: int = 0
    changed: int = 0
    failed: list[tuple[int, TouchbaseError]] = field(default_factory=list)
    """Ids and errors."""
    last: tuple[Micros, int] | None = None
    """The place of the last record; None: none is left."""


Matching = Listing[Any] | RecordSearch[Any]
"""The records of a list, or of a search in order of creation."""


def _needs(commands: Sequence[Any]) -> Mapping[str, int]:
    custom = sum(command.listing.limit * len(command.update.custom) for command in commands)
    return {"custom_field": custom, "link": sum(3 * command.listing.limit for command in commands)}


def _matching(listing: Matching) -> Plan[list[tuple[int, Micros, Micros]]]:
    """Return `id`, `created_us` and `updated_us` of a page of records."""
    if isinstance(listing, Listing):
        return (yield from matching(listing))
    page = yield from search_page.plan(listing)
    return [(record.id, record.created_us, record.updated_us) for record in page.records]


@command(ids=_needs, cipher=True, large=True)
def change_page(ids: Ids, cipher: Cipher, client: int, listing: Matching, update: RecordUpdate[Any]) -> Plan[Step]:
    """Change a page of records that match, in order of creation; `listing.after` is the place of the last one of the step before.

    `update`: the change; its `id` is set for each record.
    """
    matches = yield from _matching(listing)
    if not matches:
        return Step()
    updated_by_id = {number: updated for number, _, updated in matches}
    outcomes = yield from _change(updated_by_id, listing, update, ids, cipher)
    if stale := {number for number, outcome in outcomes.items() if isinstance(outcome, PreconditionFailed | NotFound)}:
        # Other requests changed or removed these since they were read. They are locked now: those that still match are changed, others do
        # not count.
        now = yield from _matching(replace(listing, limit=2 * listing.limit))
        still = {number: updated for number, _, updated in now if number in stale}
        updated_by_id = {number: updated for number, updated in updated_by_id.items() if number not in stale} | still
        outcomes |= yield from _change(still, listing, update, ids, cipher)
    step = Step(len(updated_by_id))
    for number, updated in updated_by_id.items():
        outcome = outcomes[number]
        record = record_of(outcome)
        if record is not None:
            step.changed += record.updated_us != updated
        elif isinstance(outcome, TouchbaseError):
            step.failed.append((number, outcome))
    if step.changed:
        yield from note_change(client, BULK, update.by, update.at, step.changed)
    if len(matches) == listing.limit:
        step.last = (matches[-1][1], matches[-1][0])
    return step


def _change(
    updated_by_id: Mapping[int, Micros], listing: Matching, update: RecordUpdate[Any], ids: Ids, cipher: Cipher
) -> Plan[dict[int, object]]:
    """Change these records, as they were when they were read; return the results by id."""
    write = WRITES[listing.kind.model].update
    updates = [write(replace(update, id=number, key=new_write_key(), if_updated_us=at)) for number, at in updated_by_id.items()]
    return dict(zip(updated_by_id, (yield from plan_of(updates, ids, cipher)), strict=True))


async def change_matching(store: Store, listing: Matching, update: RecordUpdate[Any], most: int) -> Step:
    """Change up to `most` records that match, in the order of their creation. Records that match only later are not changed."""
    total = Step()
    after: tuple[Micros, int] | None = None
    limit = min(STEP, max(1, STEP_FIELDS // max(1, len(update.custom))))
    while total.matched < most:
        page = replace(listing, limit=min(limit, most - total.matched), after=after)
        step = await store.write(change_page(listing.client, page, update))
        total.matched += step.matched
        total.changed += step.changed
        total.failed += step.failed
        if step.last is None:
            break
        after = step.last
    return total


A = TypeVar("A", ContactRequest, CompanyRequest)
C = TypeVar("C", bound=msgspec.Struct)
R = TypeVar("R", Contact, Company)

PREFERENCE = "max-affected"
PREFER = described(
    f"`{PREFERENCE}=N`: refuse the request if more than N records match; at most {MAX_AFFECTED:,}, the default. `handling=strict`: "
    "unknown members of the body are faults, read-only ones aside."
)


class BulkFailure(Struct):
    """One record that was not changed, and why."""

    id: int
    code: str
    detail: str


class BulkChange(Struct):
    """Outcome for the matching records."""

    matched: int
    changed: Annotated[int, Meta(description="Records whose values differ now; others had these values already. In a dry run 0.")]
    failed: int
    failures: Annotated[list[BulkFailure], Meta(description=f"The first {MAX_LISTED} that failed.")]


class BulkResource(Generic[A, C, R]):
    """The handler of changes by filter of one type of record."""

    def __init__(self, kind: ResourceType[A, C, R]) -> None:
        self._kind: ResourceType[A, C, R] = kind
        self._bodies: RecordBodies[A, C, R] = RecordBodies(kind)
        self.filters = tuple(filter_ for filter_ in kind.filters if filter_ is not UPDATED_SINCE)
        """A change moves a record in the order of changes, so that is no filter here."""

    async def patch(self, call: Call) -> Response:
        """`PATCH` of all records that match."""
        client, parts, kind = await call.client(), call.api.dependencies, self._kind
        parameters = Parameters(await query_of(call), (*self.filters, Q, DRY_RUN))
        most: int = _max_affected(call, parameters.faults)
        listing = self._matching(parameters, client, parts.clock())
        body, at = await call.json(), parts.clock()
        read: Read[C] = self._bodies.change(body, client, at, strict=is_strict(call.scope))
        change = self._bodies.change_of(read.request)
        _refuse(kind, change.fields, change.custom)
        update = update_of(kind.type, client, 0, change, at)
        update.by = author_of(call.scope)
        await put_references(parts.store, client.number, update, read.request)
        if isinstance(listing, RecordSearch) and listing.words:
            await index_all(parts.store, client.number)  # a change must not miss what is not indexed yet
        count = await parts.store.read(count_matches(listing) if isinstance(listing, RecordSearch) else count_matching(listing))
        if count > most:
            raise _too_many(count, most)
        call.api.storing(client, count * (1 + len(update.custom)), at)
        done = Step(count) if parameters[DRY_RUN] else await change_matching(parts.store, listing, update, most)
        if done.changed:
            await parts.store.write(record_bulk_change(client.number, current_act(), kind.type.plural, done.changed))
        failures = [BulkFailure(number, error.code, error.detail) for number, error in done.failed[:MAX_LISTED]]
        return Response(
            body=encode(BulkChange(done.matched, done.changed, len(done.failed), failures)),
            headers=[*ignored_header(read.ignored), *applied(*([f"{HANDLING}={STRICT}"] * read.strict), f"{PREFERENCE}={most}")],
        )

    def _matching(self, parameters: Parameters, client: Client, now: Micros) -> Matching:
        """Return the records that match. Raises `Invalid`."""
        if parameters.unknown or parameters[Q] is not None:  # filters that only searches have
            return search_for(self._kind.type, client, parameters, now, (Q, DRY_RUN), parameters[Q])
        filters = {name: value for name, value in parameters.filters.items() if value is not None}
        if not filters and not parameters.faults:
            names = ", ".join(filter_.name for filter_ in self.filters)
            parameters.faults.append(Fault("?", "required", f"must have a filter: {names}, q, or one with an operator as in lists"))
        parameters.done()
        return Listing(self._kind.type, client.number, 0, None, **filters)


def _max_affected(call: Call, faults: list[Fault]) -> int:
    text = preferences(call.scope).get(PREFERENCE)
    if text is None:
        return MAX_AFFECTED
    if text.isascii() and text.isdigit() and len(text) < 20:
        return min(int(text), MAX_AFFECTED)
    faults.append(Fault(PREFER_HEADER, "range", f"{PREFERENCE} must be an integer from 0 to {MAX_AFFECTED}"))
    return 0


def _refuse(kind: ResourceType[Any, Any, Any], fields: Any, custom: Any) -> None:
    """Refuse a change of a value that only one record can have, and an empty change."""
    faults = [
        Fault(f"/{field.name}", "not_in_bulk", f"identifies one {kind.type.name}; change it with PATCH of that {kind.type.name}")
        for field in kind.type.fields
        if field.key and field.name in fields
    ]
    if not fields and custom is not None and not custom:
        faults.append(Fault("", "required", "must have a member to change"))
    if faults:
        raise Invalid(faults)


def _too_many(count: int, most: int) -> TooManyAffected:
    return TooManyAffected(f"the filters match more records than {most}: {count}; nothing was changed", data={"affected": count})


def bulk_route(kind: ResourceType[Any, Any, Any], tag: Tag) -> Route:
    """Return the route of changes by filter of one type of record."""
    handlers, many = BulkResource(kind), kind.type.plural
    return Route(
        "PATCH", kind.path, handlers.patch, scope=WRITE, operation_id=f"update_{many}", tag=tag,
        summary=f"Change all {many} that match",
        description="The filters are the list's, with its operators and `q`; at least one is required. The body is as in the "
        f"change of one record, without the addresses that identify it. Up to {MAX_AFFECTED:,} records; with `Prefer: {PREFERENCE}=N` up "
        "to N. If more match, nothing is changed and the response is a 409 `too_many_affected` with their number. Records are changed in "
        "transactions of some hundreds: after a 503 send the request again.",
        query=(*handlers.filters, FILTERS, Q, DRY_RUN), headers=(PREFER,), body=kind.change, problems=(409,),
        success=(Success(200, "What became of the records.", BulkChange, ("Touchbase-Ignored", "Preference-Applied")),),
    )  # fmt: skip


example(
    BulkChange,
    {
        "matched": 120,
        "changed": 117,
        "failed": 1,
        "failures": [{"id": 17, "code": "invalid", "detail": "/contact_status: from 'won' a record may go to: nothing"}],
    },
)
