"""Query parameters, headers and bodies of searches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, TypeVar

from msgspec import UNSET, Meta, Struct, UnsetType

from touchbase.clients.models import Client
from touchbase.common.asgi import Scope
from touchbase.common.timestamps import Micros
from touchbase.http.headers import described, preferences
from touchbase.http.query_parameters import DEFAULT_PAGE, LARGEST_PAGE, Parameter, Parameters, text
from touchbase.http.schemas import example
from touchbase.records.models import Company, Contact
from touchbase.records.record_type import RecordType
from touchbase.search.parse import LONGEST_VALUE
from touchbase.search.queries import ESTIMATED, EXACT, RecordSearch
from touchbase.search.service import SearchRequest, prepare

R = TypeVar("R", Contact, Company)

SORT = text("sort", "Fields to sort by, separated by commas; a minus sign reverses one. Records without a value come last.")
Q = text("q", "Words that must begin words of names, e-mail address, domain or custom fields.")
FIELDS = text("fields", "Members that the records of the response have, separated by commas; the id is always there.")
FILTERS: Parameter[None] = Parameter(
    "filters",
    lambda parameters, name: None,
    {"type": "object", "additionalProperties": {"type": "string"}},
    "Any number of filters, each a parameter: `name=value`, or `name[operator]=value` with one of the operators eq, ne, in, nin, contains, "
    "starts_with, gt, gte, lt, lte, is_set. Names are the members of a record, `cf.NAME` for a custom field, and for contacts "
    "`company.FIELD`. A time may be a span until now such as `30d`. All must hold: `last_reply_received[gte]=7d` and "
    "`contact_status[ne]=interested` find who replied in the last week and is not interested.",
    more={"style": "form", "explode": True, "example": {}},
)
SEARCH: tuple[Parameter[Any], ...] = (SORT, Q, FIELDS)
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
