"""HTTP resources of clients and their settings, for administrators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from touchbase.auth import ADMIN
from touchbase.clients.commands import FormerIds
from touchbase.clients.models import (
    CLIENT_STATES,
    KEEP_BODIES_DAYS,
    KEEP_DELETED_DAYS,
    MOST_DAYS,
    MOST_STATUSES,
    Client,
    ClientLimits,
    ClientSettings,
    FieldType,
    FormerId,
    RequireVerification,
    StatusSet,
    SuppressOn,
)
from touchbase.clients.service import is_client_id
from touchbase.common import field_limits as limits
from touchbase.common.timestamps import to_text
from touchbase.errors import Fault, Invalid, NotFound
from touchbase.history import COMPANY, CONTACT
from touchbase.http import query_parameters as query
from touchbase.http.endpoint import Call
from touchbase.http.query_parameters import LIMIT, PAGE, cursor_text
from touchbase.http.responses import Response
from touchbase.http.routing import Route, Success, Tag
from touchbase.http.schemas import Time, encode, example, named_enum
from touchbase.records.api.schemas import FieldName
from touchbase.statuses import RecheckStatuses

MOST_OPTIONS = 500
named_enum("CustomFieldType", "The type of a declared custom field.", ("text", "number", "boolean", "date", "select"))
_STATE = named_enum("ClientState", "Whether a client's records are open, closed, or being removed.", CLIENT_STATES)
StatusName = Annotated[str, Meta(min_length=1, max_length=limits.STATUS)]
StatusNames = Annotated[list[StatusName], Meta(max_length=MOST_STATUSES)]


class StatusSetBody(Struct, forbid_unknown_fields=True):
    """The statuses of one kind of record, in order; `transitions` maps a status to the statuses that may follow it."""

    statuses: Annotated[list[StatusName], Meta(min_length=1, max_length=MOST_STATUSES)]
    transitions: Annotated[dict[StatusName, StatusNames], Meta(max_length=MOST_STATUSES)] = {}


class FieldTypeBody(Struct, forbid_unknown_fields=True):
    """A declared custom field: its type, and the choices of a select."""

    type: Literal["text", "number", "boolean", "date", "select"]
    options: Annotated[list[Annotated[str, Meta(min_length=1, max_length=limits.VALUE)]], Meta(max_length=MOST_OPTIONS)] = []


FieldTypes = Annotated[dict[FieldName, FieldTypeBody], Meta(max_length=limits.CUSTOM_FIELDS)]


OwnLimit = Annotated[int, Meta(ge=0, le=limits.LARGEST_ID)] | None


class LimitsBody(Struct, forbid_unknown_fields=True):
    """Limits of a client per second, in each server process; null: the server's limit, 0: no limit."""

    requests: OwnLimit = None
    rows: OwnLimit = None
    bytes: OwnLimit = None
    webhooks: OwnLimit = None
    webhook_bytes: OwnLimit = None


class RequireVerificationBody(Struct, forbid_unknown_fields=True):
    """The channels on which webhooks without verification are rejected, for every tool."""

    email_campaign: bool = False
    crm: bool = False


class SuppressOnBody(Struct, forbid_unknown_fields=True):
    """The events that put an e-mail address on the client's do-not-contact list."""

    unsubscribed: bool = True
    complained: bool = True
    hard_bounced: bool = True


class SettingsBody(Struct, forbid_unknown_fields=True):
    """A client's settings. A setting that is left out has its default; the defaults allow everything."""

    on_duplicate: Literal["error", "return", "update"] = "error"
    contact_statuses: StatusSetBody | None = None
    company_statuses: StatusSetBody | None = None
    contact_fields: FieldTypes = {}
    company_fields: FieldTypes = {}
    create_unknown: Annotated[bool, Meta(description="Whether an e-mail event for an unknown person creates the contact.")] = True
    linkedin_reply_counts: Annotated[bool, Meta(description="Whether a LinkedIn reply moves `last_reply_received`.")] = True
    limits: Annotated[
        LimitsBody | None, Meta(description="Limits in place of the server's. Only a key that belongs to no client may change them.")
    ] = None
    keep_bodies_days: (
        Annotated[int, Meta(ge=0, le=MOST_DAYS, description="Days to store the body of an applied delivery; null: no limit.")] | None
    ) = KEEP_BODIES_DAYS
    keep_deleted_days: Annotated[
        int, Meta(ge=1, le=MOST_DAYS, description="Days for which a deleted record can be restored, and a merge undone.")
    ] = KEEP_DELETED_DAYS
    require_verification: Annotated[
        RequireVerificationBody, Meta(description="By channel, whether webhooks of every tool must be verified.")
    ] = msgspec.field(default_factory=RequireVerificationBody)
    suppress_on: Annotated[
        SuppressOnBody, Meta(description="By reason, whether such events put the address on the do-not-contact list.")
    ] = msgspec.field(default_factory=SuppressOnBody)


class ClientRequest(Struct):
    """A client's new settings; read-only fields are ignored."""

    settings: SettingsBody


example(
    ClientRequest,
    {
        "settings": {
            "on_duplicate": "update",
            "contact_statuses": {"statuses": ["new", "contacted", "customer"], "transitions": {"customer": []}},
            "contact_fields": {"Seats": {"type": "number"}},
        }
    },
)


class DeletionOut(Struct):
    """Progress of the removal of a client's data."""

    started_time: Time
    removed_rows: int
    total_rows: Annotated[int | None, Meta(description="null: not counted yet, or too many to count.")]


class ClientOut(Struct):
    """One client."""

    client_id: Annotated[str, Meta(description="Its name in addresses and headers; treat it as a secret.")]
    name: Annotated[str, Meta(description="Its name for people; may be empty.")]
    state: Annotated[str, Meta(extra_json_schema=_STATE)]
    created_time: Time
    made_by: Annotated[
        str | None,
        Meta(description="administrator, or call: by the first request that named it. null: unknown, by an earlier version."),
    ]
    deletion: DeletionOut | None
    settings: SettingsBody


class FormerIdOut(Struct):
    """A former id of a client, and until when it is valid."""

    client_id: str
    valid_until: Time


class ClientDetail(ClientOut):
    """One client with its valid former ids."""

    former_ids: list[FormerIdOut]


class ClientPage(Struct):
    """A page of clients by `client_id`; `next_cursor` is null on the last one."""

    data: list[ClientOut]
    next_cursor: str | None


STATE = query.choice("state", CLIENT_STATES, member="state")
NAME = query.text("name", "Part of its name or id.", member="text")


async def clients(call: Call) -> Response:
    """`GET` of a page of clients; a key of one client shows only that client."""
    limited = await call.administrator()
    asked = call.parameters()
    after = asked.cursor("clients", str)
    asked.done()
    page, last = await call.api.clients.page(asked[LIMIT], after, only=limited, **asked.filters)
    return Response(body=encode(ClientPage([described(client) for client in page], last and cursor_text("clients", last))))


async def client(call: Call) -> Response:
    """`GET` of one client."""
    return Response(body=encode(await detailed(call, await one_client(call))))


async def one_client(call: Call) -> Client:
    """Return the client in the path; raise `NotFound` also if the key is limited to another client."""
    limited = await call.administrator()
    found = await call.api.clients.get(_name(call))
    if limited is not None and found.number != limited:
        raise NotFound(f"there is no client {_name(call)!r}")
    return found


async def put_client(call: Call) -> Response:
    """`PUT` of a client's settings; a missing client is created."""
    limited = await call.administrator()
    client_id = _name(call)
    if limited is not None:
        found = await call.api.clients.find(client_id)
        if found is None or found.number != limited:
            raise NotFound(f"there is no client {client_id!r}")
    asked = await call.body(ClientRequest, lambda partly: checked(partly.settings))
    decided = checked(asked.settings)
    changed, is_new = await call.api.clients.put(client_id, decided, keep_limits=limited is not None)
    if not is_new:
        await _recheck(call, changed)
    return Response(201 if is_new else 200, encode(await detailed(call, changed)))


async def _recheck(call: Call, client: Client) -> None:
    """Apply statuses that events asked for and the declared set did not have, if it has them now."""
    parts = call.api.dependencies
    for kind in (CONTACT, COMPANY):
        if await parts.store.write(RecheckStatuses(client.number, kind, parts.clock(), call.scope.get("touchbase.key_id"))) is not None:
            parts.on_job()


def checked(body: SettingsBody) -> ClientSettings:
    """Return validated settings; raise `Invalid` for contradictions."""
    faults: list[Fault] = []
    made = ClientSettings(
        on_duplicate=body.on_duplicate,
        contact_statuses=_statuses(body.contact_statuses, "/settings/contact_statuses", faults),
        company_statuses=_statuses(body.company_statuses, "/settings/company_statuses", faults),
        contact_fields=_fields(body.contact_fields, "/settings/contact_fields", faults),
        company_fields=_fields(body.company_fields, "/settings/company_fields", faults),
        create_unknown=body.create_unknown,
        linkedin_reply_counts=body.linkedin_reply_counts,
        limits=None if body.limits is None else ClientLimits(**msgspec.structs.asdict(body.limits)),
        keep_bodies_days=body.keep_bodies_days,
        keep_deleted_days=body.keep_deleted_days,
        require_verification=RequireVerification(body.require_verification.email_campaign, body.require_verification.crm),
        suppress_on=SuppressOn(**msgspec.structs.asdict(body.suppress_on)),
    )
    if faults:
        raise Invalid(faults)
    return made


def _statuses(body: StatusSetBody | None, pointer: str, faults: list[Fault]) -> StatusSet | None:
    if body is None:
        return None
    _check_words(body.statuses, f"{pointer}/statuses", faults)
    for before, after in body.transitions.items():
        for status in dict.fromkeys((before, *after)):
            if status not in body.statuses:
                faults.append(Fault(f"{pointer}/transitions", "status", f"{status!r} is not one of the statuses"))
    return StatusSet(body.statuses, body.transitions)


def _fields(body: dict[str, FieldTypeBody], pointer: str, faults: list[Fault]) -> dict[str, FieldType]:
    for name, field in body.items():
        if name != name.strip() or not name:
            faults.append(Fault(pointer, "blank", f"the name {name!r} must not be blank or have white space around it"))
        if (field.type == "select") != bool(field.options):
            detail = "a select needs its options" if field.type == "select" else "only a select has options"
            faults.append(Fault(_options_of(name, pointer), "options", detail))
        _check_words(field.options, _options_of(name, pointer), faults)
    return {name: FieldType(field.type, field.options) for name, field in body.items()}


def _options_of(name: str, pointer: str) -> str:
    return f"{pointer}/{name.replace('~', '~0').replace('/', '~1')}/options"


def _check_words(words: Sequence[str], pointer: str, faults: list[Fault]) -> None:
    """Check words: values are stored without white space around them, so a word with some would never match."""
    seen: set[str] = set()
    for index, word in enumerate(words):
        if word != word.strip() or not word:
            faults.append(Fault(f"{pointer}/{index}", "blank", "must not be blank or have white space around it"))
        elif word in seen:
            faults.append(Fault(f"{pointer}/{index}", "repeated", f"{word!r} is given twice"))
        seen.add(word)


def _name(call: Call) -> str:
    client_id = call.path("client_id")
    if not is_client_id(client_id):
        raise NotFound(f"there can be no client {client_id[:100]!r}: an id is 1 to 100 letters, digits and . _ ~ -")
    return client_id


def described(client: Client) -> ClientOut:
    """Return a client as lists show it."""
    settings = msgspec.convert(client.settings, SettingsBody, from_attributes=True)
    known = client.deletion
    deletion = None if known is None else DeletionOut(to_text(known.started_us), known.removed, known.total)
    return ClientOut(client.client_id, client.name, client.state, to_text(client.created_us), client.made_by, deletion, settings)


async def detailed(call: Call, client: Client) -> ClientDetail:
    """Return a client with its former ids."""
    return detail_of(client, await former_ids(call, client))


def detail_of(client: Client, former: Sequence[FormerId]) -> ClientDetail:
    """Return a client and its former ids as responses show them."""
    ids = [FormerIdOut(one.client_id, to_text(one.until_us)) for one in former]
    return ClientDetail(**msgspec.structs.asdict(described(client)), former_ids=ids)


async def former_ids(call: Call, client: Client) -> list[FormerId]:
    """Return the valid former ids."""
    return await call.api.dependencies.store.read(FormerIds(client.number, call.api.dependencies.clock()))


CLIENTS = Tag("Clients", "The organisations that records belong to, and their settings.")
ROUTES = [
    Route(
        "GET", "/admin/v1/clients", clients, scope=ADMIN, operation_id="list_clients", tag=CLIENTS, summary="List clients",
        description="Clients in the order of their ids. A key of one client sees that client only.",
        query=(*PAGE, STATE, NAME), success=(Success(200, "A page.", ClientPage),),
    ),
    Route(
        "GET", "/admin/v1/clients/{client_id}", client, scope=ADMIN, operation_id="get_client", tag=CLIENTS, summary="Get one client",
        description="Returns the client with its settings, its state, the progress of its deletion, and its former ids that "
        "are still valid.",
        success=(Success(200, "The client.", ClientDetail),),
    ),
    Route(
        "PUT", "/admin/v1/clients/{client_id}", put_client, scope=ADMIN, operation_id="put_client", tag=CLIENTS,
        summary="Replace a client's settings, or create the client",
        description="Replaces all settings of the client: a setting that is left out gets its default. An unknown client is created.",
        body=ClientRequest, problems=(409,),
        success=(Success(200, "The client as it is now.", ClientDetail), Success(201, "The new client.", ClientDetail)),
    ),
]  # fmt: skip
