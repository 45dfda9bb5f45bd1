"""Asking a CRM's API for records: what every tool's `fetch.py` is made of. Calls are made and answers read here, never sent."""

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
from touchbase.connections.fetch_state import kind_and_word
from touchbase.connections.models import Connection
from touchbase.connections.tools import ApiRequest, ApiResponse, FetchFailed, TokenRefresh
from touchbase.errors import UnrecognisedPayload

MINUTE: Micros = 60 * SECOND
_NO_CONTENT = 204
_SAFE_ID = re.compile(r"[\w:.-]{1,200}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked for: objects of one type (`kind` is ours, `word` the CRM's), for one connection."""

    connection: Connection
    kind: str
    word: str
    ids: Sequence[str]

    def bearer(self) -> dict[str, str]:
        """The usual way to show an access token."""
        return {"authorization": f"Bearer {self.connection.access_token}"}

    def get(self, path: str, headers: Mapping[str, str]) -> ApiRequest:
        """A `GET` of this path."""
        return ApiRequest("GET", path, {"accept": "application/json", **headers})

    def post(self, path: str, headers: Mapping[str, str], body: object) -> ApiRequest:
        """A `POST` of this body as JSON."""
        fixed = {"accept": "application/json", "content-type": "application/json"}
        return ApiRequest("POST", path, {**fixed, **headers}, msgspec.json.encode(body))


@dataclass(frozen=True, slots=True)
class ApiFetcher:
    """How one CRM is asked. `make` answers None for a type of object that the API does not know.

    `listed` takes the records out of a parsed answer.
    """

    base: str
    most: int
    per_minute: int
    make: Callable[[Asked], ApiRequest | None]
    listed: Callable[[object], Iterable[object]]
    needs: tuple[str, ...] = ()
    renewal: TokenRefresh | None = None

    @property
    def pause_us(self) -> Micros:
        """Time from one call to the next."""
        return MINUTE // self.per_minute

    def call(self, connection: Connection, object_type: str, ids: Sequence[str]) -> ApiRequest | None:
        """The call that asks for these objects, all of one type."""
        kind, word = kind_and_word(object_type)
        if not all(_SAFE_ID.fullmatch(one) for one in ids):
            return None
        return self.make(Asked(connection, kind, word, ids))

    def records(self, answer: ApiResponse, ids: Sequence[str]) -> Mapping[str, bytes]:
        """The records in a good answer, by id, as JSON."""
        if answer.status == _NO_CONTENT or not answer.body.strip():
            return {}
        found: dict[str, bytes] = {}
        for record in self.listed(parsed(answer)):
            if isinstance(record, dict) and (number := self._id_of(record, ids)) in ids:
                found[number] = msgspec.json.encode(record)
        return found

    def _id_of(self, record: Body, ids: Sequence[str]) -> str:
        """Which object a record is; asked for one, an API may answer with another that it was merged into."""
        return ids[0] if self.most == 1 else text(record.get("id")) or ""


def parsed(answer: ApiResponse) -> object:
    """The answer's JSON; raises `FetchFailed` when it is none."""
    try:
        return msgspec.json.decode(decoded(answer.headers.get("content-encoding", ""), answer.body))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, UnrecognisedPayload):
        raise FetchFailed("its answer is not JSON: does api_base name the tool's API?") from None


def inner(answer: object) -> list[object]:
    """The one record in `{"data": {...}}`."""
    return [as_dict(answer).get("data")]


def path_of(*parts: str) -> str:
    """A path from parts that may hold anything."""
    return "".join(f"/{quote(part, safe='')}" for part in parts)
