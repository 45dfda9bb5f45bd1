"""`POST .../match`: find known people and companies, with status and last mails."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Raw, Struct

from touchbase.auth.authentication import ADMIN, READ
from touchbase.common.slices import in_slices
from touchbase.common.timestamps import Micros
from touchbase.do_not_contact.models import LINKEDIN_URL, Addresses
from touchbase.do_not_contact.sql.lookup import find_suppressed
from touchbase.errors import Fault, Invalid
from touchbase.history.events import CONTACT
from touchbase.http.endpoint import Call
from touchbase.http.request_body import NUL, read_struct
from touchbase.http.responses import Response
from touchbase.http.routing import Route, Success, Tag
from touchbase.http.schemas import encode
from touchbase.records.api.match_schemas import (
    MAX_ITEMS,
    ClientCompanyMatch,
    ClientContactMatch,
    CompanyClientMatches,
    CompanyClients,
    CompanyMatch,
    CompanyMatches,
    CompanyMatchItem,
    CompanyMatchRequest,
    ContactClientMatches,
    ContactClients,
    ContactMatch,
    ContactMatches,
    ContactMatchItem,
    ContactMatchRequest,
    MatchError,
)
from touchbase.records.api.resource_type import ResourceType, to_text
from touchbase.records.api.upsert import match_fields
from touchbase.records.fields import Field
from touchbase.records.sql import lookup as sql_lookup
from touchbase.records.sql.lookup import Key, Match, match_records, others_named
from touchbase.sql.store import Store

T = TypeVar("T")


class _Request(Struct, forbid_unknown_fields=True):
    items: Annotated[list[Raw], Meta(min_length=1, max_length=MAX_ITEMS)]


class _ContactItem(ContactMatchItem, forbid_unknown_fields=True):
    pass


class _ContactItems(Struct, forbid_unknown_fields=True):
    items: Annotated[list[_ContactItem], Meta(min_length=1, max_length=MAX_ITEMS)]


class _CompanyItem(CompanyMatchItem, forbid_unknown_fields=True):
    pass


class _CompanyItems(Struct, forbid_unknown_fields=True):
    items: Annotated[list[_CompanyItem], Meta(min_length=1, max_length=MAX_ITEMS)]


@dataclass(frozen=True, slots=True)
class _Shapes:
    """The bodies of one type of record."""

    request: type[Struct]
    item: type[Struct]
    items: type[Struct]
    """A request whose items are all valid."""
    response: type[Struct]
    all_clients: type[Struct]
    result: Callable[..., Any]
    clients: Callable[..., Any]
    client: Callable[..., Any]


_SHAPES = {
    "contact": _Shapes(
        ContactMatchRequest, _ContactItem, _ContactItems, ContactMatches, ContactClientMatches, ContactMatch, ContactClients,
        ClientContactMatch,
    ),
    "company": _Shapes(
        CompanyMatchRequest, _CompanyItem, _CompanyItems, CompanyMatches, CompanyClientMatches, CompanyMatch, CompanyClients,
        ClientCompanyMatch,
    ),
}  # fmt: skip
_request = msgspec.json.Decoder(_Request)
Keys = list[Key] | MatchError
"""The keys of an item, and its `linkedin_url` as it was sent; or why it has none."""


async def mark_suppressed(
    store: Store, client: int, kind: int, keys: Sequence[Keys], matches: Mapping[Key, Match], results: Sequence[Any], now: Micros
) -> None:
    """Set `suppressed` of each result: why the item's addresses, or its record, must not be contacted."""
    items = [(result, addresses) for result, of in zip(results, keys, strict=True) for addresses in _addresses(kind, of, matches)]
    reasons = await store.read(find_suppressed(client, [addresses for _, addresses in items], now))
    for (result, _), reason in zip(items, reasons, strict=True):
        if reason is not None and result.suppressed is None:
            result.suppressed = reason.reason


def _addresses(kind: int, keys: Keys, matches: Mapping[Key, Match]) -> list[Addresses]:
    """Return the addresses of an item, then its contact with all that it has."""
    if isinstance(keys, MatchError):
        return []
    values = dict(keys)
    sent = Addresses(values.get("email_key"), values.get("linkedin_key"), values.get("domain"))
    match = next((match for key in keys if (match := matches.get(key)) is not None), None)
    url = values.get(LINKEDIN_URL)
    if match is None or kind != CONTACT:
        return [replace(sent, linkedin_url=url)]
    stored = Addresses(match.email_key, match.linkedin_key, match.company_domain, match.id, match.status)
    is_stored = sent.email in (None, stored.email) and sent.linkedin in (None, stored.linkedin)
    return [replace(stored, linkedin_url=url)] if is_stored else [replace(sent, linkedin_url=url), stored]


class MatchResource:
    """The handlers of lookups of one type of record."""

    def __init__(self, kind: ResourceType[Any, Any, Any]) -> None:
        self._shapes = _SHAPES[kind.type.name]
        self._name, self._kind, self._fields = kind.type.name, kind.type.kind, match_fields(kind)
        self._decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(self._shapes.item)
        self._batch_decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(self._shapes.items)

    async def match(self, call: Call) -> Response:
        """`POST` of items, for one client."""
        client = await call.client()
        call.parameters().done()
        keys, store = await self._keys(call), call.api.dependencies.store
        matches = await store.read(match_records(client.number, self._kind, _all(keys)))
        results = [self._result(key, matches) for key in keys]
        await self._refuse_others(store, client.number, keys, matches, results)
        await mark_suppressed(store, client.number, self._kind, keys, matches, results, call.api.dependencies.clock())
        return Response(body=encode({"data": results}))

    async def match_everywhere(self, call: Call) -> Response:
        """`POST` of items, for an administrator: the clients that have each."""
        only = await call.administrator()
        call.parameters().done()
        keys = await self._keys(call)
        matches = await call.api.dependencies.store.read(sql_lookup.match_everywhere(only, self._kind, _all(keys)))
        if matches is None:
            raise Invalid([Fault("/items", "too_many", "are too many for the number of clients; send fewer at once")])
        return Response(body=encode({"data": [self._clients(key, matches) for key in keys]}))

    async def _keys(self, call: Call) -> list[Keys]:
        body = await call.json()
        with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            if NUL not in body:  # as `read_struct`; usually all items are valid, and decoding them at once saves a third of the time
                return [self._keys_of(item) async for item in in_slices(self._batch_decoder.decode(body).items)]
        request = read_struct(body, _request, _Request, lambda partly: None)
        return [self._decoded(raw) async for raw in in_slices(request.items)]

    def _decoded(self, raw: Raw) -> Keys:
        try:
            return self._keys_of(read_struct(bytes(raw), self._decoder, self._shapes.item, lambda partly: None))
        except Invalid as invalid:
            return _error(invalid.faults)

    def _keys_of(self, item: Any) -> Keys:
        faults: list[Fault] = []
        keys = [(field.key, key) for field in self._fields.values() if (key := _key(field, getattr(item, field.name), faults)) is not None]
        if not keys and not faults:
            faults.append(Fault("", "required", f"must have {' or '.join(self._fields)}"))
        if keys and (text := getattr(item, LINKEDIN_URL, None)):
            keys.append((LINKEDIN_URL, text))
        return _error(faults) if faults else keys

    def _result(self, keys: Keys, matches: Mapping[Key, Match]) -> Any:
        if isinstance(keys, MatchError):
            return self._shapes.result(error=keys)
        by_id = {match.id: match for key in keys if (match := matches.get(key)) is not None}
        if len(by_id) > 1:
            several = " and ".join(map(str, sorted(by_id)))
            return self._shapes.result(error=MatchError("ambiguous", f"these are of {self._name}s {several}; send one of them"))
        match = next(iter(by_id.values()), None)
        return self._shapes.result() if match is None else self._shapes.result(*_shown(self._name, match))

    async def _refuse_others(
        self, store: Store, client: int, keys: Sequence[Keys], matches: Mapping[Key, Match], results: list[Any]
    ) -> None:
        """Replace results whose item names another person's e-mail address beside a contact's profile by an error."""
        named: dict[int, tuple[int, str, str | None]] = {}
        for place, of in enumerate(keys):
            values = {} if isinstance(of, MatchError) else dict(of)
            match = matches.get(("linkedin_key", values.get("linkedin_key", "")))
            if match is not None and match.email_key is not None and (email := values.get("email_key")) not in (None, match.email_key):
                named[place] = match.id, str(email), values.get("external_id")
        if not named:
            return
        others = await store.read(others_named(client, [*named.values()]))
        for place in (place for number, place in enumerate(named) if number in others and results[place].id is not None):
            detail = f"contact {named[place][0]} has this linkedin_url, and another email; send one of them"
            results[place] = self._shapes.result(error=MatchError("ambiguous", detail))

    def _clients(self, keys: Keys, matches: Mapping[Key, list[Match]]) -> Any:
        if isinstance(keys, MatchError):
            return self._shapes.clients([], keys)
        by_client = {(match.client_id, match.id): match for key in keys for match in matches.get(key, ())}
        return self._shapes.clients([self._shapes.client(key[0], *_shown(self._name, by_client[key])) for key in sorted(by_client)])


def _key(field: Field, value: object, faults: list[Fault]) -> str | None:
    if not isinstance(value, str) or not value.strip():
        return None
    if field.normalize is None:
        return value.strip()
    return field.normalize(value.strip(), f"/{field.name}", faults)


def _all(keys: Sequence[Keys]) -> list[Key]:
    return sorted({key for item in keys if not isinstance(item, MatchError) for key in item if key[0] != LINKEDIN_URL})


def _error(faults: Sequence[Fault]) -> MatchError:
    return MatchError(faults[0].code, "; ".join(f"{fault.pointer} {fault.detail}".strip() for fault in faults))


def _shown(name: str, match: Match) -> tuple[Any, ...]:
    if name == "company":
        return match.id, match.status
    times = (None if at is None else to_text(at) for at in (match.last_sent_us, match.last_reply_us))
    return match.id, match.status, *times


def match_routes(kind: ResourceType[Any, Any, Any], tag: Tag) -> list[Route]:
    """Return the routes of lookups of one type of record."""
    handlers, many, shapes = MatchResource(kind), kind.type.plural, _SHAPES[kind.type.name]
    items = f"Up to {MAX_ITEMS:,} items, each with {' or '.join(match_fields(kind))}; one entry for each in their order. An invalid or "
    items += "ambiguous item has an `error` in its entry and does not affect the others. Nothing is stored. "
    return [
        Route(
            "POST", f"{kind.path}/match", handlers.match, scope=READ, operation_id=f"match_{many}", tag=tag, keyed=False,
            summary=f"Look up many {many} at once",
            description=f"{items}Ask this before you pay for enrichment or push a list.", body=shapes.request,
            success=(Success(200, "The entries.", shapes.response),),
        ),
        Route(
            "POST", f"/admin/v1/{many}/match", handlers.match_everywhere, scope=ADMIN, operation_id=f"match_{many}_of_all_clients", tag=tag,
            keyed=False, summary=f"Look up many {many} in all clients",
            description=f"{items}An entry has the clients that know the item. A key of one client sees that client only.",
            body=shapes.request, success=(Success(200, "The entries.", shapes.all_clients),), problems=(422,),
        ),
    ]  # fmt: skip
