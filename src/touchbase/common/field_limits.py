"""Field limits: maximum lengths, and the cleaning of text from outside.

Text is stored as sent, without the white space around it. Blank means unset. Lengths are in characters of the text as
sent, white space included, so that the JSON decoder checks them at no cost.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping

NAME = 200
"""First and last name, company name, origin, the name of a custom field."""
EXTERNAL_ID = 200
STATUS = 200
EMAIL = 254
"""The maximum length of an address in a mail's envelope (RFC 5321, 4.5.3.1.3)."""
EMAILS = 50
"""E-mail addresses of one contact in a request."""
MAX_EMAILS = 1_000
"""E-mail addresses of one contact through merges, webhooks and upserts."""
URL = 2_000
"""A LinkedIn address, and an address from which a company's domain is extracted."""
VALUE = 10_000
"""The value of a custom field."""
MESSAGE_TEXT = 200_000
"""The text of a mail or LinkedIn message, and its HTML."""
CUSTOM_FIELDS = 500
"""Custom fields in one request, and of one record through requests."""
MAX_CUSTOM_FIELDS = 2 * CUSTOM_FIELDS
"""Custom fields of one record through webhooks of a CRM, removed ones included."""
CUSTOM_FIELD_BYTES = 262_144
"""Bytes of the names and values of one record's custom fields. No setting: every process and every replay must choose the same values."""
CLIENT_ID = 100
LARGEST_ID = 2**53 - 1
"""The largest integer that is exact in JSON readers that have only floating point."""


class InvalidText(ValueError):
    """An invalid text: `code` is stable, the message has the cure."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail


def clean(text: str) -> str | None:
    """Return the text without white space around it; None if it is blank."""
    return text.strip() or None


def why_not_storable(text: str) -> str | None:
    """Return why a store cannot store this text, or None: a NUL, or half of a surrogate pair."""
    if "\0" in text:
        return "must not contain the NUL character (\\u0000)"
    if not text.isascii() and any("\ud800" <= char <= "\udfff" for char in text):
        return "contains half of a surrogate pair, which is no character; send both halves or the character itself"
    return None


_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u2800\u3164\uffa0" + "".join(map(chr, range(0xFE00, 0xFE10))))
"""Fillers and variation selectors: letters and marks that show nothing."""


def is_blank(text: str) -> bool:
    """Return whether a text shows nothing: white space, control and format characters such as U+200B, and fillers."""
    return all(char in _BLANK or unicodedata.category(char) in ("Cc", "Cf", "Zs", "Zl", "Zp") for char in text)


def why_no_name(text: str) -> str | None:
    """Return why a text cannot be the name of something that people choose, or None."""
    return why_not_storable(text) or ("must have a visible character" if is_blank(text) else None)


def storable(text: str | None, most: int) -> str | None:
    """Make text of a webhook storable, as its sender cannot correct it: at most `most` characters, no NUL, no half surrogate pairs."""
    if text is None:
        return None
    if len(text) > most:
        text = text[:most]
    if "\0" in text:
        text = text.replace("\0", "")
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def custom_bytes(values: Iterable[tuple[str, str | None]]) -> int:
    """Return the bytes of names and values together; a removed field has none."""
    return sum(len(name.encode()) + len(value.encode()) for name, value in values if value is not None)


def exceeds_budget(values: Mapping[str, str | None]) -> bool:
    """Return whether custom fields are longer than a record may have them; short ones are not encoded to know it."""
    characters = len("".join(values)) + sum(map(len, filter(None, values.values())))
    return characters * 4 > CUSTOM_FIELD_BYTES and custom_bytes(values.items()) > CUSTOM_FIELD_BYTES


def within_budget(values: Mapping[str, str | None]) -> tuple[dict[str, str | None], list[str]]:
    """Return the values of one event that fit in a record, in their order, and the names of the others."""
    if not exceeds_budget(values):
        return dict(values), []
    fitting: dict[str, str | None] = {}
    left_out: list[str] = []
    room = CUSTOM_FIELD_BYTES
    for name, value in values.items():
        size = custom_bytes([(name, value)])
        if size > room:
            left_out.append(name)
        else:
            fitting[name] = value
            room -= size
    return fitting, left_out
