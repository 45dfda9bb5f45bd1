"""HTTP resource of notifications: what the person who calls was told of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta, Struct

from touchbase.auth.authentication import READ
from touchbase.common.timestamps import to_text
from touchbase.conversations.notifications import (
    ABOUT_COMPANIES,
    KINDS,
    NO_CLIENT,
    SUMMARY,
    Notification,
    list_notifications,
    place,
    read_notifications,
)
from touchbase.errors import Forbidden
from touchbase.http import query_parameters as query
from touchbase.http.endpoint import Call
from touchbase.http.query_parameters import LARGEST_PAGE, LIMIT, PAGE, cursor_text
from touchbase.http.responses import Response
from touchbase.http.routing import Route, Success, Tag
from touchbase.http.schemas import PageOf, RecordId, Time, encode, example, named_enum
from touchbase.notifying.summary import clients_of, summary_lines
from touchbase.notifying.worker import NAMELESS, line_of

TAG = Tag("Notifications", "What the person who calls was told of.")
PATH = "/team/v1/notifications"
_KIND = named_enum("NotificationKind", "What a person is told of.", KINDS)
UNREAD = query.flag("unread", "Only notifications that are not read.")
MOST_READ = 1_000


class NotificationOut(Struct):
    """A person was told of something."""

    id: Annotated[RecordId, Meta(description="Unique within the client.")]
    client_id: Annotated[str | None, Meta(description="null: a summary, which is about all clients that the person may see.")]
    kind: Annotated[str, Meta(extra_json_schema=_KIND, description="What happened.")]
    text: Annotated[str, Meta(description="The same in a sentence; of a summary with a line for each client.")]
    contact_id: Annotated[int | None, Meta(description="The contact; null: it is about none.")]
    company_id: Annotated[int | None, Meta(description="The company of the note or task; null: it is about none.")]
    created_at: Time
    browser: Annotated[bool, Meta(description="Whether an open console shows it: the person wants that, and it came in no quiet hour.")]
    read: Annotated[bool, Meta(description="Whether the person has read it.")]


class NotificationPage(PageOf[NotificationOut]):
    """A page of notifications, newest first; `next_cursor` is null on the last one."""


example(
    NotificationOut,
    {
        "id": 7, "client_id": "acme", "kind": "assignment", "text": "The conversation with Jane Doe is yours (Acme)", "contact_id": 1,
        "company_id": None,
        "created_at": "2026-11-20T09:30:00Z", "browser": True, "read": False,
    },
)  # fmt: skip


async def get_notifications(call: Call) -> Response:
    """Handle `GET` of a page of notifications."""
    caller, parameters = await call.principal(of_several=True), call.parameters()
    before = parameters.cursor(PATH, tuple[int, int, int])
    parameters.done()
    if caller.user is None:
        return Response(body=encode(NotificationPage([], None)))
    clients, limit = await call.visible(caller), min(parameters[LIMIT], LARGEST_PAGE)
    listed = await call.api.dependencies.store.read(
        list_notifications(_with_summaries(clients), caller.user.id, limit + 1, before, bool(parameters[UNREAD]))
    )
    page = listed[:limit]
    numbers = {number for notification in page if notification.kind == SUMMARY for number in clients_of(notification.about)}
    present = await call.api.clients.of({*(notification.client for notification in page), *numbers})
    names = {number: client.name or client.client_id for number, client in present.items() if clients is None or number in clients}
    names |= {NO_CLIENT: NAMELESS} if clients is None else {}
    shown = [
        NotificationOut(
            notification.id, present[notification.client].client_id if notification.client else None, notification.kind,
            _text(notification, names), notification.contact_id,
            int(notification.about) if notification.kind in ABOUT_COMPANIES and notification.about else None,
            to_text(notification.created_us), notification.browser, notification.read_us is not None,
        )
        for notification in page
        if notification.client in present or notification.kind == SUMMARY
    ]  # fmt: skip
    cursor = cursor_text(PATH, place(listed[limit - 1])) if len(listed) > limit else None
    return Response(body=encode(NotificationPage(shown, cursor)))


def _with_summaries(clients: list[int] | None) -> list[int] | None:
    return None if clients is None else [NO_CLIENT, *clients]


def _text(notification: Notification, names: Mapping[int, str]) -> str:
    if notification.kind == SUMMARY:
        return "\n".join(summary_lines(notification.about, names))
    return line_of(notification, names[notification.client])


async def read_all(call: Call) -> Response:
    """Handle `POST` that marks all notifications as read."""
    caller = await call.principal(of_several=True)
    call.parameters().done()
    if caller.user is None:
        raise Forbidden("a key has no notifications: sign in, or use a personal key")
    store, now = call.api.dependencies.store, call.api.dependencies.clock()
    clients = _with_summaries(await call.visible(caller))
    unread = await store.read(list_notifications(clients, caller.user.id, MOST_READ, None, True))
    for client in sorted({notification.client for notification in unread}):
        await store.write(read_notifications(client, caller.user.id, now))
    return Response(204)


ROUTES = [
    Route(
        "GET", PATH, get_notifications, scope=READ, operation_id="list_notifications", tag=TAG, summary="List one's notifications",
        description="Newest first, of the clients that the person may see; a key has none. What a person is told of is `notifications` "
        "of the user.",
        query=(*PAGE, UNREAD), success=(Success(200, "A page.", NotificationPage),),
    ),
    Route(
        "POST", f"{PATH}/read", read_all, scope=READ, operation_id="read_notifications", tag=TAG, summary="Mark notifications as read",
        description="All of the person who calls. What is read is not emailed any more.", success=(Success(204, "They are read."),),
    ),
]  # fmt: skip
