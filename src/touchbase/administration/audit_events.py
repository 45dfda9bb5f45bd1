"""HTTP resource of the audit log: a page of entries, and all of them as a file."""

from __future__ import annotations

import csv
import io
from collections.abc import AsyncIterator, Collection, Sequence
from typing import Any

from msgspec import Struct

from touchbase.audit import ACTIONS, SETTLED, AuditEvent, follow_audit_events, list_audit_events
from touchbase.auth.authentication import ADMIN
from touchbase.auth.sql import list_personal_keys
from touchbase.common.field_limits import LARGEST_ID
from touchbase.common.formulas import harmless
from touchbase.common.timestamps import Micros
from touchbase.http import query_parameters as query
from touchbase.http.acts import AuditEventOut, acts_out
from touchbase.http.endpoint import Call
from touchbase.http.query_parameters import LIMIT, PAGE, Parameter, Parameters, cursor_text
from touchbase.http.responses import Response
from touchbase.http.routing import Route, Success, Tag
from touchbase.http.schemas import PageOf, encode, named_enum

TAG = Tag("Audit", "Who did what to people, keys, clients, settings and exported data.")
PATH = "/team/v1/audit-events"
CSV, NDJSON = "csv", "ndjson"
EXPORT_PAGE = 500
GROUPS = tuple(dict.fromkeys(f"{action.partition('.')[0]}.*" for action in ACTIONS))
"""Filters for all actions of one kind."""
COLUMNS = ("at", "action", "client_id", "actor_type", "actor_id", "actor_name", "via", "target_type", "target_id", "target_name",
           "address", "request_id", "change_id")  # fmt: skip
named_enum("AuditActionFilter", "An action, or all of one kind.", (*ACTIONS, *GROUPS))
named_enum("AuditFormat", "How the log is exported.", (CSV, NDJSON))
CLIENT = query.text("client_id", "Only acts about this client: its id or handle.")
ACTOR = query.text("actor_id", "Only acts of this person, whose personal keys are included, or of this key.")
ACTION = query.choice("action", (*ACTIONS, *GROUPS), "Only this action, or all of one kind.")
SINCE = query.time("since", "Acts from this time on.")
UNTIL = query.time("until", "Acts before this time.")
OLDEST = "oldest"
AFTER = query.text(
    "after",
    f"Follow the log: acts after the one with this `id`, or from the `{OLDEST}` on, in the order of their times, up to 5 seconds ago. Ask "
    "again after the last one.",
)
FILE = query.choice("format", (CSV, NDJSON), "The form of the file. Default: `csv`.")
FILTERS: tuple[Parameter[Any], ...] = (CLIENT, ACTOR, ACTION, SINCE, UNTIL)


class AuditEventPage(PageOf[AuditEventOut]):
    """A page of acts, newest first; `next_cursor` is null on the last one."""


class _Listing(Struct):
    """Who may see which entries, and which of them are wanted."""

    clients: Collection[int] | None
    actors: Collection[str] | None
    action: str | None
    since: Micros | None
    until: Micros | None

    def page(self, limit: int, before: tuple[Micros, str] | None) -> Any:
        """Return the query of a page."""
        return list_audit_events(limit, self.clients, self.actors, self.action, self.since, self.until, before)


async def list_events(call: Call) -> Response:
    """Handle `GET` of a page of entries."""
    parameters = call.parameters()
    before: Any = parameters.cursor(PATH, tuple[int, str])
    after = _after(parameters)
    listing = await _listing(call, parameters)
    limit = parameters[LIMIT]
    if after is not None:
        until = min(call.api.dependencies.clock() - SETTLED, listing.until or LARGEST_ID)
        following = follow_audit_events(limit, max(after, (listing.since or 0, "")), until, listing.clients, listing.actors, listing.action)
        return Response(body=encode(AuditEventPage(await _out(call, await call.api.dependencies.store.read(following)), None)))
    events: list[AuditEvent] = await call.api.dependencies.store.read(listing.page(limit + 1, before))
    page = events[:limit]
    cursor = cursor_text(PATH, (page[-1].at_us, page[-1].id)) if len(events) > limit else None
    return Response(body=encode(AuditEventPage(await _out(call, page), cursor)))


def _after(parameters: Parameters) -> tuple[Micros, str] | None:
    """Return the place of the act after which the log is followed."""
    text = parameters[AFTER]
    if text is None or text == OLDEST:
        return None if text is None else (0, "")
    at, _, number = text.partition("-")
    if not (at.isascii() and at.isdigit() and int(at[:19]) <= LARGEST_ID and number):
        parameters.fault(AFTER.name, "act", f"must be the `id` of an act, or `{OLDEST}`")
        return None
    return int(at[:19]), number


async def export_events(call: Call) -> Response:
    """Handle `GET` of all entries as a file."""
    parameters = call.parameters()
    listing = await _listing(call, parameters)
    form = parameters[FILE] or CSV
    only = next(iter(listing.clients)) if listing.clients is not None and len(listing.clients) == 1 else None
    await call.record("export.read", "records", "audit-events", only)
    store = call.api.dependencies.store

    async def pieces() -> AsyncIterator[bytes]:
        if form == CSV:
            yield _csv([COLUMNS])
        before, page = None, list[AuditEvent]()
        while before is None or len(page) == EXPORT_PAGE:
            page = await store.read(listing.page(EXPORT_PAGE, before))
            shown = await _out(call, page)
            if shown:
                yield _csv(map(_row, shown)) if form == CSV else b"".join(encode(event) + b"\n" for event in shown)
            if not page:
                return
            before = page[-1].at_us, page[-1].id

    media = b"text/csv; charset=utf-8" if form == CSV else b"application/x-ndjson"
    headers = [(b"content-disposition", f'attachment; filename="audit-events.{form}"'.encode())]
    return Response(content_type=media, headers=headers, stream=pieces())


async def _listing(call: Call, parameters: Parameters) -> _Listing:
    """Authenticate an administrator of all clients or of some; return the filter of the entries that this person may see."""
    principal = await call.principal(of_several=True)
    parameters.done()
    visible = principal.clients if principal.client is None else frozenset((principal.client,))
    clients: Collection[int] | None = visible
    if (named := parameters[CLIENT]) is not None:
        client = await call.api.clients.named(named)
        clients = () if client is None or (visible is not None and client.number not in visible) else (client.number,)
    actors: set[str] | None = None
    if (actor := parameters[ACTOR]) is not None:
        actors = {actor, *(key.key_id for key in await call.api.dependencies.store.read(list_personal_keys(actor)))}
    action = parameters[ACTION]
    return _Listing(clients, actors, None if action is None else action.removesuffix("*"), parameters[SINCE], parameters[UNTIL])


async def _out(call: Call, events: Sequence[AuditEvent]) -> list[AuditEventOut]:
    """Return entries as shown."""
    clients = await call.api.clients.of(event.client for event in events)
    return await acts_out(events, call.api.actors, {number: client.client_id for number, client in clients.items()})


def _row(event: AuditEventOut) -> tuple[str, ...]:
    actor, target = event.actor, event.target
    return (
        event.at, event.action, event.client_id or "", actor.type, actor.id or "", harmless(actor.name), actor.via,
        target.type if target else "", harmless(target.id) if target else "", harmless(target.name) if target else "", event.address,
        event.request_id or "", event.change_id or "",
    )  # fmt: skip


def _csv(rows: Any) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text).writerows(rows)
    return text.getvalue().encode()


_SEEN = " An administrator of single clients sees the acts about these."
ROUTES = [
    Route(
        "GET", PATH, list_events, scope=ADMIN, operation_id="list_audit_events", tag=TAG, summary="List acts, newest first",
        description=f"Who signed in, changed people, keys, clients or settings, read bodies or exported data. With `after` a program "
        f"follows the log, oldest first.{_SEEN}",
        query=(AFTER, *PAGE, *FILTERS), success=(Success(200, "A page.", AuditEventPage),),
    ),
    Route(
        "GET", f"{PATH}/export", export_events, scope=ADMIN, operation_id="export_audit_events", tag=TAG,
        summary="Export acts as CSV or NDJSON",
        description=f"All acts that match, newest first, sent while they are read. The export is an act itself.{_SEEN}",
        query=(FILE, *FILTERS), success=(Success(200, "The file.", media=("text/csv", "application/x-ndjson")),),
    ),
]  # fmt: skip
