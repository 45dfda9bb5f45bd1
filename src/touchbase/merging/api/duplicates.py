"""HTTP resource of duplicates, for contacts and companies."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct

from touchbase.auth.authentication import READ
from touchbase.clients.models import ACTIVE, Client
from touchbase.http.endpoint import Call
from touchbase.http.query_parameters import CLIENT, LIMIT, PAGE, Parameter, Parameters, cursor_text
from touchbase.http.responses import Response
from touchbase.http.routing import Route, Success, Tag
from touchbase.http.schemas import EXAMPLES, PageOf, encode, example, fitting, named_enum
from touchbase.merging.duplicates import Cursor, Pair, find_duplicates
from touchbase.merging.similarity import REASONS
from touchbase.records.api.parameters import FLAT
from touchbase.records.api.resource import COMPANY_TAG, CONTACT_TAG
from touchbase.records.api.resource_type import COMPANIES, CONTACTS, ResourceType
from touchbase.records.api.schemas import CompanyResponse, ContactResponse
from touchbase.records.sql.distinct_pairs import known_pairs

LEAST = 0.7
"""The score that a pair must have, unless the request names one."""
MOST_CLIENTS = 25
"""Clients that a page of several clients compares at most, most of which have no pair."""
_Count = Annotated[int, Meta(ge=0)]
_Shown = list[Any]
_SCORES = {"type": "number", "minimum": 0, "maximum": 1, "default": LEAST}


def _score(parameters: Parameters, name: str) -> float:
    value = parameters.text(name)
    if value is None:
        return LEAST
    digits = value.replace(".", "", 1)
    if digits.isascii() and digits.isdigit() and len(value) < 10 and 0 <= float(value) <= 1:
        return float(value)
    parameters.fault(name, "range", "must be a number from 0 to 1, such as 0.8")
    return LEAST


MIN_SCORE: Parameter[float] = Parameter("min_score", _score, _SCORES, "The least score of a pair.")
Score = Annotated[float, Meta(ge=0, le=1, description="How likely the two are one.")]
Reason = Annotated[
    str, Meta(extra_json_schema=named_enum("DuplicateReason", "Why two records may be one, or `other_linkedin`, why not.", REASONS))
]


class _ScoredPair(Struct):
    """The score of two records that may be one."""

    score: Score
    reasons: list[Reason]


class ContactPair(_ScoredPair):
    """Two contacts that may be one person, the lower id first."""

    contacts: list[ContactResponse]


class CompanyPair(_ScoredPair):
    """Two companies that may be one, the lower id first."""

    companies: list[CompanyResponse]


class ContactPairPage(PageOf[ContactPair]):
    """A page of pairs; it may be empty while `next_cursor`, null on the last page, is not."""


class CompanyPairPage(PageOf[CompanyPair]):
    """A page of pairs; it may be empty while `next_cursor`, null on the last page, is not."""


class TeamContactPair(ContactPair):
    """Two contacts of a client that may be one person."""

    client_id: str


class TeamCompanyPair(CompanyPair):
    """Two companies of a client that may be one."""

    client_id: str


class TeamContactPairPage(PageOf[TeamContactPair]):
    """A page of pairs of several clients; it may be empty while `next_cursor`, null on the last page, is not."""


class TeamCompanyPairPage(PageOf[TeamCompanyPair]):
    """A page of pairs of several clients; it may be empty while `next_cursor`, null on the last page, is not."""


_JANE = EXAMPLES["ContactResponse"]
_FIRM = EXAMPLES["CompanyResponse"]
example(
    ContactPair,
    {
        "score": 0.92,
        "reasons": ["similar_name", "same_domain", "similar_address"],
        "contacts": [_JANE, {**_JANE, "id": 1057, "email": "j.doe@example.com", "first_name": "Jayne"}],
    },
)
example(
    CompanyPair,
    {"score": 1.0, "reasons": ["same_name", "same_domain"], "companies": [_FIRM, {**_FIRM, "id": 29, "domain": "example.org"}]},
)
example(TeamContactPair, {**EXAMPLES["ContactPair"], "client_id": "acme"})
example(TeamCompanyPair, {**EXAMPLES["CompanyPair"], "client_id": "acme"})


class DuplicatesResource:
    """The handler of one type of record."""

    def __init__(self, kind: ResourceType[Any, Any, Any]) -> None:
        self._kind = kind

    async def list(self, call: Call) -> Response:
        """`GET` of a page of pairs of one client."""
        client = await call.client()
        parameters, listing = call.parameters(), f"duplicate {self._kind.type.plural}"
        after: Cursor | None = parameters.cursor(listing, tuple[_Count, tuple[str, str, int] | None, _Count])
        parameters.done()
        page_bytes = await call.page_bytes()
        data, place = await self._pairs(call, client, parameters, parameters[LIMIT], after, page_bytes)
        return Response(body=encode({"data": data, "next_cursor": None if place is None else cursor_text(listing, place)}))

    async def list_all(self, call: Call) -> Response:
        """`GET` of a page of pairs of all clients that the caller may see, client by client."""
        caller, parameters, listing = await call.principal(of_several=True), call.parameters(), f"all duplicate {self._kind.type.plural}"
        found = parameters.cursor(listing, tuple[str, tuple[_Count, tuple[str, str, int] | None, _Count] | None])
        start: tuple[str, Cursor | None] = found or ("", None)
        parameters.done()
        numbers, left = await call.visible(caller, parameters[CLIENT]), await call.page_bytes()
        clients = await _clients_from(call, numbers, start[0])
        data: _Shown = []
        following: tuple[str, Cursor | None] | None = None
        for number, client in enumerate(clients):
            if number == MOST_CLIENTS or len(data) == parameters[LIMIT]:
                following = (client.client_id, None)
                break
            # The client of the cursor may be gone: its place is none in the next one.
            after, limit = start[1] if client.client_id == start[0] else None, parameters[LIMIT] - len(data)
            pairs, place = await self._pairs(call, client, parameters, limit, after, left, client_id=client.client_id)
            data += pairs
            left -= sum(len(bytes(pair)) for pair in pairs)
            if place is not None:
                following = (client.client_id, place)
                break
        return Response(body=encode({"data": data, "next_cursor": following and cursor_text(listing, following)}))

    async def _pairs(
        self, call: Call, client: Client, parameters: Parameters, limit: int, after: Cursor | None, page_bytes: int, **more: str
    ) -> tuple[_Shown, Cursor | None]:
        """Return pairs of a client as shown, up to `page_bytes`, and the place after them; `more`: further members of each."""
        kind = self._kind.type
        store = call.api.dependencies.store
        pairs, place = await find_duplicates(store, client.number, kind.kind, limit, after, parameters[MIN_SCORE], page_bytes)

        numbers = [(pair.first.id, pair.second.id) for pair in pairs]
        distinct = await call.api.dependencies.store.read(known_pairs(client.number, kind.kind, numbers))
        pairs = [pair for pair in pairs if (pair.first.id, pair.second.id) not in distinct]

        def shown(pair: Pair) -> dict[str, Any]:
            records = [self._kind.out(record, parameters[FLAT], client.settings) for record in (pair.first, pair.second)]
            return {"score": pair.similarity.score, "reasons": pair.similarity.reasons, kind.plural: records, **more}

        data = fitting(map(shown, pairs), page_bytes)
        return data, pairs[len(data) - 1].after if len(data) < len(pairs) else place


async def _clients_from(call: Call, numbers: list[int] | None, start: str) -> list[Client]:
    """Return the active clients among these (None: among all) from an id on, in the order of ids: more than a page compares."""
    if numbers is not None:
        visible = (await call.api.clients.of(numbers)).values()
        return sorted((client for client in visible if client.client_id >= start), key=lambda client: client.client_id)[: MOST_CLIENTS + 1]
    first = await call.api.clients.find(start) if start else None
    others, _ = await call.api.clients.page(MOST_CLIENTS + 1, start or None, state=ACTIVE)
    return [*([] if first is None or first.state != ACTIVE else [first]), *others]


def duplicate_routes(kind: ResourceType[Any, Any, Any], tag: Tag, page: type[Struct], team_page: type[Struct], blocks: str) -> list[Route]:
    """Return the route of one type of record."""
    many = kind.type.plural
    return [
        Route(
            "GET", f"{kind.path}/duplicates", DuplicatesResource(kind).list, scope=READ, operation_id=f"list_duplicate_{many}", tag=tag,
            summary=f"List pairs of {many} that may be one",
            description=f"Pairs with a score from 0 to 1 and its reasons. {many.capitalize()} are compared if {blocks}, each with the 20 "
            "that follow it. A page reads a bounded number of records, so it may be empty and have a `next_cursor`. "
            "Pairs that a person said are not the same are left out.",
            query=(FLAT, *PAGE, MIN_SCORE), success=(Success(200, "A page.", page),),
        ),
        Route(
            "GET", f"/team/v1/{many}/duplicates", DuplicatesResource(kind).list_all, scope=READ, operation_id=f"list_all_duplicate_{many}",
            tag=tag, summary=f"List pairs of {many} of all clients that may be one",
            description=f"As the list of one client, client by client. A page compares the {many} of up to {MOST_CLIENTS} clients.",
            query=(FLAT, CLIENT, *PAGE, MIN_SCORE), success=(Success(200, "A page.", team_page),), problems=(404,),
        ),
    ]  # fmt: skip


ROUTES = [
    *duplicate_routes(
        CONTACTS,
        CONTACT_TAG,
        ContactPairPage,
        TeamContactPairPage,
        "their surnames and first initials are equal, or the domains of their addresses",
    ),
    *duplicate_routes(
        COMPANIES, COMPANY_TAG, CompanyPairPage, TeamCompanyPairPage, "their names or their domains are near each other in the alphabet"
    ),
]
