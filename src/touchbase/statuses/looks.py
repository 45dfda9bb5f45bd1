"""How the team works with statuses: one list for all clients, new ones included, in the order in which the team moves.

A word has the same look as a contact's status and as a company's. A client's status has the look of its name; one that a client has
renamed has that of the word of Touchbase which it stands for.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from hashlib import sha256
from typing import Annotated, Literal, get_args

import msgspec
from msgspec import Meta, Struct

from touchbase.audit import audited
from touchbase.auth.authentication import ADMIN, READ
from touchbase.auth.users import lock_users
from touchbase.common import field_limits as limits
from touchbase.errors import Fault, Forbidden, Invalid, PreconditionFailed
from touchbase.history.events import COMPANY, CONTACT
from touchbase.history.status_words import SERVICE_WORDS
from touchbase.http.conditional import ETAG, changed_since, if_match, tags_named
from touchbase.http.endpoint import Call
from touchbase.http.responses import Response
from touchbase.http.routing import Route, Success, Tag
from touchbase.http.schemas import encode, example, named_enum
from touchbase.sql.operation import command, query
from touchbase.sql.rows import Columns
from touchbase.sql.rows import encode as encoded
from touchbase.sql.statement import Execute, Plan, Select, Statement
from touchbase.statuses.models import StatusInfo

TAG = Tag(
    "Statuses", "The words that contacts and companies have as their status: define, rename and merge them; labels, colours and keys."
)
MOST = 200
"""Statuses of the team's list."""
Color = Literal["grey", "blue", "teal", "violet", "pink", "green", "lime", "amber", "orange", "red"]
Group = Literal["new", "active", "won", "lost", "blocked"]
_COLOR = named_enum("StatusColor", "One of ten hues.", get_args(Color))
_GROUP = named_enum("StatusGroup", "Where a contact or company with a status stands; it decides the shape.", get_args(Group))


class StatusLook(Struct, kw_only=True):
    """How the team works with a status."""

    label: Annotated[str, Meta(max_length=limits.STATUS, description="What people read; blank: the name without underscores.")] = ""
    color: Annotated[Color, Meta(extra_json_schema=_COLOR, description="Its hue in the console.")] = "grey"
    group: Annotated[Group, Meta(extra_json_schema=_GROUP, description="It decides the shape beside the hue.")] = "active"
    key: Annotated[
        Annotated[int, Meta(ge=1, le=9)] | None, Meta(description="The digit that sets it in the console's replies; null: none.")
    ] = None
    closes: Annotated[bool, Meta(description="Whether the conversation is done when its key sets it.")] = False
    expected_days: Annotated[
        Annotated[int, Meta(ge=1, le=3_650)] | None, Meta(description="Days after which a card of the board is marked; null: never.")
    ] = None


class TeamStatus(StatusLook, forbid_unknown_fields=True, kw_only=True):
    """A status of the team's list."""

    name: Annotated[str, Meta(min_length=1, max_length=limits.STATUS, description="As clients have it: `meeting_booked`.")]


class TeamStatuses(Struct, forbid_unknown_fields=True):
    """The statuses of the team, in its order."""

    data: Annotated[list[TeamStatus], Meta(max_length=MOST, description="In the order of the team.")]


_EXAMPLE = {"name": "meeting_booked", "label": "Meeting", "color": "violet", "group": "won", "key": 2, "closes": True, "expected_days": 14}
example(TeamStatus, _EXAMPLE)
example(TeamStatuses, {"data": [_EXAMPLE]})
_COLUMNS: Columns = (("name", "text"), ("position", "bigint"), ("look", "text"))
INSERT_STATUS = Statement("insert_team_status", _COLUMNS, body="INSERT INTO team_status (name, position, look) SELECT * FROM p WHERE true")
_decode = msgspec.json.Decoder(StatusLook).decode


@query
def list_team_statuses() -> Plan[list[TeamStatus]]:
    """The statuses of the team, in its order."""
    rows = yield Select("SELECT name, look FROM team_status ORDER BY position, name", ())
    return [TeamStatus(name=name, **msgspec.structs.asdict(_decode(look))) for name, look in rows]


@command(follow_up=audited("status.looks_changed", "status", lambda call, _: None))
def set_team_statuses(
    statuses: Sequence[TeamStatus], if_versions: Collection[str] | None = None
) -> Plan[list[TeamStatus] | PreconditionFailed]:
    """Replace the statuses of the team; `PreconditionFailed` if they have none of these versions."""
    yield from lock_users()
    if if_versions is not None and version_of((yield from list_team_statuses.plan())) not in if_versions:
        return PreconditionFailed("somebody changed the statuses since they were read; read them again, and repeat the change")
    yield Select("DELETE FROM team_status RETURNING name", ())
    looks = [{name: getattr(status, name) for name in StatusLook.__struct_fields__} for status in statuses]
    rows = [(status.name, position, encoded(look)) for position, (status, look) in enumerate(zip(statuses, looks, strict=True))]
    if rows:
        yield Execute(INSERT_STATUS, sorted(rows))
    return [*statuses]


def version_of(statuses: Sequence[TeamStatus]) -> str:
    """Return the version of a list: a digest of it."""
    return sha256(msgspec.json.encode(statuses)).hexdigest()[:16]


def look_of(status: StatusInfo, looks: Mapping[str, StatusLook]) -> StatusLook | None:
    """Return the look of a client's status; None if the team has decided nothing about it."""
    return next((looks[name] for name in (status.name, *status.stands_for) if name in looks), None)


async def get_statuses(call: Call) -> Response:
    """Handle `GET` of the team's statuses."""
    principal = await call.principal(of_several=True)
    call.parameters().done()
    statuses = await call.api.dependencies.store.read(list_team_statuses())
    visible = principal.clients if principal.client is None else {principal.client}
    if visible is not None:  # a name of a status may be another client's affair
        words = {*SERVICE_WORDS}
        for client in (await call.api.clients.of(visible)).values():
            for kind in (CONTACT, COMPANY):
                declared = client.settings.declared(kind)
                words |= {*declared.statuses} if declared is not None else set()
        return Response(body=encode(TeamStatuses([status for status in statuses if status.name in words])))
    return _response(statuses)


async def put_statuses(call: Call) -> Response:
    """Handle `PUT` of the team's statuses."""
    principal = await call.principal(of_several=True)
    call.parameters().done()
    if principal.client is not None or principal.clients is not None:
        raise Forbidden("the team's statuses are for all clients: an administrator of all changes them")
    body = await call.body(TeamStatuses)
    _check(body.data)
    try:
        return _response(await call.api.dependencies.store.write(set_team_statuses(body.data, tags_named(call))))
    except PreconditionFailed:
        raise await changed_since(call, "list of statuses", "status.looks_changed") from None


def _response(statuses: Sequence[TeamStatus]) -> Response:
    return Response(body=encode(TeamStatuses([*statuses])), headers=[(ETAG, f'"{version_of(statuses)}"'.encode())])


def _check(statuses: Sequence[TeamStatus]) -> None:
    faults: list[Fault] = []
    names: dict[str, int] = {}
    keys: dict[int, str] = {}
    for index, status in enumerate(statuses):
        status.name, status.label = status.name.strip(), status.label.strip()
        if limits.is_blank(status.name):
            faults.append(Fault(f"/data/{index}/name", "blank", "must have a visible character"))
        elif status.name in names:
            faults.append(Fault(f"/data/{index}/name", "repeated", f"stands here twice; remove one of the two of {status.name[:40]!r}"))
        if status.label and limits.is_blank(status.label):
            faults.append(Fault(f"/data/{index}/label", "blank", "must have a visible character, or be empty for the name"))
        if status.key is not None and status.key in keys:
            other_key = keys[status.key]
            faults.append(Fault(f"/data/{index}/key", "repeated", f"is the key of {other_key[:40]!r} too; choose another digit or null"))
        names[status.name] = index
        if status.key is not None:
            keys[status.key] = status.name
    if faults:
        raise Invalid(faults)


PATH = "/team/v1/statuses"
_LIST = (Success(200, "The statuses.", TeamStatuses, ("ETag",)),)
ROUTES = [
    Route(
        "GET", PATH, get_statuses, scope=READ, operation_id="list_team_statuses", tag=TAG, summary="List the team's statuses",
        description="In the team's order. Who may not see all clients gets those that a client of theirs declares, and Touchbase's own.",
        success=_LIST,
    ),
    Route(
        "PUT", PATH, put_statuses, scope=ADMIN, operation_id="set_team_statuses", tag=TAG, summary="Replace the team's statuses",
        description="For administrators of all clients. It declares no status and changes no record: it says how people see and set those "
        "that clients have.",
        headers=(if_match("list"),), body=TeamStatuses, success=_LIST, problems=(412,),
    ),
]  # fmt: skip
