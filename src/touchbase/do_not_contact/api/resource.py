"""HTTP resources of the do-not-contact lists: a client's list, and the installation's for administrators."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import cast

from msgspec import structs

from touchbase.auth.authentication import ADMIN, READ, WRITE
from touchbase.clients.models import Client
from touchbase.common.field_limits import InvalidText
from touchbase.common.slices import in_slices
from touchbase.common.timestamps import Micros
from touchbase.do_not_contact.addresses import kind_of, normal_form
from touchbase.do_not_contact.api.schemas import (
    CheckedItems,
    NewSuppression,
    NewSuppressions,
    SavedSuppressions,
    SuppressionCheck,
    SuppressionOut,
    SuppressionPage,
    TeamSuppression,
    TeamSuppressionPage,
    addresses_of,
    checked_item,
    entry_out,
    new_entry,
    saved_out,
)
from touchbase.do_not_contact.csv_files import COLUMNS, to_csv, write_rows
from touchbase.do_not_contact.models import CREATED, INSTALLATION, KINDS, REASONS, SOURCES, Entry, NewEntry, Saved
from touchbase.do_not_contact.sql.entries import remove_entry, save_entries
from touchbase.do_not_contact.sql.lookup import find_suppressed, get_entry, list_all_entries, list_entries
from touchbase.errors import Fault, Forbidden, Invalid, NotFound, TouchbaseError
from touchbase.http import query_parameters as query
from touchbase.http.dependencies import WRITE_BATCH
from touchbase.http.endpoint import Call, author_of
from touchbase.http.query_parameters import CLIENT, DRY_RUN, LIMIT, PAGE, Parameters, cursor_text
from touchbase.http.responses import Response
from touchbase.http.routing import Route, Success, Tag
from touchbase.http.schemas import encode, named_enum
from touchbase.sql.operation import Command, CommandPreview

SUPPRESSIONS = Tag("Suppressions", "Addresses that must not be contacted: the client's list, and the installation's.")
EXPORT_PAGE = 2_000
"""Entries read at once for an export."""
EntryPosition = tuple[Micros, int]
"""Where a page ends: time of creation, and id."""
JSON, CSV = "json", "csv"
named_enum("ListFormat", "The format of a list: JSON pages, or one CSV file.", (JSON, CSV))
KIND = query.choice("kind", KINDS, "Entries of this kind of address.", member="kind")
VALUE = query.text("value", "An address in any form; without `kind`, its kind is recognised.")
REASON = query.choice("reason", REASONS, "Entries with this reason.", member="reason")
SOURCE = query.choice("source", SOURCES, "Entries that came to the list in this way.", member="source")
OF_ALL = "/team/v1/suppressions"
ACTIVE = query.yes_or_no("active", "`true`: only entries that suppress now; `false`: only entries that are over. CSV: `true`.")
FORMAT = query.choice("format", (JSON, CSV), "`csv`: all entries that match, as one file for other tools, without pages.")


@dataclass(frozen=True, slots=True)
class Owner:
    """The owner of a list: a client, or the installation."""

    client: Client | None

    @property
    def number(self) -> int:
        """The client's number, or `INSTALLATION`."""
        return INSTALLATION if self.client is None else self.client.number


async def _of_client(call: Call) -> Owner:
    return Owner(await call.client())


async def _of_installation(call: Call) -> Owner:
    if await call.administrator() is not None:
        raise Forbidden("this key belongs to one client; the installation's list requires a key that belongs to none")
    return Owner(None)


class SuppressionResource:
    """The handlers of one list."""

    def __init__(self, path: str, owner: Callable[[Call], Awaitable[Owner]]) -> None:
        self.path = path
        self._owner = owner

    async def list(self, call: Call) -> Response:
        """`GET` of a page of entries, or of all as CSV."""
        owner, parameters, now = await self._owner(call), call.parameters(), call.api.dependencies.clock()
        after: EntryPosition | None = parameters.cursor(self.path, tuple[int, int])
        active = parameters[ACTIVE]
        kind, value = _address(parameters)
        parameters.done()
        store, limit, reason, source = call.api.dependencies.store, parameters[LIMIT], parameters[REASON], parameters[SOURCE]
        if parameters[FORMAT] == CSV:
            if owner.client is not None:
                await call.require_export(owner.client)
            active = active is not False
            await call.record("export.read", "records", "suppressions", owner.number or None)

            def following(after: EntryPosition | None) -> Awaitable[list[Entry]]:
                return store.read(list_entries(owner.number, EXPORT_PAGE, now, after, kind, value, reason, source, active))

            return await _csv(following)
        page = await store.read(list_entries(owner.number, limit + 1, now, after, kind, value, reason, source, active))
        more, page = len(page) > limit, page[:limit]
        cursor = cursor_text(self.path, (page[-1].created_us, page[-1].id)) if more else None
        return Response(body=encode(SuppressionPage([entry_out(entry, now) for entry in page], cursor)))

    async def save(self, call: Call) -> Response:
        """`POST` of one entry or of several."""
        owner, now = await self._owner(call), call.api.dependencies.clock()
        parameters = call.parameters()
        parameters.done()
        body = await call.body(NewSuppressions, lambda partly: _listed(partly, now))
        entries = [new_entry(item, place, now) async for item, place in in_slices(_listed(body, now))]
        valid = [entry for entry in entries if isinstance(entry, NewEntry)]
        if owner.client is not None:
            call.api.limiter.storing(owner.client, len(valid), now)
        may_shorten = owner.client is None or await call.without(ADMIN) is None
        command = save_entries(
            owner.number, valid, now, author_of(call.scope).key_id, may_shorten=may_shorten, is_single=body.entries is None
        )
        if parameters[DRY_RUN]:
            return _tried(entries, (await _try(call, owner.number, command)) if valid else [], now)

        def respond(saved: Sequence[Saved]) -> Response:
            following = iter(saved)
            results: list[Saved | list[Fault]] = [next(following) if isinstance(entry, NewEntry) else entry for entry in entries]
            reply = Response(201 if any(itemlt.outcome == CREATED for itemlt in saved) else 200, encode(saved_out(results, now)))
            reply.stored_body = encode(saved_out(results, now, stored=True))
            if body.entries is None:
                reply.headers.append((b"location", call.reached_at(f"{self.path}/{saved[0].entry.id}")))
            return reply

        return await call.write_and_respond(lambda writes: writes.write(command), respond)

    async def get(self, call: Call) -> Response:
        """`GET` of one entry."""
        owner, number = await self._owner(call), call.id("suppression")
        entry = await call.api.dependencies.store.read(get_entry(owner.number, number))
        if entry is None:
            raise NotFound(f"there is no suppression with id {number}: it was removed, or it is on another list")
        return Response(body=encode(entry_out(entry, call.api.dependencies.clock())))

    async def remove(self, call: Call) -> Response:
        """`DELETE` of one entry."""
        owner, number, parameters = await self._owner(call), call.id("suppression"), call.parameters()
        parameters.done()
        if parameters[DRY_RUN]:
            return await self.get(call)
        only_of = None if owner.client is None else await call.without(ADMIN)
        await call.api.dependencies.store.write(remove_entry(owner.number, number, call.api.dependencies.clock(), only_of))
        return Response(204)

    async def check(self, call: Call) -> Response:
        """`POST` of addresses to look up."""
        owner = await self._owner(call)
        body = await call.body(SuppressionCheck)
        items = [addresses_of(item, f"/items/{index}") async for index, item in in_slices(enumerate(body.items))]
        now = call.api.dependencies.clock()
        matches = await call.api.dependencies.store.read(find_suppressed(owner.number, [addresses for addresses, _ in items], now))
        checked = CheckedItems([checked_item(item, faults) for item, (_, faults) in zip(matches, items, strict=True)])
        response = Response(body=encode(checked))
        for item in checked.data:
            item.value = None
        response.stored_body = encode(checked)  # an erasure does not find stored responses
        return response


def _address(parameters: Parameters) -> tuple[str | None, str | None]:
    """Return the kind and the normal form of the filters; an invalid address is a fault."""
    kind, value = parameters[KIND], parameters[VALUE]
    if value is None:
        return kind, None
    kind = kind or kind_of(value)
    with suppress(InvalidText):
        return kind, normal_form(kind, value)
    parameters.faults.append(Fault("?value", kind, f"is no address of the kind {kind}; correct it, or send the right `kind`"))
    return kind, None


def _listed(body: NewSuppressions, now: Micros) -> Sequence[tuple[NewSuppression, str]]:
    """Return the entries of a body, with their places; raise `Invalid` for a single one that is invalid."""
    if body.entries is not None:
        alone = ("value", "kind", "reason", "source", "note", "since", "until")
        named = [name for name in alone if getattr(body, name) != getattr(_DEFAULTS, name)]
        if named:
            raise Invalid([Fault(f"/{name}", "unexpected", "belongs into each of the entries") for name in named])
        if not body.entries:
            raise Invalid([Fault("/entries", "required", "must have at least one entry")])
        return [(entry, f"/entries/{index}") for index, entry in enumerate(body.entries)]
    if body.value is None:
        raise Invalid([Fault("/value", "required", "is required: send the address, or a list of `entries`")])
    single = NewSuppression(body.value, body.kind, body.reason, body.source, body.note, body.since, body.until)
    entry = new_entry(single, "", now)
    if isinstance(entry, list):
        raise Invalid(entry)
    return [(single, "")]


_DEFAULTS = NewSuppressions()


async def _try(call: Call, client: int, command: Command[list[Saved]]) -> Sequence[Saved]:
    """Return the outcome of a request, without storing it."""
    if call.recorder is not None:
        call.recorder.skip()
    [preview] = await call.api.dependencies.store.write(call.api[WRITE_BATCH](client, [command], dry_run=True))
    assert isinstance(preview, CommandPreview)
    if isinstance(preview.outcome, TouchbaseError):
        raise preview.outcome
    return cast("Sequence[Saved]", preview.outcome)


def _tried(entries: Sequence[NewEntry | list[Fault]], saved: Sequence[Saved], now: Micros) -> Response:
    """Return the response of a dry run; an entry that would be new is null, since it has no id yet."""
    following = iter(saved)
    tried = saved_out([next(following) if isinstance(entry, NewEntry) else entry for entry in entries], now)
    for result in tried.data:
        if result.outcome == CREATED:
            result.entry = None
    return Response(200, encode(tried))


async def _entry_pages(following: Callable[[EntryPosition | None], Awaitable[list[Entry]]]) -> AsyncIterator[list[Entry]]:
    after: EntryPosition | None = None
    while page := await following(after):
        yield page
        if len(page) < EXPORT_PAGE:
            return
        after = (page[-1].created_us, page[-1].id)


async def _csv(following: Callable[[EntryPosition | None], Awaitable[list[Entry]]]) -> Response:
    pages = _entry_pages(following)
    first: list[Entry] = await anext(pages, [])  # an error of the first page is still a problem response

    async def pieces() -> AsyncIterator[bytes]:
        yield to_csv([COLUMNS, *write_rows(first)]).encode()
        async for page in pages:
            yield to_csv(write_rows(page)).encode()

    headers = [(b"content-disposition", b'attachment; filename="suppressions.csv"')]
    return Response(content_type=b"text/csv; charset=utf-8", headers=headers, stream=pieces())


def _routes(at: SuppressionResource, read: str, write: str, prefix: str, whose: str, about: str) -> list[Route]:
    name, many = f"{prefix}suppression", f"{prefix}suppressions"
    return [
        Route(
            "GET", at.path, at.list, scope=read, operation_id=f"list_{many}", tag=SUPPRESSIONS, summary=f"List {whose} do-not-contact list",
            description=f"{about} Entries are in the order in which they were put on the list, newest last. With `format=csv` the response "
            "is one file with all active entries, sent while it is read.",
            query=(*PAGE, KIND, VALUE, REASON, SOURCE, ACTIVE, FORMAT),
            success=(Success(200, "A page, or the file.", SuppressionPage, media=("text/csv",)),),
        ),
        Route(
            "POST", at.path, at.save, scope=write, operation_id=f"save_{many}", tag=SUPPRESSIONS,
            summary=f"Put addresses on {whose} do-not-contact list",
            description="Takes one entry, or up to 1,000 as `entries`. An address that is listed already gets the new values, so a request "
            "can be repeated; only administrators end another's entry earlier (403) or change its reason, source, note and start, which "
            "stay else. An invalid or refused one among several entries is reported in its place and harms no other. With `dry_run=true` "
            "an entry that would be new is null.",
            query=(DRY_RUN,), body=NewSuppressions,
            success=(
                Success(201, "At least one address is new on the list.", SavedSuppressions, ("Location",)),
                Success(200, "All addresses were listed already.", SavedSuppressions, ("Location",)),
            ),
        ),
        Route(
            "POST", f"{at.path}/check", at.check, scope=read, operation_id=f"check_{many}", tag=SUPPRESSIONS,
            summary="Look up which of up to 1,000 people or companies must not be contacted",
            description="For each item: whether it is suppressed, why, and by which list. A listed domain covers its subdomains and all "
            "e-mail addresses at them.",
            body=SuppressionCheck, success=(Success(200, "The status of each item.", CheckedItems),),
        ),
        Route(
            "GET", f"{at.path}/{{id}}", at.get, scope=read, operation_id=f"get_{name}", tag=SUPPRESSIONS,
            summary=f"Get one entry of {whose} do-not-contact list",
            description="Returns the entry. One that was removed is a 404.",
            success=(Success(200, "The entry.", SuppressionOut),),
        ),
        Route(
            "DELETE", f"{at.path}/{{id}}", at.remove, scope=write, operation_id=f"remove_{name}", tag=SUPPRESSIONS,
            summary=f"Remove one entry from {whose} do-not-contact list",
            description="Ends the entry, with all that was known about the address up to now: a replay of an old event does not bring it "
            "back, a later event does. For administrators; others take back what they listed themselves, for an hour, if nothing else "
            "lists it.",
            query=(DRY_RUN,),
            success=(Success(204, "It is removed."), Success(200, "The entry that would be removed (`dry_run`).", SuppressionOut)),
        ),
    ]  # fmt: skip


OF_CLIENT = SuppressionResource("/public/v2/suppressions", _of_client)
OF_INSTALLATION = SuppressionResource("/admin/v1/suppressions", _of_installation)


async def list_all(call: Call) -> Response:
    """`GET` of a page of entries of all clients that the caller may see."""
    caller, parameters, now = await call.principal(of_several=True), call.parameters(), call.api.dependencies.clock()
    after: tuple[Micros, int, int] | None = parameters.cursor(OF_ALL, tuple[int, int, int])
    kind, value = _address(parameters)
    parameters.done()
    filters = {"kind": kind, "value": value, "reason": parameters[REASON], "source": parameters[SOURCE], "active": parameters[ACTIVE]}
    numbers, limit = await call.visible(caller, parameters[CLIENT]), parameters[LIMIT]
    page = await call.api.dependencies.store.read(list_all_entries(numbers, limit + 1, now, after, filters))
    more, page = len(page) > limit, page[:limit]
    clients = await call.api.clients.of(number for number, _ in page)
    # A client may have been deleted meanwhile.
    data = [
        TeamSuppression(**structs.asdict(entry_out(entry, now)), client_id=clients[number].client_id)
        for number, entry in page
        if number in clients
    ]
    cursor = cursor_text(OF_ALL, (page[-1][1].created_us, page[-1][0], page[-1][1].id)) if more else None
    return Response(body=encode(TeamSuppressionPage(data, cursor)))


ROUTES = [
    Route(
        "GET",
        OF_ALL,
        list_all,
        scope=READ,
        operation_id="list_all_suppressions",
        tag=SUPPRESSIONS,
        summary="List the do-not-contact lists of all clients",
        description="The entries of the clients' own lists, in the order in which they were put there, newest last.",
        query=(CLIENT, *PAGE, KIND, VALUE, REASON, SOURCE, ACTIVE),
        problems=(404,),
        success=(Success(200, "A page.", TeamSuppressionPage),),
    ),
    *_routes(OF_CLIENT, READ, WRITE, "", "the client's", "The entries of this client, without the installation's."),
    *_routes(
        OF_INSTALLATION, ADMIN, ADMIN, "installation_", "the installation's", "The entries for all clients. Needs a key without a client."
    ),
]
