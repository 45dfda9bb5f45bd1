"""Fetching records from a CRM's API: the base of each tool's `fetch.py`. Requests are built and responses read here, never sent."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

import msgspec

from touchbase.adapters.kit.crm_adapter import Body
from touchbase.adapters.kit.crm_values import as_dict
from touchbase.adapters.kit.extract import text
from touchbase.common.content_encoding import decoded
from touchbase.common.timestamps import SECOND, Micros
from touchbase.connections.fetch_state import kind_and_type
from touchbase.connections.models import Connection
from touchbase.connections.tools import MAX_RESPONSE, PAGE_END, ApiRequest, ApiResponse, FetchFailed, TokenRefresh
from touchbase.errors import UnrecognisedPayload

MINUTE: Micros = 60 * SECOND
_NO_CONTENT = 204
_SAFE_ID = re.compile(r"[\w:.-]{1,200}", re.ASCII)


@dataclass(frozen=True, slots=True)
class FetchTarget:
    """The objects to fetch for one connection, all of one type (`kind` is our name, `word` the CRM's)."""

    connection: Connection
    kind: str
    word: str
    ids: Sequence[str]

    def bearer(self) -> dict[str, str]:
        """Return the usual access token header."""
        return {"authorization": f"Bearer {self.connection.access_token}"}

    def get(self, path: str, headers: Mapping[str, str]) -> ApiRequest:
        """Build a `GET` request."""
        return ApiRequest("GET", path, {"accept": "application/json", **headers})

    def post(self, path: str, headers: Mapping[str, str], body: object) -> ApiRequest:
        """Build a `POST` request with a JSON body."""
        fixed = {"accept": "application/json", "content-type": "application/json"}
        return ApiRequest("POST", path, {**fixed, **headers}, msgspec.json.encode(body))


@dataclass(frozen=True, slots=True)
class ApiFetcher:
    """How to fetch records of one CRM. `make` returns None for an object type that the API does not have.

    `listed` extracts the records from a parsed response.
    """

    base: str
    most: int
    per_minute: int
    make: Callable[[FetchTarget], ApiRequest | None]
    listed: Callable[[object], Iterable[object]]
    needs: tuple[str, ...] = ()
    renewal: TokenRefresh | None = None
    list_type: str = ""
    """The beginning of the types that are lists of changes; empty: the tool has none."""
    page_end: Callable[[object], tuple[str, bool] | None] | None = None
    """Extracts the next cursor of a list from a parsed page, and whether more follows now; None: it is no page of a list."""

    @property
    def pause_us(self) -> Micros:
        """Return the time between two requests, in microseconds."""
        return MINUTE // self.per_minute

    def request(self, connection: Connection, object_type: str, ids: Sequence[str]) -> ApiRequest | None:
        """Build the request for these objects, all of one type."""
        kind, word = kind_and_type(object_type)
        if not all(_SAFE_ID.fullmatch(object_id) for object_id in ids):
            return None
        return self.make(FetchTarget(connection, kind, word, ids))

    def follows(self, object_type: str) -> bool:
        """Return whether a type is a list of changes."""
        return bool(self.list_type) and object_type.startswith(self.list_type)

    def records(self, response: ApiResponse, ids: Sequence[str]) -> Mapping[str, bytes]:
        """Return the records of a successful response, by id, as JSON."""
        if response.status == _NO_CONTENT or not response.body.strip():
            return {}
        bodies: dict[str, bytes] = {}
        page = parse_json(response)
        if self.page_end is not None and (end := self.page_end(page)) is not None and _SAFE_ID.fullmatch(end[0]):
            bodies[PAGE_END] = msgspec.json.encode(end)
        for record in self.listed(page):
            if isinstance(record, dict) and (number := self._id_of(record, ids)) in ids:
                bodies[number] = msgspec.json.encode(record)
        return bodies

    def _id_of(self, record: Body, ids: Sequence[str]) -> str:
        """Return a record's object id; a request for one object may return the record that it was merged into."""
        return ids[0] if self.most == 1 else text(record.get("id")) or ""


def parse_json(response: ApiResponse) -> object:
    """Return the response's JSON; raises `FetchFailed` if it is not JSON."""
    try:
        return msgspec.json.decode(decoded(response.headers.get("content-encoding", ""), response.body, MAX_RESPONSE))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, UnrecognisedPayload):
        raise FetchFailed("the response is not JSON: is api_base the URL of the tool's API?") from None


def access_token_in(content: Body) -> str | None:
    """Return the access token in an OAuth server's response; None if there is none that may stand in a header."""
    token = text(content.get("access_token")) or ""
    return token if token and token.isascii() and token.isprintable() and " " not in token else None


def single_record(data: object) -> list[object]:
    """Return the one record in `{"data": {...}}`."""
    return [as_dict(data).get("data")]


def build_path(*parts: str) -> str:
    """Build a path, percent-encoding its parts."""
    return "".join(f"/{quote(part, safe='')}" for part in parts)
