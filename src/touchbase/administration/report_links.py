"""HTTP resources of report links: who has one reads the report of one client without signing in.

A link is stored as a key with the one scope `report`: only its hash, with an end. `report_page.py` shows the report.
"""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlencode

import msgspec
from msgspec import Meta, Struct

from touchbase.administration.keys import KEY_STATE
from touchbase.administration.report_page import PATH as PAGE_PATH
from touchbase.administration.report_page import PERIODS, USUAL_DAYS
from touchbase.auth import sql
from touchbase.auth.api_key import ACTIVE, REPORT_LINK, ApiKey
from touchbase.auth.authentication import ADMIN
from touchbase.auth.service import make_key
from touchbase.auth.sql import find_key, revoke_key, store_key
from touchbase.common import field_limits as limits
from touchbase.common.timestamps import DAY, Micros, is_zone, to_text, to_text_or_none
from touchbase.errors import Fault, Invalid, NotFound
from touchbase.http.endpoint import Call
from touchbase.http.responses import Response
from touchbase.http.routing import Route, Success, Tag
from touchbase.http.schemas import MaybeTime, Time, encode, example

TAG = Tag("Links", "Links by which somebody reads the report of one client without signing in.")
PATH = "/admin/v1/clients/{client_id}/report-links"
USUAL_LIFE, LONGEST_LIFE = 30, 365
"""Days."""
MOST_LINKS = 100
"""Links of one client that have not ended."""
LISTED = 200
"""The newest links that a list has."""


class NewReportLink(Struct, forbid_unknown_fields=True):
    """A new link."""

    name: Annotated[str, Meta(min_length=1, max_length=limits.NAME, description="Who gets it; not shown to readers.")]
    days: Annotated[int, Meta(ge=1, le=LONGEST_LIFE, description="Days after which it ends.")] = USUAL_LIFE
    period: Annotated[int, Meta(ge=1, le=LONGEST_LIFE, description="Days of the report at first: 7, 30, 90 or 365.")] = USUAL_DAYS
    time_zone: Annotated[str, Meta(max_length=64, description="IANA name of the zone in which its days begin.")] = "UTC"


class ReportLinkOut(Struct):
    """One link; responses contain its address only when it is new."""

    id: str
    name: str
    state: Annotated[str, Meta(extra_json_schema=KEY_STATE, description="As of keys: an active one shows the report.")]
    created_at: Time
    expires_at: Annotated[Time, Meta(description="When it ends.")]
    revoked_at: Annotated[MaybeTime, Meta(description="When an administrator ended it.")]
    last_used_at: Annotated[MaybeTime, Meta(description="When the report was read last, to the minute.")]


class NewReportLinkOut(ReportLinkOut):
    """A new link."""

    url: (
        Annotated[str, Meta(description="Its address, shown once: the response to a repeat with the same Idempotency-Key leaves it out.")]
        | msgspec.UnsetType
    ) = msgspec.UNSET


class ReportLinkList(Struct):
    """The links of a client, the newest first."""

    data: list[ReportLinkOut]


_LINK = {
    "id": "5f3a9c1e7b20", "name": "Dana at Acme", "state": "active", "created_at": "2026-11-20T09:30:00Z",
    "expires_at": "2026-12-20T09:30:00Z", "revoked_at": None, "last_used_at": "2026-11-21T08:00:00Z",
}  # fmt: skip
example(NewReportLink, {"name": "Dana at Acme", "days": 90, "period": 30, "time_zone": "Europe/Berlin"})
example(ReportLinkOut, _LINK)
example(NewReportLinkOut, _LINK | {"last_used_at": None, "url": "https://touchbase.example/report/tb_report_...?days=30"})


async def get_links(call: Call) -> Response:
    """Handle `GET` of the links of a client."""
    client = await call.client_in_path()
    call.parameters().done()
    parts = call.api.dependencies
    links = await parts.store.read(sql.list_keys(LISTED, parts.clock(), client.number, are_links=True))
    return Response(body=encode(ReportLinkList([_out(link, parts.clock()) for link in links])))


async def post_link(call: Call) -> Response:
    """Handle `POST` of a new link; only this response contains its address."""
    client = await call.client_in_path()
    call.parameters().done()
    body, parts = await call.body(NewReportLink, _check), call.api.dependencies
    _check(body)
    at = parts.clock()
    active = await parts.store.read(sql.list_keys(MOST_LINKS, at, client.number, ACTIVE, are_links=True))
    if len(active) >= MOST_LINKS:
        raise Invalid([Fault("", "too_many", f"the client has {MOST_LINKS} report links that have not ended; revoke one first")])
    new = make_key(REPORT_LINK)
    link = ApiKey(
        new.key_id, new.digest, (REPORT_LINK,), client.number, body.name.strip(), at, REPORT_LINK, expires_us=at + body.days * DAY
    )
    path = PAGE_PATH.format(token=new.text)
    host = call.headers.get(b"host", b"").decode("latin-1")
    scheme = "https" if call.api.is_https(call.scope) else "http"
    url = f"{parts.public_url or (f'{scheme}://{host}' if host else '')}{path}?{urlencode({'days': body.period, 'zone': body.time_zone})}"
    plain = _out(link, at)

    def shown(_: object) -> Response:
        new_link = NewReportLinkOut(**msgspec.structs.asdict(plain), url=url)
        return Response(201, encode(new_link), headers=[(b"cache-control", b"no-store")], stored_body=encode(plain))

    return await call.write_and_respond(lambda writes: writes.write(store_key(link)), shown)


async def delete_link(call: Call) -> Response:
    """Handle `DELETE`: the link shows nothing more, in this process at once, in others within a second."""
    client, link_id = await call.client_in_path(), call.path("link_id")
    call.parameters().done()
    link = await call.api.dependencies.store.read(find_key(link_id))
    if link is None or not link.is_report_link or link.client != client.number:
        raise NotFound("the client has no such report link; GET .../report-links lists all")
    await call.api.dependencies.store.write(revoke_key(link_id, call.api.dependencies.clock()))
    call.api.authenticator.forget(link_id)
    return Response(204)


def _check(body: NewReportLink) -> None:
    faults: list[Fault] = []
    if limits.is_blank(body.name):
        faults.append(Fault("/name", "blank", "must say who gets the link"))
    if body.period not in PERIODS:
        faults.append(Fault("/period", "choice", f"must be one of {', '.join(map(str, PERIODS))}"))
    if not is_zone(body.time_zone):
        faults.append(Fault("/time_zone", "time_zone", "must be an IANA name such as Europe/Berlin or UTC"))
    if faults:
        raise Invalid(faults)


def _out(link: ApiKey, at: Micros) -> ReportLinkOut:
    return ReportLinkOut(
        link.key_id, link.name, link.state(at), to_text(link.created_us), to_text(link.expires_us or 0),
        to_text_or_none(link.revoked_us), to_text_or_none(link.last_used_us),
    )  # fmt: skip


ROUTES = [
    Route(
        "GET", PATH, get_links, scope=ADMIN, operation_id="list_report_links", tag=TAG, summary="List the report links of a client",
        description=f"The newest {LISTED}, ended ones too, without their addresses.",
        success=(Success(200, "The links.", ReportLinkList),),
    ),
    Route(
        "POST", PATH, post_link, scope=ADMIN, operation_id="create_report_link", tag=TAG, summary="Create a report link",
        description="Whoever has the link reads the report of this client without signing in: numbers by day, campaign, step and label, no "
        "people, no other client. Its address is shown only in this response; only a hash is stored. It ends after `days`.",
        body=NewReportLink, success=(Success(201, "The link.", NewReportLinkOut),),
    ),
    Route(
        "DELETE", f"{PATH}/{{link_id}}", delete_link, scope=ADMIN, operation_id="revoke_report_link", tag=TAG,
        summary="Revoke a report link", description="Takes effect in this process at once, in others within a second.",
        success=(Success(204, "The link shows nothing more."),),
    ),
]  # fmt: skip
