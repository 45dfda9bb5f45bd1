"""Query parameters, headers and bodies of searches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, TypeVar
from urllib.parse import parse_qsl, urlencode

from msgspec import UNSET, Meta, Struct, UnsetType

from touchbase.clients.models import Client
from touchbase.common.asgi import Scope
from touchbase.common.timestamps import Micros
from touchbase.errors import Fault, Invalid
from touchbase.http.actors import USER
from touchbase.http.endpoint import Call, author_of
from touchbase.http.headers import described, preferences
from touchbase.http.people import ME, NO_PERSON
from touchbase.http.query_parameters import DEFAULT_PAGE, LARGEST_PAGE, Parameter, Parameters, integer, share, text
from touchbase.http.schemas import example
from touchbase.records.fields import OWNER_ID
from touchbase.records.models import Company, Contact
from touchbase.records.record_type import RecordType
from touchbase.search.fields import OF_COMPANY
from touchbase.search.parse import LONGEST_VALUE
from touchbase.search.queries import ESTIMATED, EXACT, RecordSearch
from touchbase.search.service import SearchRequest, prepare

R = TypeVar("R", Contact, Company)

SORT = text("sort", "Fields to sort by, separated by commas; a minus sign reverses one. Records without a value come last.")
Q = text("q", "Words that must begin words of names, e-mail address, domain or custom fields.")
FIELDS = text(
    "fields",
    "Members that the records of the response have, separated by commas, or `cf.NAME` for single custom fields; the id is always there.",
)
FILTERS: Parameter[None] = Parameter(
    "filters",
    lambda parameters, name: None,
    {"type": "object", "additionalProperties": {"type": "string"}},
    "Any number of filters, each a parameter: `name=value`, or `name[operator]=value` with one of the operators eq, ne, in, nin, contains, "
    "starts_with, gt, gte, lt, lte, is_set. Names are the members of a record, `cf.NAME` for a custom field, and for contacts "
    "`company.FIELD`. A time may be a span until now such as `30d`; `owner_id=me` is the person who calls; "
    "`counted=replied;since=30d;tool=smartlead` are the people of a number in a report. All must hold: "
    "`last_reply_received[gte]=7d` and `contact_status[ne]=interested` find who replied in the last week and is not interested.",
    more={"style": "form", "explode": True, "example": {}},
)
AT = share(
    "at",
    "Begin at this share of the order, in place of `cursor`: 0.5 is the middle, 1 the last page. The response has `rank`, `total` and "
    "`previous_cursor`; pages by its cursors have `rank` and `previous_cursor` too.",
)
CUT = integer("cut", 50, 10_000, "Cut longer texts after so many characters; they end with `…`, and `cut` of the response names them.")
SEARCH: tuple[Parameter[Any], ...] = (SORT, Q, FIELDS, AT, CUT)
COUNT = described(
    "`count=exact` or `count=estimated` asks for the header `Total-Count`, the number of records that match. An exact count "
    "reads all of them."
)
SEARCH_HEADERS = ("Total-Count", "Preference-Applied", "Search-Index")
"""Headers of responses to searches: see docs/reference/search.md."""
_LIST = "Separated by commas, or as an array."
_WHERE = (
    "The filters: an object of `name` or `name[operator]` and value, which must all hold, with `all` and `any` (arrays of such objects) "
    "and `not` (one object). Arrays are values of `in` and `nin`."
)
_WHERE_EXAMPLE = {"any": [{"contact_status[in]": ["new", "won"]}, {"company.cf.Industry[contains]": "bank"}], "not": {"origin": "import"}}


class SearchBody(Struct):
    """A search: filters as a tree, with the parameters of lists."""

    where: Annotated[dict[str, Any], Meta(description=_WHERE)] = {}
    q: Annotated[str, Meta(max_length=LONGEST_VALUE, description=Q.description)] | None = None
    sort: Annotated[str | list[str], Meta(description=f"{SORT.description} {_LIST}")] | None = None
    fields: Annotated[str | list[str], Meta(description=f"{FIELDS.description} {_LIST}")] | None = None
    limit: Annotated[int, Meta(ge=1, le=LARGEST_PAGE, description="Maximum number of records.")] = DEFAULT_PAGE
    cursor: Annotated[str, Meta(description="`next_cursor` of the previous page.")] | UnsetType | None = UNSET


example(SearchBody, {"where": _WHERE_EXAMPLE, "sort": "-last_reply_received", "limit": 50})


async def query_of(call: Call) -> bytes:
    """Return the query with the id of the person who calls in place of `me` in filters of owners; raises `Invalid` for a key."""
    if OWNER_ID.name.encode() not in call.query:
        return call.query
    pairs = parse_qsl(call.query.decode("latin-1"), keep_blank_values=True, encoding="latin-1")
    filters = [(name, (await with_person(call, {name: value}, "?"))[name]) for name, value in pairs]
    return urlencode(filters, encoding="latin-1").encode()


async def with_person(call: Call, tree: Any, place: str) -> Any:
    """Return filters with the id of the person who calls in place of `me` in those of owners; raises `Invalid` for a key."""
    if isinstance(tree, list):
        return [await with_person(call, part, place) for part in tree]
    if not isinstance(tree, dict):
        return tree
    filters: dict[str, Any] = {}
    for name, value in tree.items():
        is_own = value == ME and name.partition("[")[0].removeprefix(OF_COMPANY) == OWNER_ID.name
        filters[name] = await _person(call, f"{place}{name}") if is_own else await with_person(call, value, place)
    return filters


async def _person(call: Call, pointer: str) -> str:
    by = author_of(call.scope)
    await call.api.actors.load([by.key_id])
    actor = call.api.actors.of(by)
    if actor.type != USER or actor.id is None:
        raise Invalid([Fault(pointer, "user", NO_PERSON)])
    return actor.id


def joined(names: str | list[str] | None) -> str | None:
    """Return names that may be an array as the text of a parameter."""
    return ",".join(names) if isinstance(names, list) else names


def count_of(scope: Scope) -> str:
    """Return the count that the header `Prefer` asks for; empty for none."""
    wanted = preferences(scope).get("count", "").lower()
    return wanted if wanted in (EXACT, ESTIMATED) else ""


def filters_of(parameters: Parameters, declared: Sequence[Parameter[Any]]) -> list[tuple[str, str]]:
    """Return the parameters that are filters."""
    others = {parameter.name for parameter in declared}
    return [(name, value) for name, value in parameters.pairs if name not in others]


def search_for(
    kind: RecordType[R], client: Client, parameters: Parameters, now: Micros, others: Sequence[Parameter[Any]], q: str | None = None
) -> RecordSearch[Any]:
    """Return the search that a request's filters describe, in order of creation. Raises `Invalid`, with the faults of `parameters` first.

    `others` are the declared parameters that are no filters.
    """
    request = SearchRequest(filters_of(parameters, others), q=q, sort="created_time", also=[parameter.name for parameter in others])
    return replace(prepare(kind, client, request, now, parameters.faults).search, custom_fields=False)
