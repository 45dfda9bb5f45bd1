"""HTTP resources for a person's data, for administrators because they reach into the inbox: erase, export."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType, structs

from touchbase.auth.authentication import ADMIN
from touchbase.clients.models import Client
from touchbase.common.timestamps import SECOND, Clock, Micros, to_text
from touchbase.connections.api import CONNECTIONS, ChannelOut
from touchbase.conversations.answer_bodies import AnswerOut, answer_out
from touchbase.conversations.answers import answers_of_contact
from touchbase.deliveries.work import Translate
from touchbase.do_not_contact.api.schemas import SuppressionOut, entry_out
from touchbase.erasure.models import Erasure
from touchbase.erasure.person_export import ContactDelivery, Exported, export_deliveries, export_person, exported_contact
from touchbase.erasure.service import Eraser
from touchbase.erasure.sql.persons import list_all_requests, list_requests
from touchbase.errors import Fault, Invalid
from touchbase.history.events import CONTACT
from touchbase.history.last_writer_wins import EffectiveTime
from touchbase.http import query_parameters as query
from touchbase.http.endpoint import Call
from touchbase.http.query_parameters import CLIENT, DRY_RUN, LIMIT, PAGE, cursor_text
from touchbase.http.responses import Response
from touchbase.http.routing import Route, Success
from touchbase.http.schemas import MaybeTime, PageOf, Time, encode, example, fitting
from touchbase.inbox.api.deliveries import PROCESSING, READ, DeliveryStateOut, RawBody, raw_body
from touchbase.inbox.worker import translator
from touchbase.merging.api.bin import CONTACT_BIN, DELETE_CONTACT
from touchbase.messages.api.schemas import MessageOut, message_out
from touchbase.messages.sql.plans import messages_of_contact
from touchbase.records.api.if_match import if_updated_us
from touchbase.records.api.resource import CONTACT_TAG
from touchbase.records.api.resource_type import changes_out, contact_out
from touchbase.records.api.schemas import ContactResponse, FieldChangeOut, NoteInTimeline, TaskInTimeline
from touchbase.records.models import Contact
from touchbase.records.timelines import MAX_HISTORY, TimelineEntry, timeline
from touchbase.sql.page_budget import Cut
from touchbase.sql.store import Store
from touchbase.tasks.api import team_texts

SEARCH_SECONDS: Micros = 5 * SECOND
"""How long a request searches the inbox; the rest is searched in the background."""


class ErasureOut(Struct):
    """Rows that an erasure has removed, by kind, and delivery bodies."""

    erasure_id: int
    removed: Annotated[
        dict[str, int],
        Meta(
            description="contacts, custom_fields, events, links, deliveries (bodies removed), and unsearchable: bodies removed "
            "because they could not be searched for the person within the limits."
        ),
    ]
    inbox_searched: Annotated[
        bool,
        Meta(description="Whether the search for the person is complete; false: it continues in the background."),
    ]


class ErasureRequestOut(Struct):
    """One erasure; the person is not named, because nothing of the person is stored."""

    id: int
    asked_time: Time
    searched_time: Annotated[MaybeTime, Meta(description="When the search for the person was complete; null: it goes on.")]
    done_time: Annotated[
        MaybeTime,
        Meta(
            description="When the store's files were cleaned after the search; null: not yet, which is repeated within seconds. A SQLite "
            "file above 64 MiB waits for `touchbase vacuum`."
        ),
    ]
    removed: Annotated[dict[str, int], Meta(description="Rows removed so far, by kind, and bodies of deliveries.")]
    searched_share: Annotated[float, Meta(ge=0, le=1, description="The part of the inbox that has been searched.")]


class ErasurePage(Struct):
    """A page of erasures, newest first."""

    data: list[ErasureRequestOut]
    next_cursor: str | None = None


_REQUEST = {
    "id": 3, "asked_time": "2026-11-20T09:30:00Z", "searched_time": "2026-11-20T09:30:02Z", "done_time": "2026-11-20T09:30:05Z",
    "removed": {"contacts": 1, "custom_fields": 2, "events": 14, "links": 1, "deliveries": 15}, "searched_share": 1.0,
}  # fmt: skip
example(ErasureRequestOut, _REQUEST)
example(ErasurePage, {"data": [_REQUEST], "next_cursor": None})


class TeamErasure(ErasureRequestOut):
    """An erasure with its client."""

    client_id: str


example(TeamErasure, {**_REQUEST, "client_id": "acme"})


class TeamErasurePage(PageOf[TeamErasure]):
    """A page of erasures of several clients, newest first; `next_cursor` is null on the last one."""


class IdentityOut(Struct):
    """An identity of the contact: a tool's object; with an empty `tool` a former `email` or `linkedin` address."""

    tool: str
    object_type: str
    object_id: str


class SourceOut(Struct):
    """A tool that sent data about the person, and when."""

    channel: str
    tool: str
    events: int
    first_received_at: Time
    last_received_at: Time


class ExportedEvent(Struct):
    """One event of the person's history with all that is stored of it."""

    event: str
    occurred_at: Time
    received_at: Time
    channel: str
    tool: str
    campaign: str | None
    campaign_id: str | None
    status: str | None
    delivery_id: int | None
    detail: dict[str, Any]
    changed: list[FieldChangeOut]
    note: Annotated[NoteInTimeline | UnsetType, Meta(description="The note that somebody wrote; left out with other events.")] = UNSET
    task: Annotated[TaskInTimeline | UnsetType, Meta(description="The task that somebody wrote; left out with other events.")] = UNSET


class ExportedDelivery(Struct):
    """A delivery about the person, as received; without its content if it names other people too (`shared`), or if that is `lost`."""

    id: int
    channel: ChannelOut
    tool: str | None
    state: DeliveryStateOut
    received_at: Time
    shared: bool
    headers: dict[str, str] | None
    query: str | None
    body: RawBody | None
    lost: str | None


class PersonExport(Struct):
    """Everything that is stored about one contact, in pages: the contact first, then timeline, messages and deliveries in this order."""

    deliveries: list[ExportedDelivery]
    next_cursor: Annotated[str | None, Meta(description="Cursor of the next page; null on the last page.")]
    contact: ContactResponse | UnsetType = UNSET
    created_at: Time | UnsetType = UNSET
    identities: list[IdentityOut] | UnsetType = UNSET
    sources: list[SourceOut] | UnsetType = UNSET
    timeline: Annotated[
        list[ExportedEvent] | UnsetType, Meta(description="The events, newest first; those of a long history go on on the next pages.")
    ] = UNSET
    suppressions: Annotated[
        list[SuppressionOut] | UnsetType, Meta(description="The entries of the person's addresses on the client's do-not-contact list.")
    ] = UNSET
    messages: Annotated[
        list[MessageOut] | UnsetType, Meta(description="The mails and LinkedIn messages, oldest first; they follow the last event.")
    ] = UNSET
    answers: Annotated[list[AnswerOut] | UnsetType, Meta(description="Answers to the person: sent ones are messages, too.")] = UNSET


ERASE = query.flag("erase", "Erase the person permanently: the contact, its timeline, and the bodies of the webhooks that mention it.")


async def erase_contact(call: Call) -> Response:
    """Handle `DELETE` of one contact: erase the person."""
    client = await call.client()
    call.parameters().done()
    api = call.api
    eraser = Eraser(api[PROCESSING], api[READ], api.dependencies.clock, api[CONNECTIONS].of)
    erasure = await eraser.erase(client.number, call.id("contact"))
    api.clients.forget(client.client_id)
    api.dependencies.on_stored(client.number)  # queued deliveries that name the person are checked when they are applied
    before = await api.dependencies.store.read(list_requests(client.number, 1, erasure.id))
    if all(earlier.searched_us is not None for earlier in before):  # else one search in the background is for all of them
        erasure = await eraser.search(erasure, api.dependencies.clock() + SEARCH_SECONDS)
    return Response(body=encode(ErasureOut(erasure.id, erasure.removed, erasure.searched_us is not None)))


async def delete_contact(call: Call) -> Response:
    """Handle `DELETE` of one contact: move it into the bin, or with `erase` erase the person."""
    query = call.parameters()
    if not query[ERASE]:
        return await CONTACT_BIN.delete(call)
    call.needed = ADMIN
    client = await call.client()
    if query[DRY_RUN]:
        raise Invalid([Fault("?dry_run", "contradiction", "is not possible with erase=true; GET .../export shows what is stored")])
    await if_updated_us(call, lambda: CONTACT_BIN.get(call, client, call.id("contact")))
    return await erase_contact(call)


async def list_erasures(call: Call) -> Response:
    """Handle `GET` of a page of a client's erasures."""
    client, query = await call.client(), call.parameters()
    before: int | None = query.cursor("erasures", int)
    query.done()
    erasures = await call.api.dependencies.store.read(list_requests(client.number, query[LIMIT] + 1, before))
    page = erasures[: query[LIMIT]]
    cursor = cursor_text("erasures", page[-1].id) if len(erasures) > len(page) else None
    return Response(body=encode(ErasurePage([_request_out(erasure) for erasure in page], cursor)))


async def list_all_erasures(call: Call) -> Response:
    """Handle `GET` of a page of erasures of all clients that the caller may see."""
    caller, query = await call.principal(of_several=True), call.parameters()
    before: tuple[int, int, int] | None = query.cursor("all erasures", tuple[int, int, int])
    query.done()
    numbers, limit = await call.visible(caller, query[CLIENT]), query[LIMIT]
    erasures = await call.api.dependencies.store.read(list_all_requests(numbers, limit + 1, before))
    page = erasures[:limit]
    clients = await call.api.clients.of(erasure.client for erasure in page)
    # A client may have been deleted meanwhile.
    data = [
        TeamErasure(**structs.asdict(_request_out(erasure)), client_id=clients[erasure.client].client_id)
        for erasure in page
        if erasure.client in clients
    ]
    cursor = cursor_text("all erasures", (page[-1].asked_us, page[-1].client, page[-1].id)) if len(erasures) > len(page) else None
    return Response(body=encode(TeamErasurePage(data, cursor)))


def _request_out(erasure: Erasure) -> ErasureRequestOut:
    done = None if erasure.done_us is None else to_text(erasure.done_us)
    searched = None if erasure.searched_us is None else to_text(erasure.searched_us)
    share = 1.0 if searched else max(0, erasure.swept_to) / max(1, erasure.sweep_until)
    return ErasureRequestOut(erasure.id, to_text(erasure.asked_us), searched, done, erasure.removed, min(1.0, round(share, 3)))


async def export_contact(call: Call) -> Response:
    """Handle `GET` of everything that is stored about one contact."""
    client = await call.client()
    query, number = call.parameters(), call.id("contact")
    listing = f"export {number}"
    place: Place | None = query.cursor(listing, PLACE)
    query.done()
    if place is None:
        await call.record("export.read", "contact", number, client.number)
    api, parts = call.api, call.api.dependencies
    translate = translator(api[READ], await api[CONNECTIONS].of(client.number))
    pages = PersonPages(parts.store, translate, client, number, query[LIMIT], await call.page_bytes(), parts.clock)
    export, following = await pages.page(place)
    export.next_cursor = None if following is None else cursor_text(listing, following)
    return Response(body=encode(export))


Place = int | tuple[str, Micros, str | int]
"""Where an export goes on: behind the delivery with this id, or behind this event (`timeline`) or message (`messages`)."""
PLACE: Any = Place
TIMELINE, MESSAGES = "timeline", "messages"
_FIRST_MESSAGE = (MESSAGES, 0, 0)
"""No message has the id 0."""


@dataclass(slots=True)
class PersonPages:
    """The pages of one person's export: each ends after `page_bytes`, or after `limit` deliveries."""

    store: Store
    translate: Translate
    client: Client
    contact_id: int
    limit: int
    page_bytes: int
    clock: Clock
    left: int = 0
    """Bytes that the present page may still have."""

    async def page(self, place: Place | None) -> tuple[PersonExport, Place | None]:
        """Return the page from a place on, and where the next one begins; None: there is none. Raises `NotFound`."""
        export, self.left = PersonExport([], None), self.page_bytes
        contact = await exported_contact(self.store, self.client.number, self.contact_id)
        if place is None:
            _with_person(export, await export_person(self.store, self.client.number, contact), self.client, self.clock())
            export.answers = [answer_out(answer) for answer in await self.store.read(answers_of_contact(self.client.number, contact.id))]
            self.left -= len(encode(export))
        if place is None or (isinstance(place, tuple) and place[0] == TIMELINE):
            before = None if place is None else (place[1], str(place[2]))
            place = await self._add_events(export, contact, before)
        if isinstance(place, tuple) and place[0] == MESSAGES and self.left > 0:
            place = await self._add_messages(export, contact, (place[1], int(place[2])))
        if isinstance(place, int) and self.left > 0:
            return export, await self._add_deliveries(export, place)
        return export, place

    async def _add_events(self, export: PersonExport, contact: Contact, before: EffectiveTime | None) -> Place:
        words = self.client.settings.words(CONTACT)
        entries, place, _ = await timeline(self.store, contact, MAX_HISTORY, before, words)
        notes, tasks = await team_texts(self.store, self.client.number, CONTACT, contact.id, entries)
        fit = self._fitting(_event(entry, notes.get(entry.event.key, UNSET), tasks.get(entry.event.key, UNSET)) for entry in entries)
        export.timeline = fit
        if len(fit) < len(entries):
            place = entries[len(fit) - 1].event.effective_time
        return _FIRST_MESSAGE if place is None else (TIMELINE, *place)

    async def _add_messages(self, export: PersonExport, contact: Contact, after: tuple[Micros, int]) -> Place:
        messages = await self.store.read(messages_of_contact(self.client.number, contact.id, after, self.left))
        fit = self._fitting(message_out(message, contact_email=contact.email) for message in messages)
        export.messages = fit
        if len(fit) < len(messages) or isinstance(messages, Cut):
            last = messages[len(fit) - 1]
            return MESSAGES, last.occurred_us, last.id
        return 0

    async def _add_deliveries(self, export: PersonExport, after: int) -> int | None:
        deliveries, following = await export_deliveries(self.store, self.translate, self.client.number, self.contact_id, self.limit, after)
        export.deliveries = self._fitting(map(_delivery, deliveries))
        return following if len(export.deliveries) == len(deliveries) else deliveries[len(export.deliveries) - 1].delivery.id

    def _fitting(self, items: Iterable[object]) -> list[Any]:
        """Encode the items that the page may still have."""
        fit = fitting(items, self.left)
        self.left -= sum(map(len, map(bytes, fit)))
        return fit


def _with_person(export: PersonExport, exported: Exported, client: Client, now: Micros) -> None:
    """Add the members that only the first page has."""
    contact = contact_out(exported.contact, False, client.settings)
    export.contact, export.created_at = contact, to_text(exported.contact.created_us)
    export.identities = [IdentityOut(*ref) for ref in exported.identities]
    export.sources = [
        SourceOut(source.channel, source.tool, source.events, to_text(source.first_us), to_text(source.last_us))
        for source in exported.sources
    ]
    export.suppressions = [entry_out(suppression, now) for suppression in exported.suppressions]


def _event(entry: TimelineEntry, note: NoteInTimeline | UnsetType, task: TaskInTimeline | UnsetType) -> ExportedEvent:
    event = entry.event
    return ExportedEvent(
        event.event, to_text(event.occurred_us), to_text(event.received_us), event.channel, event.tool, event.campaign, event.campaign_id,
        event.status, event.delivery_id, event.detail, changes_out(entry), note, task,
    )  # fmt: skip


def _delivery(listed: ContactDelivery) -> ExportedDelivery:
    delivery = listed.delivery
    hidden = listed.shared or delivery.lost is not None
    return ExportedDelivery(
        delivery.id, delivery.channel, delivery.tool, delivery.state, to_text(delivery.received_us), listed.shared,
        None if hidden else delivery.headers, None if hidden else delivery.query, None if hidden else raw_body(delivery.body),
        delivery.lost,
    )  # fmt: skip


_deleted = DELETE_CONTACT.success[0]
ROUTES = [
    replace(
        DELETE_CONTACT, handler=delete_contact, query=(*DELETE_CONTACT.query, ERASE),
        description=f"{DELETE_CONTACT.description} With `erase=true` the person is erased permanently; that needs the scope `admin`.",
        success=(replace(_deleted, body=(*_deleted.bodies, ErasureOut)),),
    ),
    Route(
        "GET", "/public/v2/contacts/{id}/export", export_contact, scope=ADMIN, operation_id="export_contact", tag=CONTACT_TAG,
        summary="Export everything that is stored about one person",
        description="The first page has the contact, its identities and sources, and begins the timeline; messages and deliveries follow. "
        "Most people fit on one page but for their deliveries. Join the lists of all pages, until `next_cursor` is null.",
        query=PAGE, success=(Success(200, "A page.", PersonExport),),
    ),
    Route(
        "GET", "/public/v2/erasures", list_erasures, scope=ADMIN, operation_id="list_erasures", tag=CONTACT_TAG,
        summary="List erasures of people, newest first",
        description="When each was asked for, how far the search of the inbox is, and what was removed.",
        query=PAGE, success=(Success(200, "A page.", ErasurePage),),
    ),
    Route(
        "GET", "/team/v1/erasures", list_all_erasures, scope=ADMIN, operation_id="list_all_erasures", tag=CONTACT_TAG,
        summary="List erasures of people of all clients, newest first", description="As the list of one client.",
        query=(CLIENT, *PAGE), success=(Success(200, "A page.", TeamErasurePage),), problems=(404,),
    ),
]  # fmt: skip
