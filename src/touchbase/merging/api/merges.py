"""HTTP resources of merges: preview, merge and undo, for contacts and companies."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from touchbase.auth.authentication import WRITE
from touchbase.clients.models import Client
from touchbase.common.field_limits import MAX_CUSTOM_FIELDS, NAME
from touchbase.common.timestamps import to_text
from touchbase.errors import Fault, Invalid, NotFound, TouchbaseError
from touchbase.http.body_errors import escaped
from touchbase.http.endpoint import Call, author_of
from touchbase.http.query_parameters import DRY_RUN, record_id
from touchbase.http.responses import Response
from touchbase.http.routing import Route, Success, Tag
from touchbase.http.schemas import EXAMPLES, MaybeTime, RecordId, encode, example, named_enum
from touchbase.merging.models import CUSTOM, MOST_RECORDS, SURVIVORSHIPS, Merge, Policy, Undone
from touchbase.merging.sql.merge import merge_records, preview_merge
from touchbase.merging.sql.undo import undo_merge
from touchbase.merging.sql.write_batch import write_batch
from touchbase.projection.bin import gone_before, gone_us
from touchbase.records.api.if_match import IF_MATCH, if_updated_us
from touchbase.records.api.parameters import FLAT
from touchbase.records.api.resource import COMPANY_TAG, CONTACT_TAG
from touchbase.records.api.resource_type import COMPANIES, CONTACTS, ResourceType
from touchbase.records.api.schemas import CompanyResponse, ContactResponse
from touchbase.records.read_records import get_record
from touchbase.records.record_type import RecordType
from touchbase.records.writes import new_write_key
from touchbase.sql.operation import Command, CommandPreview

SURVIVORSHIP_HELP = (
    "Which values the record has afterwards. newest: the last written ones. if_empty: its own, and where it has none, the first one of the "
    "others. keep: its own only. most_complete: those of the record with the most values, and where that has none, of another."
)


FROM_IDS_HELP = (
    "Field -> the id of the record of this merge whose value it gets, whatever the survivorship; also `contact_status` or "
    "`company_status`, and a custom field as `cf.NAME`."
)
FieldName = Annotated[str, Meta(min_length=1, max_length=NAME + len(CUSTOM))]

named_enum("Survivorship", SURVIVORSHIP_HELP, SURVIVORSHIPS)


class MergeRequest(Struct, forbid_unknown_fields=True):
    """The records to merge into this one."""

    records: Annotated[list[RecordId], Meta(min_length=1, max_length=MOST_RECORDS, description="Ids of the records to merge into it.")] = (
        msgspec.field(name="with")
    )
    survivorship: Annotated[Literal["newest", "if_empty", "keep", "most_complete"], Meta(description=SURVIVORSHIP_HELP)] = "if_empty"
    from_ids: Annotated[dict[FieldName, RecordId], Meta(max_length=MAX_CUSTOM_FIELDS, description=FROM_IDS_HELP)] = {}
    dry_run: Annotated[bool, Meta(description="Only preview the record, as with `?dry_run=true`.")] = False


class MergedFieldOut(Struct):
    """One value after the merge: the record that it is from, and the value before."""

    field: str
    value: str | int | None
    from_id: int
    before: str | int | None
    custom: bool


class _MergeOut(Struct, kw_only=True):
    merge_id: Annotated[int | None, Meta(description="For undoing the merge; null with `dry_run`.")]
    merged: Annotated[list[int], Meta(description="The records that are part of this one now.")]
    undo_until: MaybeTime
    fields: list[MergedFieldOut]


class ContactMerge(_MergeOut):
    """A merge of contacts: the contact as it is now, or would be."""

    contact: ContactResponse


class CompanyMerge(_MergeOut):
    """A merge of companies: the company as it is now, or would be."""

    company: CompanyResponse


class UndoneContacts(Struct):
    """The contacts after a merge was undone; the former survivor comes first."""

    data: list[ContactResponse]


class UndoneCompanies(Struct):
    """The companies after a merge was undone; the former survivor comes first."""

    data: list[CompanyResponse]


example(MergeRequest, {"with": [1057], "survivorship": "if_empty", "from_ids": {"email": 1057, "cf.Segment": 1042}, "dry_run": True})
_FIELDS = [
    {"field": "email", "value": "jane@example.com", "from_id": 1042, "before": "jane@example.com", "custom": False},
    {"field": "last_name", "value": "Doe", "from_id": 1057, "before": None, "custom": False},
]
_MERGE = {"merge_id": 3, "merged": [1057], "undo_until": "2026-12-22T10:00:00Z", "fields": _FIELDS}
example(ContactMerge, {**_MERGE, "contact": EXAMPLES["ContactResponse"]})
_COMPANY_FIELDS = [{"field": "name", "value": "Example Ltd", "from_id": 29, "before": None, "custom": False}]
example(CompanyMerge, {**_MERGE, "merged": [29], "fields": _COMPANY_FIELDS, "company": EXAMPLES["CompanyResponse"]})


class MergeResource:
    """The handlers of one type of record."""

    def __init__(self, kind: ResourceType[Any, Any, Any]) -> None:
        self._kind = kind

    async def merge(self, call: Call) -> Response:
        """`POST` that merges records into one, or previews it."""
        client, kind, parts = await call.client(), self._kind.type, call.api.dependencies
        query, number = call.parameters(), call.id(kind.name)
        query.done()
        request = await call.body(MergeRequest, lambda partly: _check(partly, kind, number))
        _check(request, kind, number)
        policy = Policy(request.survivorship, _present(request.from_ids, kind.field_names(client.settings)))
        at, present = parts.clock(), await if_updated_us(call, lambda: self._get(call, client, number))
        if request.dry_run or query[DRY_RUN]:
            if call.recorder is not None:
                call.recorder.skip()
            preview = await parts.store.read(preview_merge(client.number, kind.kind, number, request.records, policy, at))
            if preview is None:
                raise await self._missing(call, client, [number, *request.records])
            return self._response(client, preview, flat=query[FLAT])
        call.api.limiter.storing(client, 1 + len(request.records), at)
        command = merge_records(
            client.number, kind.kind, number, request.records, policy, at, new_write_key(), author_of(call.scope), present
        )

        def response(merge: Merge) -> Response:
            reply = self._response(client, merge, flat=query[FLAT])
            reply.record = (kind.kind, number)
            return reply

        try:
            return await call.write_and_respond(lambda writes: writes.write(command), response)
        except NotFound:
            raise await self._missing(call, client, [number, *request.records]) from None

    async def undo(self, call: Call) -> Response:
        """`POST` that undoes a merge."""
        client, kind, parts = await call.client(), self._kind.type, call.api.dependencies
        query, number = call.parameters(), call.id(kind.name)
        query.done()
        merge = record_id(call.path("merge_id"))
        if merge is None:
            raise NotFound(f"there is no merge with id {call.path('merge_id')[:40]!r}")
        at = parts.clock()
        call.api.limiter.storing(client, 1, at)
        since = gone_before(at, client.settings.keep_deleted_days)
        command = undo_merge(client.number, kind.kind, number, merge, since, at, new_write_key(), author_of(call.scope))

        def response(undone: Undone) -> Response:
            data = [self._kind.out(record, query[FLAT], client.settings) for record in undone.records]
            reply = Response(body=encode({"data": data}))
            reply.record = (kind.kind, number)
            return reply

        if query[DRY_RUN]:
            return response(await _undone(call, client, command))
        return await call.write_and_respond(lambda writes: writes.write(command), response)

    async def _missing(self, call: Call, client: Client, numbers: list[int]) -> NotFound:
        """Return the error of the first record that does not exist; it says whether that was deleted or merged."""
        for number in numbers:
            try:
                await self._get(call, client, number)
            except NotFound as error:
                return error
        return NotFound(f"one of these {self._kind.type.plural} has just been removed; send this again")

    async def _get(self, call: Call, client: Client, number: int) -> Any:
        return await get_record(call.api.dependencies.store, self._kind.type, client.number, number)

    def _response(self, client: Client, merge: Merge, *, flat: bool) -> Response:
        fields = [MergedFieldOut(field.name, field.value, field.source, field.before, field.is_custom) for field in merge.fields]
        until = None if merge.id is None else to_text(gone_us(merge.at, client.settings.keep_deleted_days))
        record = self._kind.out(merge.record, flat, client.settings)
        body = {"merge_id": merge.id, "merged": merge.absorbed, "undo_until": until, "fields": fields, self._kind.type.name: record}
        return Response(body=encode(body))


async def _undone(call: Call, client: Client, command: Command[Undone]) -> Undone:
    """Return the outcome of undoing a merge, without storing it; raises its error."""
    if call.recorder is not None:
        call.recorder.skip()
    [preview] = await call.api.dependencies.store.write(write_batch(client.number, [command], dry_run=True))
    assert isinstance(preview, CommandPreview)
    if isinstance(preview.outcome, TouchbaseError):
        raise preview.outcome
    assert isinstance(preview.outcome, Undone)
    return preview.outcome


def _check(request: MergeRequest, kind: RecordType[Any], number: int) -> None:
    """Raise `Invalid` for records that cannot be merged, and for choices of values that they do not have."""
    records: list[Any] = request.records if isinstance(request.records, list) else []
    faults = [Fault(f"/with/{index}", "itself", "is the record itself") for index, number_ in enumerate(records) if number_ == number]
    faults += [Fault(f"/with/{index}", "repeated", "is given twice") for index, number_ in enumerate(records) if number_ in records[:index]]
    chosen: dict[str, Any] = request.from_ids if isinstance(request.from_ids, dict) else {}
    names = (*kind.names, kind.status)
    for name, source in chosen.items():
        if not name.startswith(CUSTOM) and name not in names:
            detail = f"{name[:100]!r} cannot be chosen; there are {', '.join(names)}, and cf.NAME for a custom field"
            faults.append(Fault(f"/from_ids/{escaped(name)}", "unknown", detail))
        elif source not in (number, *records):
            ids = ", ".join(str(number_) for number_ in (number, *records))
            faults.append(Fault(f"/from_ids/{escaped(name)}", "record", f"must be the id of a record of this merge: {ids}"))
    if faults:
        raise Invalid(faults)


def _present(chosen: Mapping[str, int], names: Mapping[str, str]) -> dict[str, int]:
    """Return choices with the present names of custom fields."""
    former = {f"{CUSTOM}{before}": f"{CUSTOM}{now}" for before, now in names.items()}
    return {former.get(name, name): source for name, source in chosen.items()}


def merge_routes(kind: ResourceType[Any, Any, Any], tag: Tag, merged: type[Struct], undone: type[Struct]) -> list[Route]:
    """Return the routes of one type of record."""
    handlers, name, many, by_id = MergeResource(kind), kind.type.name, kind.type.plural, f"{kind.path}/{{id}}"
    also = " A company's contacts become this one's." if kind is COMPANIES else ""
    answer = partial(Success, 200)
    return [
        Route(
            "POST", f"{by_id}/merge", handlers.merge, scope=WRITE, operation_id=f"merge_{many}", tag=tag,
            summary=f"Merge {many} into one",
            description="The records in `with` become part of this one, with their custom fields, timelines and links."
            f"{also} Later webhooks about them are about this one, and their ids are a 404 with `existing_id`. `dry_run` shows the values "
            "without merging; `from_ids` chooses single values. With `If-Match` only if this one still has that ETag, else the response "
            "is 412.",
            query=(FLAT, DRY_RUN), headers=(IF_MATCH,), body=MergeRequest, problems=(412,),
            success=(answer(f"The {name} as it is now, or would be.", merged),),
        ),
        Route(
            "POST", f"{by_id}/merge/{{merge_id}}/undo", handlers.undo, scope=WRITE, operation_id=f"undo_{name}_merge", tag=tag,
            summary=f"Undo a merge of {many}",
            description="Until `undo_until`. Each record gets its values and timeline back, and the webhooks' events since that name its "
            "address or object. Requests since stay with the record that they changed. 409 if another record has one of their addresses.",
            query=(FLAT, DRY_RUN), success=(answer(f"All {many} of the merge, as they are now or would be.", undone),),
        ),
    ]  # fmt: skip


ROUTES = [
    *merge_routes(CONTACTS, CONTACT_TAG, ContactMerge, UndoneContacts),
    *merge_routes(COMPANIES, COMPANY_TAG, CompanyMerge, UndoneCompanies),
]
