"""HTTP resource of tasks about contacts and companies, over all clients that a key may see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from touchbase.auth.authentication import ADMIN, READ, WRITE, Principal
from touchbase.clients.models import Client
from touchbase.common.timestamps import Micros, to_text, to_text_or_none
from touchbase.errors import Fault, Forbidden, Invalid, NotFound
from touchbase.history.events import COMPANY, CONTACT
from touchbase.http import query_parameters as query
from touchbase.http.actors import Actor, ActorNames
from touchbase.http.endpoint import Call, author_of
from touchbase.http.people import ME, NO_PERSON, unseen, user_named
from touchbase.http.query_parameters import LARGEST_PAGE, LIMIT, PAGE, cursor_text, parse_time, record_id
from touchbase.http.responses import Response
from touchbase.http.routing import Route, Success, Tag
from touchbase.http.schemas import PageOf, Time, encode, example, fitting, named_enum
from touchbase.notes.api import author_of_text, etag_of, is_by, note_in_timeline, plain_text, version_of
from touchbase.notes.plans import NOTED, notes_of_events
from touchbase.records.api.schemas import NoteInTimeline, TaskInTimeline
from touchbase.records.record_type import RECORD_TYPES
from touchbase.records.timelines import TimelineEntry
from touchbase.records.validation import raise_if_any
from touchbase.records.writes import new_write_key
from touchbase.sql.page_budget import page_of
from touchbase.sql.store import Store
from touchbase.tasks.plans import (
    LONGEST_TASK,
    OPEN,
    STATES,
    TASKED,
    Task,
    TaskFilters,
    TaskUpdate,
    change_task,
    create_task,
    delete_task,
    find_task,
    list_tasks,
    tasks_of_events,
)

TAG = Tag("Tasks", "What people have to do about contacts and companies, over all clients that a key may see.")
PATH = "/team/v1/tasks"
NOBODY = "none"
named_enum("TaskState", "Which tasks a list has, by their state.", STATES)
CLIENT = query.text("client_id", "Tasks of this client: its `client_id`, or its handle.")
ASSIGNEE = query.text("assignee_id", "Tasks of a user: an id, `me` or `none`.")
STATE = query.choice("state", STATES, "Tasks in this state, or in any; left out: open ones.")
DUE_BEFORE = query.time("due_before", "Tasks that are due before this time.")
Text = Annotated[str, Meta(max_length=LONGEST_TASK, description="Plain text.")]
DueAt = Annotated[Time, Meta(description="When it is due, such as 2026-11-23T08:00:00Z; it may lie in the past.")]
Assignee = Annotated[str, Meta(max_length=100)]


class TaskOut(TaskInTimeline, kw_only=True):
    """A task about a contact or company."""

    client_id: str
    contact_id: Annotated[int | None, Meta(description="The contact that it is about; null: a company.")]
    company_id: Annotated[int | None, Meta(description="The company that it is about; null: a contact.")]
    name: Annotated[str, Meta(description="Of the contact or company, else its address.")]
    done_by: Annotated[Actor | None, Meta(description="Who did it; null: it is open.")]
    author: Annotated[Actor, Meta(description="Who wrote it.")]
    created_at: Time


class TaskPage(PageOf[TaskOut]):
    """A page of tasks; `next_cursor` is null on the last one."""


class NewTask(Struct, forbid_unknown_fields=True):
    """A new task."""

    text: Text
    due_at: DueAt
    assignee_id: Annotated[Assignee | None, Meta(description="The user who has to do it: an id, or `me`; null: nobody in particular.")] = (
        None
    )


class TaskChange(Struct, forbid_unknown_fields=True):
    """Changes of a task; members that are left out stay."""

    text: Text | UnsetType = UNSET
    due_at: DueAt | UnsetType = UNSET
    assignee_id: Annotated[Assignee | UnsetType | None, Meta(description="The user who has to do it: an id, or `me`; null: nobody.")] = (
        UNSET
    )
    done: Annotated[bool | UnsetType, Meta(description="Whether it is done; false opens it again.")] = UNSET


_TASK = {
    "id": 7, "text": "Send the security sheet", "due_at": "2026-11-23T08:00:00Z", "assignee_id": "u3f9a1c27b0d", "done_at": None,
    "version": "1795426200000000",
}  # fmt: skip
_AUTHOR = {"type": "user", "id": "u3f9a1c27b0d", "name": "Mira Berg", "via": "console"}
example(TaskInTimeline, _TASK)
example(
    TaskOut,
    {
        **_TASK, "client_id": "acme", "contact_id": 1, "company_id": None, "name": "Jane Doe", "done_by": None, "author": _AUTHOR,
        "created_at": "2026-11-20T09:30:00Z",
    },
)  # fmt: skip
example(NewTask, {"text": "Send the security sheet", "due_at": "2026-11-23T08:00:00Z", "assignee_id": "me"})
example(TaskChange, {"done": True})


def _in_timeline(task: Task) -> TaskInTimeline:
    return TaskInTimeline(task.id, task.text, to_text(task.due_us), task.assignee_id, to_text_or_none(task.done_us), str(task.updated_us))


async def team_texts(
    store: Store, client: int, kind: int, record_id: int, entries: Sequence[TimelineEntry]
) -> tuple[dict[str, NoteInTimeline], dict[str, TaskInTimeline]]:
    """Return the notes and tasks of these entries of a record's timeline, by the keys of the entries."""
    noted, tasked = ([entry.event.key for entry in entries if entry.event.event == events[kind]] for events in (NOTED, TASKED))
    notes = await store.read(notes_of_events(client, noted)) if noted else {}
    tasks = await store.read(tasks_of_events(client, kind, record_id, tasked)) if tasked else {}
    return (
        {key: note_in_timeline(note) for key, note in notes.items()},
        {key: _in_timeline(task) for key, task in tasks.items()},
    )


async def _shown(call: Call, tasks: Sequence[Task]) -> list[TaskOut]:
    actors, clients = call.api.actors, await call.api.clients.of(task.client for task in tasks)
    await actors.load(by.key_id for task in tasks for by in (task.by, task.done_by) if by is not None)
    return [_out(task, clients[task.client].client_id, actors) for task in tasks if task.client in clients]  # it may be deleted meanwhile


def _out(task: Task, client_id: str, actors: ActorNames) -> TaskOut:
    return TaskOut(
        task.id, task.text, to_text(task.due_us), task.assignee_id, to_text_or_none(task.done_us), str(task.updated_us),
        client_id=client_id, contact_id=task.record_id if task.record_kind == CONTACT else None,
        company_id=task.record_id if task.record_kind == COMPANY else None, name=task.record_name,
        done_by=None if task.done_by is None else actors.of(task.done_by), author=actors.of(task.by),
        created_at=to_text(task.created_us),
    )  # fmt: skip


async def list_team_tasks(call: Call) -> Response:
    """Handle `GET` of a page of tasks of several clients."""
    caller = await call.principal(of_several=True)
    return await _page(call, caller, await call.visible(caller, call.parameters()[CLIENT]), None)


async def _page(call: Call, caller: Principal, clients: list[int] | None, record: tuple[int, int] | None) -> Response:
    parameters = call.parameters()
    state, assignee = parameters[STATE] or OPEN, parameters[ASSIGNEE]
    listing = f"{PATH}/{state}/{record}"
    after = parameters.cursor(listing, tuple[int, int, int])
    if assignee == ME and caller.user is None:
        parameters.fault(ASSIGNEE.name, "user", NO_PERSON)
    parameters.done()
    user_id = caller.user.id if assignee == ME and caller.user is not None else "" if assignee == NOBODY else assignee
    limit, page_bytes = min(parameters[LIMIT], LARGEST_PAGE), await call.page_bytes()
    filters = TaskFilters(state, user_id, parameters[DUE_BEFORE], record)
    page, has_more = page_of(await call.api.dependencies.store.read(list_tasks(clients, limit + 1, filters, after, page_bytes)), limit)
    data = fitting(await _shown(call, page), page_bytes)
    last = page[len(data) - 1] if data and (has_more or len(data) < len(page)) else None
    return Response(body=encode({"data": data, "next_cursor": None if last is None else cursor_text(listing, last.place)}))


class TaskResource:
    """The handlers for the tasks about one kind of record."""

    def __init__(self, kind: int) -> None:
        self._kind = kind

    async def _named(self, call: Call) -> tuple[Principal, Client, int]:
        caller = await call.principal(of_several=True)
        client = await call.visible_client(call.path("client_id"), caller)
        return caller, client, call.id(RECORD_TYPES[self._kind].name)

    async def list(self, call: Call) -> Response:
        """Handle `GET` of a page of tasks about one record."""
        caller, client, number = await self._named(call)
        return await _page(call, caller, [client.number], (self._kind, number))

    async def create(self, call: Call) -> Response:
        """Handle `POST` of a task."""
        caller, client, number = await self._named(call)
        call.parameters().done()
        body, now, by = await call.body(NewTask), call.api.dependencies.clock(), author_of(call.scope)
        text, due_us = plain_text(body.text), _due(body.due_at)
        assignee = await _assignee(call, body.assignee_id, caller, client)
        await call.api.actors.load([by.key_id])
        call.api.storing(client, 1, now)
        command = create_task(client.number, self._kind, number, text, due_us, assignee or None, now, new_write_key(), by)

        def respond(task: Task) -> Response:
            response = Response(201, encode(_out(task, client.client_id, call.api.actors)), headers=[etag_of(task.updated_us)])
            stored = replace(task, text="", record_name="")  # a text in it would outlive an erasure
            response.stored_body = encode(_out(stored, client.client_id, call.api.actors))
            return response

        return await call.write_and_respond(lambda writes: writes.write(command), respond)

    async def change(self, call: Call) -> Response:
        """Handle `PATCH` of a task."""
        caller, client, number = await self._named(call)
        call.parameters().done()
        body, now = await call.body(TaskChange), call.api.dependencies.clock()
        if all(getattr(body, name) is UNSET for name in body.__struct_fields__):
            raise Invalid([Fault("", "required", "send one of text, due_at, assignee_id and done")])
        change = TaskUpdate(
            None if body.text is UNSET else plain_text(body.text),
            None if body.due_at is UNSET else _due(body.due_at),
            await _assignee(call, body.assignee_id, caller, client),
            None if body.done is UNSET else body.done,
        )
        task = await self._find(call, client, number)
        call.api.storing(client, 1, now)
        command = change_task(client.number, self._kind, number, task.id, change, now, author_of(call.scope), version_of(call))
        task = await call.api.dependencies.store.write(command)
        return Response(body=encode((await _shown(call, [task]))[0]), headers=[etag_of(task.updated_us)])

    async def delete(self, call: Call) -> Response:
        """Handle `DELETE` of a task."""
        caller, client, number = await self._named(call)
        call.parameters().done()
        task, now = await self._find(call, client, number), call.api.dependencies.clock()
        author = await author_of_text(call, task.by)
        is_admin = ADMIN in (caller.scopes if caller.user is None else caller.user.scopes(client.number))
        if not is_admin and not is_by(call, caller, author):
            raise Forbidden(f"only its author, {author.name or 'another one'}, or an administrator may delete a task; mark it as done")
        command = delete_task(client.number, self._kind, number, task.id, now, author_of(call.scope), version_of(call))
        await call.api.dependencies.store.write(command)
        return Response(204)

    async def _find(self, call: Call, client: Client, number: int) -> Task:
        task_id = record_id(call.path("task_id"))
        task: Task | None = await call.api.dependencies.store.read(find_task(client.number, self._kind, number, task_id or 0))
        if task is None:
            name = RECORD_TYPES[self._kind].name
            raise NotFound(f"the {name} with id {number} has no task with id {call.path('task_id')[:40]!r}; list its tasks")
        return task


def _due(text: str) -> Micros:
    faults: list[Fault] = []
    due_us = parse_time(text, "/due_at", faults)
    raise_if_any(faults)
    return due_us or 0


async def _assignee(call: Call, user_id: str | UnsetType | None, caller: Principal, client: Client) -> str | None:
    """Return the id of the user whom a body names; empty for nobody, None if it names none."""
    user = await user_named(call, user_id, caller, "/assignee_id")
    if (fault := unseen(user, client, "/assignee_id")) is not None:
        raise Invalid([fault])
    return None if user_id is UNSET else "" if user is None else user.id


IF_MATCH = {
    "name": "If-Match", "in": "header", "required": False, "schema": {"type": "string"},
    "description": "The version that the task must still have: a change meanwhile makes the response 412.",
}  # fmt: skip
FILTERS = (STATE, ASSIGNEE, DUE_BEFORE)


def _routes(kind: int) -> list[Route]:
    resource, one, many = TaskResource(kind), RECORD_TYPES[kind].name, RECORD_TYPES[kind].plural
    path = f"{PATH}/{{client_id}}/{many}/{{id}}"
    of_task = Success(200, "The task.", TaskOut, ("ETag",))
    return [
        Route(
            "GET", path, resource.list, scope=READ, operation_id=f"list_{one}_tasks", tag=TAG, summary=f"List the tasks about one {one}",
            description="The first due first, with `state=done` the last one.", query=(*PAGE, *FILTERS),
            success=(Success(200, "A page.", TaskPage),), problems=(404,),
        ),
        Route(
            "POST", path, resource.create, scope=WRITE, operation_id=f"create_{one}_task", tag=TAG, summary=f"Write a task about a {one}",
            description="It stands in the timeline, in exports of the person, and goes with an erasure. When due it notifies its user.",
            body=NewTask, success=(replace(of_task, status=201),), problems=(404, 409),
        ),
        Route(
            "PATCH", f"{path}/{{task_id}}", resource.change, scope=WRITE, operation_id=f"change_{one}_task", tag=TAG,
            summary=f"Change a task about a {one}", description="Also marks it as done, and opens it again.", headers=(IF_MATCH,),
            body=TaskChange, success=(of_task,), problems=(404, 412),
        ),
        Route(
            "DELETE", f"{path}/{{task_id}}", resource.delete, scope=WRITE, operation_id=f"delete_{one}_task", tag=TAG,
            summary=f"Delete a task about a {one}", description="Only its author or an administrator may.", headers=(IF_MATCH,),
            success=(Success(204, "It is deleted."),), problems=(404, 412),
        ),
    ]  # fmt: skip


ROUTES = [
    Route(
        "GET", PATH, list_team_tasks, scope=READ, operation_id="list_tasks", tag=TAG, summary="List tasks",
        description="Of all clients, or of one: the first due first, with `state=done` the last one. Tasks of the bin wait there.",
        query=(*PAGE, CLIENT, *FILTERS), success=(Success(200, "A page.", TaskPage),), problems=(404,),
    ),
    *_routes(CONTACT),
    *_routes(COMPANY),
]  # fmt: skip
