"""HTTP resource of views: lists of contacts or companies with filters, order, columns and layout, under a name."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from touchbase.auth.authentication import ADMIN, READ, WRITE, Principal
from touchbase.clients.models import Client, ClientSettings
from touchbase.common.field_limits import is_blank, why_not_storable
from touchbase.common.timestamps import to_text
from touchbase.errors import Fault, Forbidden, Invalid, PreconditionFailed
from touchbase.history.events import COMPANY, CONTACT, Author
from touchbase.http.actors import Actor
from touchbase.http.conditional import ETAG, if_match, tags_named
from touchbase.http.endpoint import EVERY_CLIENT, Call
from touchbase.http.query_parameters import record_id
from touchbase.http.responses import Response
from touchbase.http.routing import Route, Success, Tag
from touchbase.http.schemas import Time, encode, example, named_enum
from touchbase.records.record_type import RECORD_TYPES, RecordType
from touchbase.search.parse import LONGEST_VALUE
from touchbase.search.service import SearchRequest, prepare
from touchbase.views.plans import (
    MOST_CONTENT,
    MOST_VIEWS,
    OF_ALL_CLIENTS,
    View,
    add_view,
    change_view,
    find_view,
    list_views,
    no_such_view,
    remove_view,
    set_default_view,
)

TAG = Tag("Views", "Lists of contacts and companies with filters, order, columns and layout, for one person or for the team.")
PATH = "/team/v1/views/{client_id}"
LONGEST_NAME = 60
MOST_COLUMNS = 100
LARGEST_VIEW = 65_536
"""Bytes of a view's filters, order and columns as JSON."""
KINDS = {"contact": CONTACT, "company": COMPANY}
_KIND_NAMES = {kind: name for name, kind in KINDS.items()}
_EVERYBODY = Client(OF_ALL_CLIENTS, "", 0, ClientSettings())
Kind = Literal["contact", "company"]
Visibility = Literal["private", "shared"]
Layout = Literal["table", "board"]
_VISIBILITY = named_enum("ViewVisibility", "Who sees a view: its author, or everybody who may see the client.", ["private", "shared"])
_LAYOUT = named_enum("ViewLayout", "Rows, or a column for each status.", ["table", "board"])


class ViewColumn(Struct, forbid_unknown_fields=True):
    """A column of a table."""

    field: Annotated[str, Meta(min_length=1, max_length=200, description="A member of records, `cf.NAME`, or `name`.")]
    width: Annotated[Annotated[int, Meta(ge=40, le=2_000)] | None, Meta(description="Pixels; null: the usual width.")] = None
    pinned: Annotated[bool, Meta(description="Whether it stays in sight while the others scroll.")] = False


_Name = Annotated[str, Meta(min_length=1, max_length=LONGEST_NAME, description="For people.")]
_Kind = Annotated[Kind, Meta(description="Whose list it is: of contacts or of companies.")]
_Shown = Annotated[Visibility, Meta(extra_json_schema=_VISIBILITY, description="Who sees it.")]
_Where = Annotated[dict[str, Any], Meta(description="Filters as in `POST /public/v2/contacts/search`.")]
_Q = Annotated[str, Meta(max_length=LONGEST_VALUE, description="Words, as in searches; blank: none.")]
_Sort = Annotated[str, Meta(max_length=LONGEST_VALUE, description="As in searches; blank: the usual order.")]
_Columns = Annotated[list[ViewColumn], Meta(max_length=MOST_COLUMNS, description="In their order; empty: the usual ones.")]
_Layout = Annotated[Layout, Meta(extra_json_schema=_LAYOUT, description="How the console shows it.")]
_Position = Annotated[int, Meta(ge=0, le=1_000_000, description="Place in the list of views, which is sorted by it.")]


class ViewContent(Struct):
    """What a view shows."""

    where: _Where = {}
    q: _Q = ""
    sort: _Sort = ""
    columns: _Columns = []
    layout: _Layout = "table"


class NewView(ViewContent, forbid_unknown_fields=True, kw_only=True):
    """A new view."""

    name: _Name
    kind: _Kind
    visibility: _Shown = "private"
    position: Annotated[_Position | None, Meta(description="Null: behind all others.")] = None


class ViewChange(Struct, forbid_unknown_fields=True):
    """Changes of a view; members that are left out stay."""

    name: _Name | UnsetType = UNSET
    visibility: _Shown | UnsetType = UNSET
    where: _Where | UnsetType = UNSET
    q: _Q | UnsetType = UNSET
    sort: _Sort | UnsetType = UNSET
    columns: _Columns | UnsetType = UNSET
    layout: _Layout | UnsetType = UNSET
    position: _Position | UnsetType = UNSET


class ViewOut(ViewContent, kw_only=True):
    """A view."""

    id: int
    client_id: Annotated[str | None, Meta(description="Null: a view of all clients.")]
    name: _Name
    kind: _Kind
    visibility: _Shown
    author: Annotated[Actor, Meta(description="Who may change it, beside administrators if it is shared.")]
    is_default: Annotated[bool, Meta(description="Whether the caller's list begins with it.")]
    position: _Position
    version: Annotated[str, Meta(description="For `If-Match`, in quotes.")]
    updated_at: Time


class ViewList(Struct):
    """Views in their order."""

    data: list[ViewOut]


_CONTENT = {
    "where": {"all": [{"contact_status[in]": ["replied"]}]}, "q": "", "sort": "-last_reply_received",
    "columns": [{"field": "name", "width": 240, "pinned": True}], "layout": "table",
}  # fmt: skip
_VIEW = {"name": "Hot leads", "kind": "contact", "visibility": "shared", **_CONTENT}
example(NewView, _VIEW)
example(ViewChange, {"name": "Warm leads", "layout": "board"})
example(
    ViewOut,
    {
        "id": 7, "client_id": "acme", **_VIEW, "author": {"type": "user", "id": "u3f9a1c27b0d", "name": "Mira Berg", "via": "console"},
        "is_default": False, "position": 1, "version": "1", "updated_at": "2026-11-20T09:30:00Z",
    },
)  # fmt: skip
_decode = msgspec.json.Decoder(ViewContent).decode


async def get_views(call: Call) -> Response:
    """Handle `GET` of the views of a client, with those of all clients."""
    caller, client = await _named(call)
    person, store = _person(caller), call.api.dependencies.store
    views = await store.read(list_views(client.number, person))
    if client.number != OF_ALL_CLIENTS and not _is_key_of_client(caller):
        views += await store.read(list_views(OF_ALL_CLIENTS, person))
    views.sort(key=lambda shown: (shown[0].position, shown[0].name))
    await call.api.actors.load(view.author or None for view, _ in views)
    return Response(body=encode(ViewList([_out(call, view, client, is_default=is_default) for view, is_default in views])))


async def post_view(call: Call) -> Response:
    """Handle `POST` of a view."""
    caller, client = await _named(call)
    body, now = await call.body(NewView), call.api.dependencies.clock()
    content = ViewContent(body.where, body.q.strip(), body.sort.strip(), body.columns, body.layout)
    kind, is_shared = KINDS[body.kind], body.visibility == "shared"
    _check(call, client, kind, body.name, content)
    _may_share(caller, client, is_shared=is_shared)
    if client.number != OF_ALL_CLIENTS:
        call.api.storing(client, 1, now)
    view = View(client.number, 0, kind, _person(caller), is_shared, body.name.strip(), _text(content), body.position or 0, 1, now)
    await call.api.actors.load([view.author or None])
    path = call.path("client_id")

    def respond(stored: View) -> Response:
        location = (b"location", call.reached_at(f"/team/v1/views/{path}/{stored.id}"))
        return _response(call, stored, client, 201, headers=[location])

    command = add_view(client.number, view, body.position is None)
    return await call.write_and_respond(lambda writes: writes.write(command), respond)


async def patch_view(call: Call) -> Response:
    """Handle `PATCH` of a view."""
    caller, client = await _named(call)
    body, view = await call.body(ViewChange), await _found(call, caller, client)
    _may_change(call, caller, client, view)
    present = _decode(view.content)
    given = {name: value for name, value in msgspec.structs.asdict(body).items() if value is not UNSET}
    content = msgspec.structs.replace(present, **{name: given[name] for name in ViewContent.__struct_fields__ if name in given})
    name, is_shared = given.get("name", view.name), given.get("visibility", "shared" if view.is_shared else "private") == "shared"
    # What an erasure has struck from filters stays while they do.
    _check(call, client, view.kind, name, content if content != present else ViewContent())
    if is_shared and not view.is_shared:
        _may_share(caller, client, is_shared=True)
    changed = replace(
        view, name=name.strip(), is_shared=is_shared, content=_text(content), position=given.get("position", view.position),
        updated_us=call.api.dependencies.clock(),
    )  # fmt: skip
    store, person = call.api.dependencies.store, _person(caller)
    await call.api.actors.load([view.author or None])
    try:
        stored = await store.write(change_view(client.number, changed, person, tags_named(call)))
    except PreconditionFailed as refused:
        raise await _with_present(call, refused, client, view.id, person) from None
    return _response(call, stored, client)


async def delete_view(call: Call) -> Response:
    """Handle `DELETE` of a view."""
    caller, client = await _named(call)
    view, person = await _found(call, caller, client), _person(caller)
    _may_change(call, caller, client, view)
    try:
        await call.api.dependencies.store.write(remove_view(client.number, view.id, person, tags_named(call)))
    except PreconditionFailed as refused:
        raise await _with_present(call, refused, client, view.id, person) from None
    return Response(204)


async def put_default(call: Call) -> Response:
    """Handle `PUT` of the view that the caller's list begins with."""
    return await _set_default(call, is_default=True)


async def delete_default(call: Call) -> Response:
    """Handle `DELETE` of the view that the caller's list begins with."""
    return await _set_default(call, is_default=False)


async def _set_default(call: Call, *, is_default: bool) -> Response:
    caller, client = await _named(call)
    view = await _found(call, caller, client)
    await call.api.dependencies.store.write(set_default_view(client.number, view.id, _person(caller), is_default))
    return Response(204)


async def _named(call: Call) -> tuple[Principal, Client]:
    """Return the caller, and the client of the path or what stands for all."""
    caller = await call.principal(of_several=True)
    call.parameters().done()
    named = call.path("client_id")
    if named == EVERY_CLIENT and _is_key_of_client(caller):
        raise Forbidden("views of all clients are the team's: name the key's client in place of `all`")
    return caller, _EVERYBODY if named == EVERY_CLIENT else await call.visible_client(named, caller)


def _is_key_of_client(caller: Principal) -> bool:
    """Return whether a key of one client calls, which may be the client's own: names and filters of the team are none of its business."""
    return caller.user is None and caller.client is not None


def _person(caller: Principal) -> str:
    """Return the id of whose views these are: a personal key has those of its person."""
    return caller.user.id if caller.user is not None else caller.key.key_id if caller.key is not None else ""


async def _found(call: Call, caller: Principal, client: Client) -> View:
    view_id = record_id(call.path("view_id"))
    view = await call.api.dependencies.store.read(find_view(client.number, view_id or 0, _person(caller)))  # no view has the id 0
    if view is None:
        raise no_such_view(call.path("view_id"))
    return view


async def _with_present(call: Call, refused: PreconditionFailed, client: Client, id: int, person: str) -> PreconditionFailed:
    view = await call.api.dependencies.store.read(find_view(client.number, id, person))
    data = {} if view is None else {"present": msgspec.to_builtins(_out(call, view, client))}
    return PreconditionFailed(refused.detail, data=data)


def _may_change(call: Call, caller: Principal, client: Client, view: View) -> None:
    """Raise `Forbidden` unless the caller is the author, or an administrator of a shared view's client."""
    if view.author == _person(caller):
        return
    is_admin = ADMIN in (caller.scopes if caller.user is None else caller.user.scopes(client.number or None))
    if not is_admin or (client.number == OF_ALL_CLIENTS and _is_limited(caller)):
        author = call.api.actors.by(view.author or None, "").name or "another one"
        raise Forbidden(f"only its author, {author}, or an administrator may change a shared view: save one of your own")


def _may_share(caller: Principal, client: Client, *, is_shared: bool) -> None:
    if is_shared and client.number == OF_ALL_CLIENTS and _is_limited(caller):
        raise Forbidden("a view of all clients is shared by who may write for all clients: save it as private, or for one client")


def _is_limited(caller: Principal) -> bool:
    return caller.client is not None or caller.clients is not None


def _check(call: Call, client: Client, kind: int, name: str, content: ViewContent) -> None:
    """Raise `Invalid` for a name, filters, an order or columns that a view cannot have."""
    faults: list[Fault] = []
    if (why := why_not_storable(name)) is not None or is_blank(name):
        faults.append(Fault("/name", "unusable_text", why or "must have a visible character"))
    fields: set[str] = set()
    for place, column in enumerate(content.columns):
        if (why := why_not_storable(column.field)) is not None or is_blank(column.field):
            faults.append(Fault(f"/columns/{place}/field", "unusable_text", why or "must name a field, such as email"))
        elif column.field in fields:
            faults.append(Fault(f"/columns/{place}/field", "repeated", f"stands here twice; remove one {column.field[:60]!r}"))
        fields.add(column.field)
    request = SearchRequest((), content.where, content.q or None, content.sort or None, place="/")
    record_type: RecordType[Any] = RECORD_TYPES[kind]
    prepare(record_type, client, request, call.api.dependencies.clock(), faults)
    if (size := len(_text(content).encode())) > LARGEST_VIEW:
        raise Invalid(
            [Fault("/where", "too_large", f"the view has {size:,} bytes, at most {LARGEST_VIEW:,} are stored; send fewer values")]
        )


def _text(content: ViewContent) -> str:
    return msgspec.json.encode(content).decode()


def _out(call: Call, view: View, client: Client, *, is_default: bool = False) -> ViewOut:
    content = _decode(view.content)
    return ViewOut(
        **msgspec.structs.asdict(content), id=view.id, client_id=client.client_id if view.client else None, name=view.name,
        kind=_KIND_NAMES[view.kind],  # type: ignore[arg-type]
        visibility="shared" if view.is_shared else "private", author=call.api.actors.of(Author(view.author or None, None)),
        is_default=is_default, position=view.position, version=str(view.version), updated_at=to_text(view.updated_us),
    )  # fmt: skip


def _response(call: Call, view: View, client: Client, status: int = 200, headers: list[tuple[bytes, bytes]] | None = None) -> Response:
    tag = (ETAG, f'"{view.version}"'.encode())
    return Response(status, encode(_out(call, view, client)), headers=[tag, *(headers or ())])


_SHOWN = Success(200, "The view.", ViewOut, ("ETag",))
_WHOSE = "`all` in place of a client's id: views of all clients. "
ROUTES = [
    Route(
        "GET", PATH, get_views, scope=READ, operation_id="list_views", tag=TAG, summary="List views",
        description="The shared views of the client and of all clients, and one's own. A key of one client sees none of all clients.",
        success=(Success(200, "The views.", ViewList),),
        problems=(404,),
    ),
    Route(
        "POST", PATH, post_view, scope=WRITE, operation_id="create_view", tag=TAG, summary="Save a view",
        description=f"{_WHOSE}Up to {MOST_VIEWS} of a person here, each up to {LARGEST_VIEW // 1024} KB, and {MOST_CONTENT:,} characters "
        "with the shared ones. Who may write for all clients shares views of all.", body=NewView,
        success=(Success(201, "The view.", ViewOut, ("ETag", "Location")),), problems=(404, 409),
    ),
    Route(
        "PATCH", f"{PATH}/{{view_id}}", patch_view, scope=WRITE, operation_id="update_view", tag=TAG, summary="Change a view",
        description="For its author, or for administrators if it is shared. A 412 has the `present` view.", headers=(if_match("view"),),
        body=ViewChange, success=(_SHOWN,), problems=(404, 409, 412),
    ),
    Route(
        "DELETE", f"{PATH}/{{view_id}}", delete_view, scope=WRITE, operation_id="delete_view", tag=TAG, summary="Remove a view",
        description="For its author, or for administrators if it is shared.", headers=(if_match("view"),),
        success=(Success(204, "It is removed."),), problems=(404, 412),
    ),
    Route(
        "PUT", f"{PATH}/{{view_id}}/default", put_default, scope=READ, operation_id="set_default_view", tag=TAG,
        summary="Begin one's list with a view", description="Of the caller alone; one of a client goes before one of all clients.",
        success=(Success(204, "It is set."),), problems=(404,),
    ),
    Route(
        "DELETE", f"{PATH}/{{view_id}}/default", delete_default, scope=READ, operation_id="unset_default_view", tag=TAG,
        summary="Begin one's list with all records", description="Of the caller alone.", success=(Success(204, "It is set."),),
        problems=(404,),
    ),
]  # fmt: skip
