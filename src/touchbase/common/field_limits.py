"""Text: how long each field may be, and how any text from outside is cleaned.

Text is kept as given, but for white space around it. Blank means unset. Lengths are in characters and
count what was sent, white space included, so that the check costs nothing where the JSON is read.
"""

from __future__ import annotations

NAME = 200
"""First and last name, company name, origin, the name of a custom field."""
STATUS = 200
EMAIL = 254
"""As long as an address can be in a mail's envelope (RFC 5321, 4.5.3.1.3); a longer one is no e-mail address to anybody."""
URL = 2_000
"""A LinkedIn address, and a pasted address from which a company's domain is taken."""
VALUE = 10_000
"""The value of a custom field."""
CUSTOM_FIELDS = 500
"""Custom fields in one request, and on one record that requests have filled."""
MOST_HELD = 2 * CUSTOM_FIELDS
"""Custom fields of one record that calls of a CRM may bring it to, those taken away included."""
CLIENT_ID = 100
LARGEST_ID = 2**53 - 1
"""Every integer up to here survives a JSON reader that knows only floating point."""


class Refused(ValueError):
    """A text that cannot be taken: `code` is stable, the message says what to do."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail


def clean(text: str) -> str | None:
    """The text without white space around it; None when nothing is left."""
    return text.strip() or None


def why_unusable(text: str) -> str | None:
    """Why no store can keep this text, or None: a NUL, or half of a surrogate pair."""
    if "\0" in text:
        return "must not contain the NUL character (\\u0000)"
    if any("\ud800" <= char <= "\udfff" for char in text):
        return "contains half of a surrogate pair, which is no character; send both halves or the character itself"
    return None


def keepable(text: str | None, most: int) -> str | None:
    """What a store can keep of text that nobody can correct any more: at most so many characters, no NUL, no half pairs."""
    if text is None:
        return None
    if len(text) > most:
        text = text[:most]
    if "\0" in text:
        text = text.replace("\0", "")
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
