"""Clients and their settings, as the administrator reads and replaces them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from touchbase.clients.commands import FormerIds
from touchbase.clients.models import (
    CLIENT_STATES,
    KEEP_BODIES_DAYS,
    MOST_DAYS,
    Client,
    ClientLimits,
    ClientSettings,
    FieldType,
    FormerId,
    RequireVerification,
    StatusSet,
)
from touchbase.clients.service import is_client_id
from touchbase.common import field_limits as limits
from touchbase.common.timestamps import to_text
from touchbase.errors import Fault, Invalid, NotFound
from touchbase.http.endpoint import Call
from touchbase.http.json_body import read_json, read_struct
from touchbase.http.query_parameters import Parameters, cursor_text
from touchbase.http.responses import Response
from touchbase.http.schemas import Time, encode
from touchbase.records.api.schemas import FieldName

MOST_STATUSES = 200
MOST_OPTIONS = 500
StatusName = Annotated[str, Meta(min_length=1, max_length=limits.STATUS)]
StatusNames = Annotated[list[StatusName], Meta(max_length=MOST_STATUSES)]


class StatusSetBody(Struct, forbid_unknown_fields=True):
    """The statuses of one kind of record, in order; `transitions` maps one to those that may follow it."""

    statuses: Annotated[list[StatusName], Meta(min_length=1, max_length=MOST_STATUSES)]
    transitions: Annotated[dict[StatusName, StatusNames], Meta(max_length=MOST_STATUSES)] = {}


class FieldTypeBody(Struct, forbid_unknown_fields=True):
    """A declared custom field: its type, and the choices of a select."""

    type: Literal["text", "number", "boolean", "date", "select"]
    options: Annotated[list[Annotated[str, Meta(min_length=1, max_length=limits.VALUE)]], Meta(max_length=MOST_OPTIONS)] = []


FieldTypes = Annotated[dict[FieldName, FieldTypeBody], Meta(max_length=limits.CUSTOM_FIELDS)]


OwnLimit = Annotated[int, Meta(ge=0, le=limits.LARGEST_ID)] | None


class LimitsBody(Struct, forbid_unknown_fields=True):
    """What a client may do in a second, in each server process; null: what the server's settings say, 0: no limit."""

    requests: OwnLimit = None
    rows: OwnLimit = None
    bytes: OwnLimit = None
    webhooks: OwnLimit = None
    webhook_bytes: OwnLimit = None


class RequireVerificationBody(Struct, forbid_unknown_fields=True):
    """The channels on which a webhook call that proves nothing is refused, whichever tool sends it."""

    email_campaign: bool = False
    crm: bool = False


class SettingsBody(Struct, forbid_unknown_fields=True):
    """What a client has decided. Whatever is left out has its default: everything is open and welcome."""

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
        Annotated[int, Meta(ge=0, le=MOST_DAYS, description="Days that the body of an applied call is kept; null: for ever.")] | None
    ) = KEEP_BODIES_DAYS
    require_verification: Annotated[
        RequireVerificationBody, Meta(description="By channel, whether webhook calls of every tool must prove who sends them.")
    ] = msgspec.field(default_factory=RequireVerificationBody)


class ClientRequest(Struct):
    """A client's new settings; the fields that only we set are ignored."""

    settings: SettingsBody


class DeletionOut(Struct):
    """How far the removal of a client's data has come."""

    started_time: Time
    removed_rows: int
    total_rows: Annotated[int | None, Meta(description="null: not counted yet, or too many to be counted.")]


class ClientOut(Struct):
    """One client."""

    client_id: Annotated[str, Meta(description="Its name in addresses and headers; treat it as a secret.")]
    name: Annotated[str, Meta(description="Its name for people; may be empty.")]
    state: Annotated[str, Meta(extra_json_schema={"enum": list(CLIENT_STATES)})]
    created_time: Time
    made_by: Annotated[
        str | None, Meta(description="administrator, or call: the first call that named it made it. null: older, and not known.")
    ]
    deletion: DeletionOut | None
    settings: SettingsBody


class FormerIdOut(Struct):
    """A former id of a client, and until when it is honoured."""

    client_id: str
    valid_until: Time


class ClientDetail(ClientOut):
    """One client with the former ids that are still honoured."""

    former_ids: list[FormerIdOut]


class ClientPage(Struct):
    """A page of clients by `client_id`; `next_cursor` is null on the last one."""

    data: list[ClientOut]
    next_cursor: str | None


_decoder = msgspec.json.Decoder(ClientRequest)


async def clients(call: Call) -> Response:
    """`GET` of a page of clients; a key of one client sees that one only."""
    limited = await call.administrator()
    parameters = Parameters(call.query)
    state, text = parameters.choice("state", CLIENT_STATES), parameters.text("name")
    limit, after = parameters.limit(), parameters.cursor("clients", str)
    parameters.done(strict=True)
    page, last = await call.api.clients.page(limit, after, state=state, text=text, only=limited)
    return Response(body=encode(ClientPage([described(client) for client in page], last and cursor_text("clients", last))))


async def client(call: Call) -> Response:
    """`GET` of one client."""
    return Response(body=encode(await detailed(call, await one_client(call))))


async def one_client(call: Call) -> Client:
    """The client that the path names; `NotFound` also when this administrator may not know it."""
    limited = await call.administrator()
    found = await call.api.clients.get(_name(call))
    if limited is not None and found.number != limited:
        raise NotFound(f"there is no client {_name(call)!r}")
    return found


async def put_client(call: Call) -> Response:
    """`PUT` of a client's settings; one that is not there comes into being."""
    limited = await call.administrator()
    client_id = _name(call)
    if limited is not None:
        found = await call.api.clients.find(client_id)
        if found is None or found.number != limited:
            raise NotFound(f"there is no client {client_id!r}")
    body = await read_json(call.receive, call.headers, call.api.parts.limits)
    asked = read_struct(body, _decoder, ClientRequest, lambda partly: checked(partly.settings))
    decided = checked(asked.settings)
    changed, is_new = await call.api.clients.put(client_id, decided, keep_limits=limited is not None)
    return Response(201 if is_new else 200, encode(await detailed(call, changed)))


def checked(body: SettingsBody) -> ClientSettings:
    """The settings in our words; raises `Invalid` where they contradict themselves."""
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
        require_verification=RequireVerification(body.require_verification.email_campaign, body.require_verification.crm),
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
    """Values lose the white space around them, so a word with some could be nobody's value."""
    seen: set[str] = set()
    for place, word in enumerate(words):
        if word != word.strip() or not word:
            faults.append(Fault(f"{pointer}/{place}", "blank", "must not be blank or have white space around it"))
        elif word in seen:
            faults.append(Fault(f"{pointer}/{place}", "repeated", f"{word!r} is given twice"))
        seen.add(word)


def _name(call: Call) -> str:
    client_id = call.path("client_id")
    if not is_client_id(client_id):
        raise NotFound(f"there can be no client {client_id[:100]!r}: an id is 1 to 100 letters, digits and . _ ~ -")
    return client_id


def described(client: Client) -> ClientOut:
    """A client as it is shown."""
    settings = msgspec.convert(client.settings, SettingsBody, from_attributes=True)
    known = client.deletion
    deletion = None if known is None else DeletionOut(to_text(known.started_us), known.removed, known.total)
    return ClientOut(client.client_id, client.name, client.state, to_text(client.created_us), client.made_by, deletion, settings)


async def detailed(call: Call, client: Client) -> ClientDetail:
    """A client as it is shown alone."""
    return detail_of(client, await former_ids(call, client))


def detail_of(client: Client, former: Sequence[FormerId]) -> ClientDetail:
    """A client and its former ids as they are shown."""
    ids = [FormerIdOut(one.client_id, to_text(one.until_us)) for one in former]
    return ClientDetail(**msgspec.structs.asdict(described(client)), former_ids=ids)


async def former_ids(call: Call, client: Client) -> list[FormerId]:
    """The former ids that are still honoured."""
    return await call.api.parts.store.read(FormerIds(client.number, call.api.parts.clock()))
