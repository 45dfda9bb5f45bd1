"""Query parameters, with all faults of a query, and the cursors of lists."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl

import msgspec

from touchbase.clients.models import ON_DUPLICATE
from touchbase.common.field_limits import LARGEST_ID, why_not_storable
from touchbase.common.timestamps import Micros, from_text
from touchbase.errors import Fault, Invalid

STRUCTURES = ("NESTED", "FLAT")
YES_OR_NO = ("true", "false")
MOST_PARAMETERS = 50
LARGEST_PAGE = 200
DEFAULT_PAGE = 50


class Parameters:
    """The query parameters of one request. Read each, then call `done`, which raises `Invalid` with every fault."""

    def __init__(self, query: bytes) -> None:
        self.faults: list[Fault] = []
        self._given: dict[str, str] = {}
        self._known: set[str] = set()
        self._repeated: set[str] = set()
        for name, value in self._pairs(query):
            if name in self._given:
                self._repeated.add(name)
            self._given[name] = value

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
        self._known.add(name)
        value = self._given.get(name)
        if value is None:
            return None
        if name in self._repeated:
            self._fault(name, "repeated", "is given more than once")
        elif (why := why_not_storable(value)) is not None:
            self._fault(name, "unusable_text", why)
        elif not value.strip():
            self._fault(name, "blank", "must not be blank; leave it out instead")
        else:
            return value.strip()
        return None

    def choice(self, name: str, choices: tuple[str, ...]) -> str | None:
        """Return one of the choices."""
        value = self.text(name)
        if value is None or value in choices:
            return value
        self._fault(name, "choice", f"must be one of {', '.join(choices)}")
        return None

    def integer(self, name: str, least: int, most: int) -> int | None:
        """Return an integer within limits."""
        value = self.text(name)
        if value is None:
            return None
        if value.isascii() and value.isdigit() and len(value) < 20 and least <= int(value) <= most:
            return int(value)
        self._fault(name, "range", f"must be an integer from {least} to {most}")
        return None

    def time(self, name: str) -> Micros | None:
        """Return an ISO 8601 time; UTC if it has no offset."""
        value = self.text(name)
        # A plus sign that was not escaped arrives as a space.
        return moment(value and value.replace(" ", "+"), f"?{name}", self.faults)

    def limit(self) -> int:
        """Return the maximum number of items of a page."""
        return self.integer("limit", 1, LARGEST_PAGE) or DEFAULT_PAGE

    def cursor(self, listing: str, kind: type[Any]) -> Any:
        """Return the position that `cursor_text` encoded for the same listing; None, the first page, if it is blank."""
        if "cursor" not in self._repeated and not self._given.get("cursor", "").strip():
            self._known.add("cursor")
            return None
        value = self.text("cursor")
        if value is None:
            return None
        found = cursor_value(value, listing, kind)
        if found is not None:
            return found
        self._fault("cursor", "cursor", "is not a cursor of this listing; begin again without it")
        return None

    def structure(self) -> bool:
        """Return whether the response has custom fields in the format FLAT."""
        return self.choice("structure", STRUCTURES) == "FLAT"

    def done(self, *, strict: bool = False) -> None:
        """Raise `Invalid` if there are faults; with `strict` an unknown parameter is a fault too."""
        if strict:
            for name in sorted(self._given.keys() - self._known):
                self.faults.append(
                    Fault(f"?{name}", "unknown", f"is no parameter here; there are {', '.join(sorted(self._known)) or 'none'}")
                )
        if self.faults:
            raise Invalid(self.faults)

    def _fault(self, name: str, code: str, detail: str) -> None:
        self.faults.append(Fault(f"?{name}", code, detail))


def moment(text: str | None, pointer: str, faults: list[Fault]) -> Micros | None:
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
        found = msgspec.json.decode(raw, type=tuple[str, kind])  # type: ignore[valid-type]
    except (ValueError, msgspec.DecodeError, RecursionError):
        return None
    is_ours = found[0] == listing and _is_storable(found[1]) and cursor_text(listing, found[1]) == text
    return found[1] if is_ours else None


def _is_storable(position: Any) -> bool:
    """Return whether a store can compare with this value; a store would fail on others."""
    if isinstance(position, int):
        return -(2**63) <= position < 2**63
    if isinstance(position, str):
        return why_not_storable(position) is None
    return position is None or all(map(_is_storable, position))


def cursor_text(listing: str, position: object) -> str:
    """Encode a position in a listing as an opaque text."""
    return urlsafe_b64encode(msgspec.json.encode((listing, position))).rstrip(b"=").decode("ascii")


@dataclass(frozen=True, slots=True)
class RecordOptions:
    """The format of the response, and the handling of an existing record."""

    flat: bool = False
    on_duplicate: str | None = None
    restore_erased: bool = False


DEFAULT_OPTIONS = RecordOptions()


@lru_cache(maxsize=256)
def create_options(query: bytes) -> RecordOptions:
    """Parse the parameters of a request that creates a record; others are ignored."""
    parameters = Parameters(query)
    restore = parameters.choice("restore_erased", YES_OR_NO) == "true"
    made = RecordOptions(parameters.structure(), parameters.choice("on_duplicate", ON_DUPLICATE), restore)
    parameters.done()
    return made


@lru_cache(maxsize=256)
def is_flat(query: bytes) -> bool:
    """Return whether the response has custom fields in the format FLAT; other parameters are ignored."""
    parameters = Parameters(query)
    flat = parameters.structure()
    parameters.done()
    return flat


def record_id(text: str) -> int | None:
    """Parse an id from a path; None if it is not a valid id."""
    if not (text.isascii() and text.isdigit() and len(text) < 17):
        return None
    number = int(text)
    return number if 1 <= number <= LARGEST_ID else None
