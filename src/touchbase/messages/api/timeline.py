"""HTTP resource of a record's timeline: its events, mail events with their messages."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from touchbase.auth.authentication import READ
from touchbase.history.events import CONTACT
from touchbase.http.endpoint import Call
from touchbase.http.query_parameters import LIMIT, PAGE, cursor_text
from touchbase.http.responses import Response
from touchbase.http.routing import Route, Success, Tag
from touchbase.http.schemas import encode, fitting
from touchbase.messages.models import MADE_EVENTS
from touchbase.messages.sql.plans import messages_of_events, told_again
from touchbase.records.api.resource import COMPANY_TAG, CONTACT_TAG
from touchbase.records.api.resource_type import COMPANIES, CONTACTS, ResourceType, timeline_event
from touchbase.records.api.schemas import TimelinePage, since
from touchbase.records.read_records import get_record
from touchbase.records.timelines import timeline
from touchbase.tasks.api import team_texts

MADE = frozenset(MADE_EVENTS.values())
"""Events of messages that requests stored, such as sent answers: the tool's webhook about the message has a second entry."""


class TimelineResource:
    """The handler of one type of record."""

    def __init__(self, kind: ResourceType[Any, Any, Any]) -> None:
        self._kind = kind

    async def get(self, call: Call) -> Response:
        """`GET` of a page of a record's timeline."""
        client = await call.client()
        parameters, number = call.parameters(), call.id(self._kind.type.name)
        listing = f"{self._kind.type.name} {number}"
        before = parameters.cursor(listing, tuple[int, str])
        parameters.done()
        store = call.api.dependencies.store
        record = await get_record(store, self._kind.type, client.number, number)
        page_bytes = await call.page_bytes(is_full_page=True)
        page, place, since_us = await timeline(store, record, parameters[LIMIT], before, client.settings.words(self._kind.type.kind))
        events = [(event.event.key, event.event.occurred_us) for event in page]
        messages = await store.read(messages_of_events(client.number, events)) if events and self._kind.type.kind == CONTACT else {}
        notes, tasks = await team_texts(store, client.number, self._kind.type.kind, number, page)
        stored = [messages[key] for entry, key in zip(page, events, strict=True) if entry.event.event in MADE and key in messages]
        again = await store.read(told_again(client.number, stored)) if stored else set()
        entries = [
            (entry, messages.get(key))
            for entry, key in zip(page, events, strict=True)
            if entry.event.event not in MADE or messages.get(key) not in again
        ]
        actors = call.api.actors
        await actors.load_events(entry.event for entry in page)
        data = fitting(
            (
                timeline_event(entry, message, actors, notes.get(entry.event.key, UNSET), tasks.get(entry.event.key, UNSET))
                for entry, message in entries
            ),
            page_bytes,
        )
        place = place if len(data) == len(entries) else entries[len(data) - 1][0].event.effective_time
        cursor = place and cursor_text(listing, place)
        return Response(body=encode(TimelinePage(data, cursor, since(since_us))))  # type: ignore[arg-type]  # encoded items


def _route(kind: ResourceType[Any, Any, Any], tag: Tag) -> Route:
    type_name = kind.type.name
    return Route(
        "GET", f"{kind.path}/{{id}}/timeline", TimelineResource(kind).get, scope=READ, operation_id=f"get_{type_name}_timeline", tag=tag,
        summary=f"Get the timeline of one {type_name}, newest first",
        description="Events of webhooks and API writes in the order of time, each with the values that it changed and their previous "
        "values. An API write names its `key_id` and `request_id`.",
        query=PAGE, success=(Success(200, "A page.", TimelinePage),),
    )  # fmt: skip


ROUTES = [_route(CONTACTS, CONTACT_TAG), _route(COMPANIES, COMPANY_TAG)]
