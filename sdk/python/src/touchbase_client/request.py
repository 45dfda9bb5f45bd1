"""Requests as data: what an operation sends, without any I/O. The functions in `requests` make them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Generic, Literal, TypeVar, cast
from urllib.parse import quote, urlencode

T = TypeVar("T")
D = TypeVar("D")
I = TypeVar("I")  # noqa: E741 - the item of a page

Text = str | Sequence[str]
"""A text, or several that are sent with commas between them."""
Time = str | datetime
"""A time: RFC 3339, or a `datetime` with a time zone."""
File = bytes | os.PathLike[str]
"""The content of a file, or its path: a file is read piece by piece."""
Answer = Literal["json", "text", "bytes"]
NO_BODY: Any = object()
JSON, MERGE_PATCH, ANY_FILE = "application/json", "application/merge-patch+json", "application/octet-stream"
KEY_HEADER = "Idempotency-Key"


@dataclass(slots=True)
class Request(Generic[T]):
    """One request; its answer is a `T`."""

    operation: str
    """The `operationId` of the OpenAPI document."""
    method: str
    path: str
    """The template, with parameters in braces."""
    in_path: Mapping[str, object] = field(default_factory=dict)
    query: Mapping[str, object] = field(default_factory=dict)
    """Parameters; None: not sent."""
    headers: Mapping[str, str | None] = field(default_factory=dict, repr=False)
    body: Any = field(default=NO_BODY, repr=False)
    """A JSON value, or a file."""
    of_client: bool = False
    """Whether the request acts for one client, which `X-Client-Id` names."""
    takes_key: bool = False
    """Whether the request may have an idempotency key; without one in `headers` the client makes it."""
    answer: Answer = "json"
    is_file: bool = False
    """Whether the body is a file."""

    @property
    def target(self) -> str:
        """Path and query, encoded."""
        path = self.path
        for name, value in self.in_path.items():
            text = str(value)
            if text in ("", ".", ".."):
                raise ValueError(f"{name} must not be {text!r}: give the {name} of what you mean")
            path = path.replace(f"{{{name}}}", quote(text, safe=""))
        query = self.query
        if self.is_file and isinstance(self.body, os.PathLike) and query.get("file_name", "") is None:
            query = {**query, "file_name": os.path.basename(self.body)}
        pairs = [pair for name, value in query.items() for pair in _pairs(name, value)]
        return f"{path}?{urlencode(pairs, quote_via=quote)}" if pairs else path

    @property
    def repeatable(self) -> bool:
        """Whether the request may be sent again although it may have been carried out already.

        Reading, deleting and setting values twice changes nothing more, and an idempotency key makes the server recognise
        a repetition. A change of many records by filters and a file are not repeated: their answer would differ.
        """
        if self.is_file:
            return False
        if self.method == "PATCH":
            return self.path.endswith("}")
        return self.takes_key or self.method != "POST" or self.path.endswith(("/search", "/match", "/preview"))

    def content(self) -> tuple[bytes | os.PathLike[str], str] | None:
        """Return the body and its media type."""
        if self.body is NO_BODY:
            return None
        if self.is_file:
            return self.body, ANY_FILE
        return json_bytes(self.body), MERGE_PATCH if self.method == "PATCH" else JSON


@dataclass(slots=True)
class Write(Request[T], Generic[T, D]):
    """A request that can be tried out: then nothing is written, and the answer is a `D`."""

    def as_dry_run(self) -> Request[D]:
        """Return the request that only says what would be written."""
        return cast("Request[D]", replace(self, query={**self.query, "dry_run": True}))


@dataclass(slots=True)
class Paged(Request[T], Generic[T, I]):
    """A request for a page `T` of items `I`."""

    cursor_in_body: bool = False

    def items(self, page: T) -> list[I]:
        """Return the items of a page."""
        return cast("list[I]", cast("Mapping[str, Any]", page)["data"])

    def after(self, page: T) -> Paged[T, I] | None:
        """Return the request for the next page; None after the last one."""
        cursor = cast("Mapping[str, Any]", page)["next_cursor"]
        if cursor is None:
            return None
        if self.cursor_in_body:
            return replace(self, body={**self.body, "cursor": cursor})
        return replace(self, query={**self.query, "cursor": cursor})


@dataclass(frozen=True, slots=True)
class Response(Generic[T]):
    """An answer with its status and headers."""

    data: T
    status: int
    headers: Mapping[str, str]
    """Names in lower case."""

    @property
    def etag(self) -> str | None:
        """The version of the record, for `if_match` and `if_none_match`."""
        return self.headers.get("etag")

    @property
    def request_id(self) -> str | None:
        """The request's id in the server's log."""
        return self.headers.get("x-request-id")

    @property
    def replayed(self) -> bool:
        """Whether this is the stored answer to an earlier request with the same idempotency key."""
        return self.headers.get("idempotency-replayed") == "true"


def json_bytes(value: object) -> bytes:
    """Return a value as JSON; times as texts."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_encodable).encode(
        "utf-8", "surrogatepass"
    )


def _encodable(value: object) -> object:
    if isinstance(value, datetime):
        return _time(value)
    raise TypeError(f"{type(value).__name__} has no form in JSON: give a text, a number, a boolean, None, a list, a dict or a datetime")


def _time(value: datetime) -> str:
    if value.tzinfo is None:
        raise ValueError(f"{value.isoformat()} has no time zone: give a datetime with one, such as datetime.now(timezone.utc)")
    return value.isoformat()


def _pairs(name: str, value: object) -> list[tuple[str, str]]:
    """Return a query parameter as the server reads it."""
    if value is None:
        return []
    if isinstance(value, Mapping):
        return [pair for key, inner in value.items() for pair in _pairs(str(key), inner)]
    if isinstance(value, bool):
        return [(name, "true" if value else "false")]
    if isinstance(value, datetime):
        return [(name, _time(value))]
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [(name, ",".join(map(str, value)))]
    return [(name, str(value))]
