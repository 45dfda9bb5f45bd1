"""HTTP resource of pairs of records that are not the same: shared by all people, listed, and taken back."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct

from touchbase.auth.authentication import READ, WRITE
from touchbase.clients.models import Client
from touchbase.common.timestamps import to_text
from touchbase.errors import Fault, Invalid
from touchbase.history.events import COMPANY, CONTACT, Author
from touchbase.http.actors import Actor
from touchbase.http.endpoint import Call, author_of
from touchbase.http.query_parameters import LARGEST_PAGE, LIMIT, PAGE, cursor_text, record_id
from touchbase.http.responses import Response
from touchbase.http.routing import Route, Success, Tag
from touchbase.http.schemas import PageOf, RecordId, Time, encode, example
from touchbase.records.record_type import RECORD_TYPES
from touchbase.records.sql.distinct_pairs import add_distinct_pair, list_distinct_pairs, remove_distinct_pair

TAG = Tag("Duplicates", "Pairs of records that a person said are not the same. Nobody sees them among the duplicates any more.")
PATH = "/team/v1/distinct-pairs/{client_id}"


class DistinctPairOut(Struct):
    """Two records that are not the same, the lower id first."""

    ids: Annotated[list[RecordId], Meta(min_length=2, max_length=2, description="The ids of both.")]
    actor: Annotated[Actor, Meta(description="Who said so.")]
    at: Time


class DistinctPairPage(PageOf[DistinctPairOut]):
    """A page of pairs, by their ids; `next_cursor` is null on the last one."""


class DistinctPairBody(Struct, forbid_unknown_fields=True):
    """Two records that are not the same."""

    ids: Annotated[list[RecordId], Meta(min_length=2, max_length=2, description="The ids of both.")]


_ACTOR = {"type": "user", "id": "u3f9a1c27b0d", "name": "Mira Berg", "via": "console"}
example(DistinctPairOut, {"ids": [1042, 1057], "actor": _ACTOR, "at": "2026-11-20T09:30:00Z"})
example(DistinctPairBody, {"ids": [1042, 1057]})


class DistinctPairs:
    """The handlers for one kind of record."""

    def __init__(self, kind: int) -> None:
        self._kind = kind

    async def _client(self, call: Call) -> Client:
        caller = await call.principal(of_several=True)
        return await call.visible_client(call.path("client_id"), caller)

    async def list(self, call: Call) -> Response:
        """Handle `GET` of a page of pairs."""
        client, parameters, listing = await self._client(call), call.parameters(), f"distinct {self._kind}"
        after: Any = parameters.cursor(listing, tuple[int, int])
        parameters.done()
        limit = min(parameters[LIMIT], LARGEST_PAGE)
        pairs = await call.api.dependencies.store.read(list_distinct_pairs(client.number, self._kind, limit + 1, after))
        page = pairs[:limit]
        await call.api.actors.load(pair.author or None for pair in page)
        authors = [call.api.actors.of(Author(pair.author or None, None)) for pair in page]
        data = [
            DistinctPairOut([pair.first_id, pair.second_id], author, to_text(pair.created_us))
            for pair, author in zip(page, authors, strict=True)
        ]
        cursor = cursor_text(listing, (page[-1].first_id, page[-1].second_id)) if len(pairs) > limit else None
        return Response(body=encode(DistinctPairPage(data, cursor)))

    async def add(self, call: Call) -> Response:
        """Handle `POST` of a pair."""
        client = await self._client(call)
        call.parameters().done()
        body = await call.body(DistinctPairBody, _check)
        _check(body)
        by, now = author_of(call.scope), call.api.dependencies.clock()
        command = add_distinct_pair(client.number, self._kind, (min(body.ids), max(body.ids)), by.key_id or "", now)
        return await call.write_and_respond(lambda writes: writes.write(command), lambda _: Response(204))

    async def remove(self, call: Call) -> Response:
        """Handle `DELETE` of a pair."""
        client = await self._client(call)
        call.parameters().done()
        ids = sorted((record_id(call.path("id")) or 0, record_id(call.path("other_id")) or 0))  # no record has the id 0
        await call.api.dependencies.store.write(remove_distinct_pair(client.number, self._kind, (ids[0], ids[1])))
        return Response(204)


def _check(body: DistinctPairBody) -> None:
    if len(set(body.ids)) < len(body.ids):
        raise Invalid([Fault("/ids", "repeated", "must be two different records")])


def _routes(kind: int) -> list[Route]:
    pairs, many = DistinctPairs(kind), RECORD_TYPES[kind].plural
    path = f"{PATH}/{many}"
    return [
        Route(
            "GET", path, pairs.list, scope=READ, operation_id=f"list_distinct_{many}", tag=TAG,
            summary=f"List pairs of {many} that are not the same", description="Of records that exist, by their ids.", query=PAGE,
            success=(Success(200, "A page.", DistinctPairPage),), problems=(404,),
        ),
        Route(
            "POST", path, pairs.add, scope=WRITE, operation_id=f"add_distinct_{many}", tag=TAG,
            summary=f"Say that two {many} are not the same",
            description="They are no longer listed as duplicates, for anybody. A merge takes it along to the survivor.",
            body=DistinctPairBody, success=(Success(204, "It is stored."),), problems=(404,),
        ),
        Route(
            "DELETE", f"{path}/{{id}}/{{other_id}}", pairs.remove, scope=WRITE, operation_id=f"remove_distinct_{many}", tag=TAG,
            summary=f"Let two {many} be duplicates again", description="In either order of the ids.",
            success=(Success(204, "They may be listed again."),), problems=(404,),
        ),
    ]  # fmt: skip


ROUTES = [*_routes(CONTACT), *_routes(COMPANY)]
