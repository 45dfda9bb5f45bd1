"""Query parameters: each defined once, read with all faults of a query, and described by its definition. Cursors of lists."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar
from urllib.parse import parse_qsl

import msgspec

from touchbase.common.field_limits import LARGEST_ID, why_not_storable
from touchbase.common.misspelt import find_near
from touchbase.common.timestamps import Micros, from_text
from touchbase.errors import Fault, Invalid

T = TypeVar("T")
Json = dict[str, Any]

YES_OR_NO = ("true", "false")
MOST_PARAMETERS = 50
LARGEST_PAGE = 200
DEFAULT_PAGE = 50


class Parameters:
    """The query parameters of one request. `done` raises `Invalid` with every fault.

    `parameters[TOOL]` is the value of a declared parameter, `filters` has the values that are members of a query.
    """

    def __init__(self, query: bytes, declared: Sequence[Parameter[Any]] = ()) -> None:
        self.faults: list[Fault] = []
        self._sent: dict[str, str] = {}
        self._readable = {parameter.name for parameter in declared}
        self._repeated: set[str] = set()
        self.pairs = self._pairs(query)
        """All parameters as they were sent."""
        for name, value in self.pairs:
            if name in self._sent:
                self._repeated.add(name)
            self._sent[name] = value
        self._values = {parameter.name: parameter.read(self, parameter.name) for parameter in declared}
        self.filters = {parameter.member: self._values[parameter.name] for parameter in declared if parameter.member}

    def __getitem__(self, parameter: Parameter[T]) -> T:
        """Return the value of a declared parameter."""
        value: T = self._values[parameter.name]
        return value

    def _pairs(self, query: bytes) -> list[tuple[str, str]]:
        try:
            return parse_qsl(query.decode("utf-8"), keep_blank_values=True, errors="strict", max_num_fields=MOST_PARAMETERS)
        except UnicodeDecodeError:
            self.faults.append(Fault("?", "encoding", "must be UTF-8"))
        except ValueError:
            self.faults.append(Fault("?", "too_many", f"must have at most {MOST_PARAMETERS} parameters"))
        return []

    def text(self, name: str) -> str | None:
        """Return a text without surrounding white space; blank is a fault."""
        self._readable.add(name)
        value = self._sent.get(name)
        if value is None:
            return None
        if name in self._repeated:
            self.fault(name, "repeated", "is given more than once")
        elif (why := why_not_storable(value)) is not None:
            self.fault(name, "unusable_text", why)
        elif not value.strip():
            self.fault(name, "blank", "must not be blank; leave it out instead")
        else:
            return value.strip()
        return None

    def choice(self, name: str, choices: Sequence[str]) -> str | None:
        """Return one of the choices."""
        value = self.text(name)
        if value is None or value in choices:
            return value
        self.fault(name, "choice", f"must be one of {', '.join(choices)}")
        return None

    def integer(self, name: str, least: int, most: int) -> int | None:
        """Return an integer within limits."""
        value = self.text(name)
        if value is None:
            return None
        if value.isascii() and value.isdigit() and len(value) < 20 and least <= int(value) <= most:
            return int(value)
        self.fault(name, "range", f"must be an integer from {least} to {most}")
        return None

    def time(self, name: str) -> Micros | None:
        """Return an ISO 8601 time; UTC if it has no offset."""
        value = self.text(name)
        # A plus sign that was not escaped arrives as a space.
        return parse_time(value and value.replace(" ", "+"), f"?{name}", self.faults)

    def cursor(self, listing: str, kind: type[Any]) -> Any:
        """Return the position that `cursor_text` encoded for the same listing; None, the first page, if it is blank."""
        value = self.given_cursor()
        if value is None:
            return None
        position = cursor_value(value, listing, kind)
        if position is not None:
            return position
        self.fault("cursor", "cursor", "is not a cursor of this listing; begin again without it")
        return None

    @property
    def unknown(self) -> set[str]:
        """The names of parameters that are not declared and were not read."""
        return self._sent.keys() - self._readable

    def given_cursor(self) -> str | None:
        """Return the cursor as it was sent; None, the first page, if it is blank."""
        if "cursor" not in self._repeated and not self._sent.get("cursor", "").strip():
            self._readable.add("cursor")
            return None
        return self.text("cursor")

    def done(self, *, strict: bool = True) -> None:
        """Raise `Invalid` if there are faults; with `strict` an unknown parameter is a fault, else only a misspelt one."""
        for name in sorted(self.unknown):
            if strict or find_near(name, self._readable) is not None:
                self.faults.append(
                    Fault(f"?{name}", "unknown", f"is no parameter here; there are {', '.join(sorted(self._readable)) or 'none'}")
                )
        if self.faults:
            raise Invalid(self.faults)

    def fault(self, name: str, code: str, detail: str) -> None:
        """Add a fault of a parameter."""
        self.faults.append(Fault(f"?{name}", code, detail))


@dataclass(frozen=True, slots=True)
class Parameter(Generic[T]):
    """A query parameter: how it is read, and how it is described."""

    name: str
    read: Callable[[Parameters, str], T]
    schema: Json
    description: str = ""
    member: str = ""
    """The member of the list's query that it sets, if it is a filter."""
    required: bool = False
    more: Json = field(default_factory=dict)
    """Other members of its description in the OpenAPI document."""


def text(name: str, description: str = "", *, member: str = "", required: bool = False) -> Parameter[str | None]:
    """Define a parameter that is a text."""
    schema = {"type": "string"} if required else {"type": "string", "minLength": 1}
    return Parameter(name, Parameters.text, schema, description, member, required)


def choice(name: str, choices: Sequence[str], description: str = "", *, member: str = "") -> Parameter[str | None]:
    """Define a parameter that is one of several values."""
    return Parameter(name, lambda parameters, name: parameters.choice(name, choices), {"enum": list(choices)}, description, member)


def flag(name: str, description: str = "", *, member: str = "", required: bool = False) -> Parameter[bool]:
    """Define a parameter that is `true` or `false`, the default."""
    return Parameter(
        name, lambda parameters, name: parameters.choice(name, YES_OR_NO) == "true", {"type": "boolean"}, description, member, required
    )


def yes_or_no(name: str, description: str = "", *, member: str = "") -> Parameter[bool | None]:
    """Define a parameter that is `true` or `false`; None without it."""
    values = {"true": True, "false": False}
    return Parameter(
        name, lambda parameters, name: values.get(parameters.choice(name, YES_OR_NO) or ""), {"type": "boolean"}, description, member
    )


def integer(name: str, least: int, most: int, description: str = "", *, member: str = "") -> Parameter[int | None]:
    """Define a parameter that is an integer within limits."""
    schema = {"type": "integer", "minimum": least, "maximum": most}
    return Parameter(name, lambda parameters, name: parameters.integer(name, least, most), schema, description, member)


def share(name: str, description: str) -> Parameter[float | None]:
    """Define a parameter that is a number from 0 to 1."""

    def read(parameters: Parameters, name: str) -> float | None:
        text = parameters.text(name)
        if text is None:
            return None
        try:
            number = float(text) if text.isascii() else -1.0
        except ValueError:
            number = -1.0
        if 0 <= number <= 1:
            return number
        parameters.fault(name, "range", "must be a number from 0, the first record, to 1, the last page")
        return None

    return Parameter(name, read, {"type": "number", "minimum": 0, "maximum": 1}, description)


def time(name: str, description: str = "", *, member: str = "") -> Parameter[Micros | None]:
    """Define a parameter that is a time."""
    return Parameter(name, Parameters.time, {"type": "string", "format": "date-time"}, description, member)


def integer_or(name: str, default: int, most: int, description: str, *, is_old: bool = False) -> Parameter[int]:
    """Define a parameter that is an integer from 1, with a default."""
    schema = {"type": "integer", "minimum": 1, "maximum": most, "default": default}
    more: Json = {"deprecated": True} if is_old else {}
    return Parameter(name, lambda parameters, name: parameters.integer(name, 1, most) or default, schema, description, more=more)


LIMIT = integer_or("limit", DEFAULT_PAGE, LARGEST_PAGE, "Maximum number of items in a page.")
CURSOR: Parameter[None] = Parameter(
    "cursor", lambda parameters, name: None, {"type": "string"}, "`next_cursor` of the previous page; blank or left out: the first page."
)
"""`Parameters.cursor` reads its value, because it depends on the listing."""
PAGE = (LIMIT, CURSOR)
CLIENT = text("client", "Only of this client; below `/team/` the header `X-Client-Id` says it too.")
DRY_RUN = flag("dry_run", "Store nothing; respond what would change, field by field.")


def parse_time(text: str | None, pointer: str, faults: list[Fault]) -> Micros | None:
    """Parse a time, or append a fault; None for None."""
    if text is None:
        return None
    try:
        return from_text(text.upper())
    except (ValueError, OverflowError):
        faults.append(Fault(pointer, "time", "must be a time such as 2026-11-20T09:30:00Z"))
        return None


def cursor_value(text: str, listing: str, kind: type[Any]) -> Any:
    """Decode the position that `cursor_text` encoded for the same listing; None for any other text."""
    try:
        raw = urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
        decoded = msgspec.json.decode(raw, type=tuple[str, kind])  # type: ignore[valid-type]
    except (ValueError, msgspec.DecodeError, RecursionError):
        return None
    is_ours = decoded[0] == listing and _is_storable(decoded[1]) and cursor_text(listing, decoded[1]) == text
    return decoded[1] if is_ours else None


def _is_storable(position: Any) -> bool:
    """Return whether a store can compare with this value, and with its neighbours; a store would fail on others."""
    if isinstance(position, int):
        return abs(position) < 2**62
    if isinstance(position, str):
        return why_not_storable(position) is None
    return position is None or all(map(_is_storable, position))


def cursor_text(listing: str, position: object) -> str:
    """Encode a position in a listing as an opaque text."""
    return urlsafe_b64encode(msgspec.json.encode((listing, position))).rstrip(b"=").decode("ascii")


def record_id(text: str) -> int | None:
    """Parse an id from a path; None if it is not a valid id."""
    if not (text.isascii() and text.isdigit() and len(text) < 17):
        return None
    number = int(text)
    return number if 1 <= number <= LARGEST_ID else None
