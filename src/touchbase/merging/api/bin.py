"""HTTP resources of the bin: delete and restore contacts and companies, and list deleted ones."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from touchbase.auth.authentication import READ, WRITE
from touchbase.clients.models import Client
from touchbase.common.timestamps import to_text
from touchbase.errors import NotFound
from touchbase.history.events import CONTACT
from touchbase.http import query_parameters as query
from touchbase.http.endpoint import Call, author_of
from touchbase.http.query_parameters import CLIENT, DRY_RUN, LIMIT, PAGE, cursor_text
from touchbase.http.responses import Response
from touchbase.http.routing import Route, Success, Tag
from touchbase.http.schemas import EXAMPLES, PageOf, Time, encode, example, fitting
from touchbase.merging.sql.restore import restore_record
from touchbase.projection.bin import DeletedRecord, gone_us
from touchbase.projection.bin_rows import get_deleted, list_all_deleted, list_deleted
from touchbase.projection.delete import delete_record
from touchbase.records.api.if_match import IF_MATCH, if_updated_us
from touchbase.records.api.parameters import FLAT
from touchbase.records.api.previews import DryRunResponse, dry_run
from touchbase.records.api.resource import COMPANY_TAG, CONTACT_TAG
from touchbase.records.api.resource_type import COMPANIES, CONTACTS, ResourceType, etag
from touchbase.records.api.schemas import CompanyResponse, ContactResponse
from touchbase.records.read_records import get_record
from touchbase.records.writes import new_write_key
from touchbase.sql.page_budget import page_of


class DeletedContact(ContactResponse, kw_only=True):
    """A deleted contact, as it was. One that a CRM asked to erase is not removed until a person erases or restores it."""

    deleted_at: Time
    gone_at: Annotated[Time | None, Meta(description="When it is removed permanently.")]
    erasure_requested_at: Annotated[Time | None, Meta(description="When a CRM asked to erase the person, if it waits to be confirmed.")]


class DeletedCompany(CompanyResponse, kw_only=True):
    """A deleted company, as it was."""

    deleted_at: Time
    gone_at: Annotated[Time, Meta(description="When it is removed permanently.")]


class TeamDeletedContact(DeletedContact, kw_only=True):
    """A deleted contact with its client."""

    client_id: str


class TeamDeletedCompany(DeletedCompany, kw_only=True):
    """A deleted company with its client."""

    client_id: str


class TeamDeletedContactPage(PageOf[TeamDeletedContact]):
    """A page of deleted contacts of several clients; `next_cursor` is null on the last one."""


class TeamDeletedCompanyPage(PageOf[TeamDeletedCompany]):
    """A page of deleted companies of several clients; `next_cursor` is null on the last one."""


class DeletedContactPage(PageOf[DeletedContact]):
    """A page of deleted contacts; `next_cursor` is null on the last one."""


class DeletedCompanyPage(PageOf[DeletedCompany]):
    """A page of deleted companies; `next_cursor` is null on the last one."""


_TIMES = {"deleted_at": "2026-11-22T10:00:00Z", "gone_at": "2026-12-22T10:00:00Z"}
example(DeletedContact, {**EXAMPLES["ContactResponse"], **_TIMES, "erasure_requested_at": None})
example(DeletedCompany, {**EXAMPLES["CompanyResponse"], **_TIMES})
example(TeamDeletedContact, {**EXAMPLES["DeletedContact"], "client_id": "acme"})
example(TeamDeletedCompany, {**EXAMPLES["DeletedCompany"], "client_id": "acme"})


class BinResource:
    """The handlers of one type of record."""

    def __init__(self, kind: ResourceType[Any, Any, Any], shown: type[msgspec.Struct], of_team: type[msgspec.Struct]) -> None:
        self._kind, self._shown, self._of_team = kind, shown, of_team

    async def delete(self, call: Call) -> Response:
        """`DELETE` of one record: move it into the bin."""
        client, parts = await call.client(), call.api.dependencies
        parameters, number = call.parameters(), call.id(self._kind.type.name)
        parameters.done()
        at = parts.clock()
        call.api.limiter.storing(client, 1, at)
        present = await if_updated_us(call, lambda: self.get(call, client, number))
        command = delete_record(client.number, self._kind.type.kind, number, at, new_write_key(), author_of(call.scope), present)
        try:
            if parameters[DRY_RUN]:
                return await dry_run(call, self._kind, command, client, [])
            deleted = await parts.store.write(command)
        except NotFound:
            await self.get(call, client, number)  # its error says whether it is deleted already
            raise
        return self._response(client, deleted, flat=parameters[FLAT])

    async def restore(self, call: Call) -> Response:
        """`POST` that takes one record out of the bin."""
        client, parts = await call.client(), call.api.dependencies
        parameters, number = call.parameters(), call.id(self._kind.type.name)
        parameters.done()
        at = parts.clock()
        call.api.limiter.storing(client, 1, at)
        present = await if_updated_us(call, lambda: self._get_deleted(call, client, number))
        command = restore_record(client.number, self._kind.type.kind, number, at, new_write_key(), author_of(call.scope), present)
        if parameters[DRY_RUN]:
            return await dry_run(call, self._kind, command, client, [])

        def response(restored: Any) -> Response:
            reply = self._response(client, restored, flat=parameters[FLAT])
            reply.record = (self._kind.type.kind, number)
            return reply

        return await call.write_and_respond(lambda writes: writes.write(command), response)

    async def list(self, call: Call) -> Response:
        """`GET` of a page of deleted records."""
        client, kind = await call.client(), self._kind.type
        parameters, listing = call.parameters(), f"deleted {self._kind.type.plural}"
        after = parameters.cursor(listing, tuple[int, int])
        parameters.done()
        store, page_bytes = call.api.dependencies.store, await call.page_bytes()
        to_erase = kind.kind == CONTACT and parameters[TO_ERASE]
        deleted = await store.read(list_deleted(client.number, kind.kind, parameters[LIMIT] + 1, page_bytes, after, to_erase))
        page, has_more = page_of(deleted, parameters[LIMIT])
        data = fitting((self._out(client, record, flat=parameters[FLAT]) for record in page), page_bytes)
        has_more, page = has_more or len(data) < len(page), page[: len(data)]
        place = (page[-1].deleted_us, page[-1].record.id) if has_more else None
        return Response(body=encode({"data": data, "next_cursor": place and cursor_text(listing, place)}))

    async def list_all(self, call: Call) -> Response:
        """`GET` of a page of deleted records of all clients that the caller may see."""
        caller, kind = await call.principal(of_several=True), self._kind.type
        parameters, listing = call.parameters(), f"all deleted {kind.plural}"
        before = parameters.cursor(listing, tuple[int, int, int])
        parameters.done()
        numbers, page_bytes = await call.visible(caller, parameters[CLIENT]), await call.page_bytes()
        to_erase, limit = kind.kind == CONTACT and parameters[TO_ERASE], parameters[LIMIT]
        deleted = await call.api.dependencies.store.read(list_all_deleted(numbers, kind.kind, limit + 1, page_bytes, before, to_erase))
        page, has_more = page_of(deleted, limit)
        clients = await call.api.clients.of(record.record.client for record in page)
        # A client may have been deleted meanwhile.
        owned = [(record, clients[record.record.client]) for record in page if record.record.client in clients]
        shown = (self._out(client, record, flat=parameters[FLAT], client_id=client.client_id) for record, client in owned)
        data = fitting(shown, page_bytes)
        last = owned[len(data) - 1][0] if len(data) < len(owned) else page[-1] if has_more else None
        cursor = last and cursor_text(listing, (last.deleted_us, last.record.client, last.record.id))
        return Response(body=encode({"data": data, "next_cursor": cursor}))

    async def get(self, call: Call, client: Client, number: int) -> Any:
        """Return a record; its error says whether it is in the bin, or was merged."""
        return await get_record(call.api.dependencies.store, self._kind.type, client.number, number)

    async def _get_deleted(self, call: Call, client: Client, number: int) -> Any:
        deleted = await call.api.dependencies.store.read(get_deleted(client.number, self._kind.type.kind, number))
        if deleted is None:
            raise NotFound(f"there is no deleted {self._kind.type.name} with id {number}")
        return deleted.record

    def _out(self, client: Client, deleted: DeletedRecord[Any], *, flat: bool, **more: Any) -> msgspec.Struct:
        shown = self._kind.out(deleted.record, flat, client.settings)
        values = {name: getattr(shown, name) for name in shown.__struct_fields__}
        values["deleted_at"] = to_text(deleted.deleted_us)
        values["gone_at"] = to_text(gone_us(deleted.deleted_us, client.settings.keep_deleted_days))
        if self._kind is CONTACTS:
            erasure_us = deleted.erasure_asked_us
            values["erasure_requested_at"] = None if erasure_us is None else to_text(erasure_us)
            values["gone_at"] = values["gone_at"] if erasure_us is None else None
        shown_as = self._of_team if more else self._shown
        in_bin: msgspec.Struct = shown_as(**values, **more)
        return in_bin

    def _response(self, client: Client, record: Any, *, flat: bool) -> Response:
        body = encode(self._kind.out(record, flat, client.settings))
        return Response(body=body, headers=[(b"etag", etag(record, flat, client.settings))])


CONTACT_BIN, COMPANY_BIN = (
    BinResource(CONTACTS, DeletedContact, TeamDeletedContact),
    BinResource(COMPANIES, DeletedCompany, TeamDeletedCompany),
)


TO_ERASE = query.flag("erasure_requested", "Only contacts that a CRM asked to erase, and about which no person has decided.")
_IF_MATCH = " With `If-Match` only if it still has that ETag, else the response is 412."


def bin_routes(handlers: BinResource, kind: ResourceType[Any, Any, Any], tag: Tag, page: type[msgspec.Struct]) -> list[Route]:
    """Return the routes of one type of record."""
    name, many, by_id = kind.type.name, kind.type.plural, f"{kind.path}/{{id}}"
    record, shown = partial(Success, 200, headers=("ETag",)), (kind.response, DryRunResponse)
    filters = (TO_ERASE,) if kind is CONTACTS else ()
    erasure = ""
    if kind is CONTACTS:
        erasure = (
            " A contact with `erasure_requested_at` is there because a CRM asked to erase the person: it is not removed until you erase "
            "it (`DELETE` with `erase=true`) or restore it."
        )
    contacts = "" if kind is CONTACTS else " Its contacts lose their `company_id`, and get it back when the company is restored."
    return [
        Route(
            "DELETE", by_id, handlers.delete, scope=WRITE, operation_id=f"delete_{name}", tag=tag,
            summary=f"Delete one {name}: move it into the bin",
            description=f"Responds with the {name} as it was. Its addresses are free at once, and it can be restored until `gone_at` in "
            f"the list of deleted {many}.{contacts}{_IF_MATCH}",
            query=(FLAT, DRY_RUN), headers=(IF_MATCH,), problems=(412,),
            success=(record(f"The {name} as it was.", body=shown),),
        ),
        Route(
            "GET", f"{kind.path}/deleted", handlers.list, scope=READ, operation_id=f"list_deleted_{many}", tag=tag,
            summary=f"List deleted {many}, the last deleted first",
            description=f"The {many} in the bin, as they were. `gone_at` is when each is removed: `keep_deleted_days` after its "
            f"deletion.{erasure}",
            query=(FLAT, *filters, *PAGE), success=(Success(200, "A page.", page),),
        ),
        Route(
            "GET", f"/team/v1/{many}/deleted", handlers.list_all, scope=READ, operation_id=f"list_all_deleted_{many}", tag=tag,
            summary=f"List deleted {many} of all clients, the last deleted first", description="As the list of one client.",
            query=(CLIENT, FLAT, *filters, *PAGE), problems=(404,),
            success=(Success(200, "A page.", TeamDeletedContactPage if kind is CONTACTS else TeamDeletedCompanyPage),),
        ),
        Route(
            "POST", f"{by_id}/restore", handlers.restore, scope=WRITE, operation_id=f"restore_{name}", tag=tag,
            summary=f"Restore one deleted {name}",
            description=f"Takes the {name} out of the bin, with its custom fields, timeline and links. If another {name} has its address, "
            f"the response is 409 with `existing_id`.{_IF_MATCH}",
            query=(FLAT, DRY_RUN), headers=(IF_MATCH,), problems=(412,), success=(record(f"The {name} as it is now.", body=shown),),
        ),
    ]  # fmt: skip


DELETE_CONTACT, *_CONTACT_ROUTES = bin_routes(CONTACT_BIN, CONTACTS, CONTACT_TAG, DeletedContactPage)
"""The first row is with the erasure of people (`erasure/api.py`), which is another way to delete a contact."""
ROUTES = [*_CONTACT_ROUTES, *bin_routes(COMPANY_BIN, COMPANIES, COMPANY_TAG, DeletedCompanyPage)]
