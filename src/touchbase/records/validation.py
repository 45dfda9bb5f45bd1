"""Validation: the rules for every value from outside, whatever its source.

Each rule takes a value, its JSON pointer and a list, and appends its faults, so that one response
names every fault. `raise_if_any` ends the pass.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from typing import Protocol

from touchbase.clients.models import ClientSettings, FieldType
from touchbase.common import normalize
from touchbase.common.field_limits import CUSTOM_FIELD_BYTES, InvalidText, exceeds_budget, within_budget
from touchbase.errors import COUNTED, MOST_FAULTS, Fault, Invalid

# The grammar of a JSON number, as FLAT responses need it.
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+\-]?[0-9]{1,3})?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
# One spelling, so that the order of texts is the order of times.
_DATETIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")
_URL = re.compile(r"https?://[^\s/?#]\S*", re.IGNORECASE)
LONGEST_NUMBER = 100
"""Characters."""


class NamedValue(Protocol):
    """A custom field in a request."""

    @property
    def field_name(self) -> str:
        """Its name, not blank."""
        ...

    @property
    def field_value(self) -> str:
        """Its value."""
        ...


def raise_if_any(faults: Sequence[Fault]) -> None:
    """Raise `Invalid` with these faults, if there are any."""
    if faults:
        raise Invalid(faults)


def text_or_none(value: object) -> str | None:
    """Return a trimmed text; None for null and blank."""
    return value.strip() or None if isinstance(value, str) else None


def email(text: str | None, pointer: str, faults: list[Fault]) -> str | None:
    """Return the normal form of an e-mail address; None for None and for a fault."""
    if text is None:
        return None
    try:
        return normalize.email_key(text)
    except InvalidText as refused:
        faults.append(Fault(pointer, refused.code, refused.detail))
        return None


def emails(
    texts: Sequence[str] | None, first: str | None, faults: list[Fault], pointer: str = "/emails"
) -> tuple[str | None, str | None, dict[str, str]]:
    """Return the first address, its normal form, and the further ones by theirs; `first` is the normal form of a member `email`."""
    checked: dict[str, str] = {}
    for number, text in enumerate(texts or ()):
        stored = normalize.email_text(text.strip())
        if stored and not normalize.is_nothing(stored) and (key := email(stored, f"{pointer}/{number}", faults)) is not None:
            checked.setdefault(key, stored)
    if first is not None and checked and next(iter(checked)) != first:
        faults.append(Fault(pointer, "contradiction", "must begin with the address in `email`; send one of the two, or the same in both"))
    key = next(iter(checked), None)
    return (None, None, {}) if key is None else (checked.pop(key), key, checked)


NO_PROFILE = (
    "is not the address of a person's LinkedIn profile, such as https://www.linkedin.com/in/jane-doe: a company's page, a search, a short "
    "link or a name identifies nobody; leave it out, or send it as a custom field"
)


def linkedin(text: str | None, pointer: str, faults: list[Fault]) -> str | None:
    """Return the normal form of a LinkedIn profile; None if there is none. A page that names no person is a fault."""
    if not text:
        return None
    key = normalize.linkedin_key(text)
    if key is None:
        faults.append(Fault(pointer, "no_identity", NO_PROFILE))
    return key


def domain(text: str | None, pointer: str, faults: list[Fault]) -> str:
    """Return the normal form of a company's domain; None and blank are faults."""
    if text is None or not text.strip():
        faults.append(Fault(pointer, "required", "must not be blank: a company is identified by its domain, such as example.com"))
        return ""
    try:
        return normalize.company_domain(text)
    except InvalidText as refused:
        faults.append(Fault(pointer, refused.code, refused.detail))
        return ""


def status(text: str | None, settings: ClientSettings, kind: int, pointer: str, faults: list[Fault]) -> str | None:
    """Return the status, by its present name; it must be in the client's set, where there is one."""
    text, allowed = settings.words(kind).of(text), settings.declared(kind)
    if text is not None and allowed is not None and text not in allowed.statuses:
        faults.append(Fault(pointer, "status", f"{text!r} is not one of this client's statuses: {', '.join(allowed.statuses)}"))
    return text


def custom_fields(
    fields: Sequence[NamedValue],
    declared: Mapping[str, FieldType],
    pointer: str,
    faults: list[Fault],
    renamed: Mapping[str, str] | None = None,
) -> list[tuple[str, str]]:
    """Return names and values of custom fields; each name once, each value of its declared type. A former name means the present one."""
    checked: dict[str, str] = {}
    for index, field in enumerate(fields):
        sent, value = field.field_name.strip(), field.field_value.strip()
        name = renamed.get(sent, sent) if renamed else sent
        if not name:
            faults.append(Fault(f"{pointer}/{index}/field_name", "required", "must not be blank"))
        elif name in checked:
            fault = COUNTED
            if len(faults) < MOST_FAULTS:
                fault = Fault(f"{pointer}/{index}/field_name", "repeated", _sent_twice(sent, name))
            faults.append(fault)
        elif declared and name in declared:
            typed_value(value, declared[name], f"{pointer}/{index}/field_value", faults)
        checked[name] = value
    if exceeds_budget(checked):
        _, left_out = within_budget(checked)
        detail = f"the field {left_out[0]!r} makes the custom fields longer than {CUSTOM_FIELD_BYTES} bytes, names included; shorten it"
        faults.append(Fault(pointer, "too_large", detail))
    return list(checked.items())


def _sent_twice(sent: str, name: str) -> str:
    also = "" if sent == name else f" ({sent!r} is a former name of it)"
    return f"{name!r} is given twice{also}; send each custom field once"


def typed_value(value: str, declared: FieldType, pointer: str, faults: list[Fault]) -> None:
    """Check a value against the field's declared type; a blank value has every type."""
    if value and (expected := misfit(value, declared)) is not None:
        faults.append(Fault(pointer, declared.type, f"{value[:100]!r} is not {expected}"))


def json_value(value: str, declared: FieldType | None) -> str | int | float | bool | None:
    """Return a custom field's value as FLAT responses show it; a value that is not of its declared type stays text."""
    if declared is None or declared.type not in ("number", "boolean"):
        return value
    if not value:
        return None
    if misfit(value, declared) is not None:
        return value
    if declared.type == "boolean":
        return value.lower() == "true"
    return int(value) if value.lstrip("-").isdigit() else float(value)


def misfit(value: str, declared: FieldType) -> str | None:
    """Return the declared type's expectation if the value does not meet it, else None."""
    if declared.type == "select":
        return None if value in declared.options else f"one of {', '.join(declared.options)}"
    check = _TYPES.get(declared.type)
    return None if check is None or check[0](value) else check[1]


def _is_number(value: str) -> bool:
    return len(value) <= LONGEST_NUMBER and _NUMBER.fullmatch(value) is not None and math.isfinite(float(value))


def _is_iso(value: str, pattern: re.Pattern[str], kind: type[date]) -> bool:
    if pattern.fullmatch(value) is None:
        return False
    try:
        kind.fromisoformat(value)
    except ValueError:
        return False
    return True


_TYPES: Mapping[str, tuple[Callable[[str], bool], str]] = {
    "number": (_is_number, "a number, such as 12 or -3.5"),
    "boolean": (lambda value: value.lower() in ("true", "false"), "true or false"),
    "date": (lambda value: _is_iso(value, _DATE, date), "a date, such as 2026-11-20"),
    "datetime": (lambda value: _is_iso(value, _DATETIME, datetime), "a time in UTC, such as 2026-11-20T09:30:00Z"),
    "email": (lambda value: normalize.find_email_key(value) is not None, "an e-mail address, such as jane@example.com"),
    "url": (lambda value: _URL.fullmatch(value) is not None, "an address that begins with https:// or http://"),
}
"""By type: its test of a text, and its expectation."""
