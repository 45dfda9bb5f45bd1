"""Reading values from user- and tool-supplied bodies. No function here raises."""

from __future__ import annotations

import math
from itertools import islice

from touchbase.common.normalize import email_text, linkedin_key

_FIRST_FEW = 5
_MAX_ADDRESS_LENGTH = 320
_MAX_URL_LENGTH = 2_000
_MAX_NUMBER = 256
_MAX_PLACE_LENGTH = 100
_MAX_TEXT_LENGTH = 10_000


def dig(data: object, *keys: str | int) -> object:
    """Return the value under a chain of keys (a number is a list index), or None if the chain breaks."""
    for key in keys:
        if isinstance(data, dict):
            data = data.get(key)
        elif isinstance(data, list) and isinstance(key, int) and -len(data) <= key < len(data):
            data = data[key]
        else:
            return None
    return data


def first(data: object, *keys: str) -> object:
    """Return the first value among these keys of an object that is neither null nor an empty text."""
    if isinstance(data, dict):
        for key in keys:
            value = data.get(key)
            if value is not None and value != "":
                return value
    return None


def text(value: object) -> str | None:
    """Return a text or number as trimmed text; None for blanks, booleans, lists and objects.

    Characters that databases reject (NUL, lone surrogates) are removed; the text is cut at 10,000 characters.
    """
    if isinstance(value, str):
        return storable_text(value, _MAX_TEXT_LENGTH)
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return str(value) if value.bit_length() <= _MAX_NUMBER else None
    if isinstance(value, float) and math.isfinite(value):
        return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
    return None


def storable_text(value: str, most: int) -> str | None:
    """Return a text without the characters that databases reject, trimmed and cut at so many characters; None for blanks."""
    if not value.isascii() and not value.isprintable():
        value = value.encode("utf-8", "ignore").decode()
    return (value.replace("\0", "") if "\0" in value else value).strip()[:most] or None


def address(value: object) -> str | None:
    """Return an email address in lower case, taken from `<...>` if present; None if the value is not an address.

    `+tag` is preserved. Only the syntax is checked, not whether the address accepts email.
    """
    if not isinstance(value, str) or "@" not in value:
        return None
    email = email_text(text(value) or "").lower()
    local, _, domain = email.partition("@")
    if not local or not domain or "@" in domain or len(email) > _MAX_ADDRESS_LENGTH or len(email.split()) != 1:
        return None
    return email


_MACHINES = ("mailerdaemon", "postmaster", "noreply", "donotreply")
_BOUNCES = frozenset({"bounce", "bounces"})
_BETWEEN_WORDS = str.maketrans("", "", "-_.")


def personal_address(value: object) -> str | None:
    """Return an address like `address`, but None for role and machine addresses: for guessing a person's identity."""
    email = address(value)
    return None if email is None or is_machine_address(email) else email


def is_machine_address(email: str) -> bool:
    """Return whether an address belongs to a machine, in any spelling and with any suffix (`no.reply-17`)."""
    local = email.partition("@")[0].partition("+")[0].translate(_BETWEEN_WORDS)
    return local.startswith(_MACHINES) or local in _BOUNCES


def linkedin(value: object) -> str | None:
    """Return a person's LinkedIn URL as given, without trailing characters that imports leave; None if it is not one.

    A company's page or a generic URL gives None: it would merge many people into one.
    """
    url = (text(value) or "").strip("<>\"', ;").rstrip("/")
    return url if len(url) <= _MAX_URL_LENGTH and len(url.split()) == 1 and linkedin_key(url) is not None else None


def split_name(full: str | None) -> tuple[str | None, str | None]:
    """Split a full name into first and last name; a single word is a first name, and an address or phone number is no name."""
    if full is None or "@" in full or not any(map(str.isalpha, full)):
        return None, None
    first_name, _, last_name = full.partition(" ")
    return first_name, last_name.strip() or None


_FLAGS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def flag(value: object) -> bool | None:
    """Return a boolean, also from a number or text; None if the value is neither yes nor no."""
    if isinstance(value, str):
        return _FLAGS.get(value.strip().lower())
    return bool(value) if isinstance(value, int) and value in (0, 1) else None


def items(value: object) -> list[object]:
    """Return a list's elements, or the values of an object with only numeric keys (a form list with gaps); else an empty list."""
    if isinstance(value, list):
        return value
    if (
        isinstance(value, dict)
        and value
        and all(isinstance(key, str) and key.isdecimal() and len(key) <= _MAX_PLACE_LENGTH for key in value)
    ):
        return [value[key] for key in sorted(value, key=int)]
    return []


def objects(data: object) -> list[dict[str, object]]:
    """Return the objects used for recognition: the body, or the first few of its list, so that one bad item does not hide the others."""
    if isinstance(data, dict):
        return [data]
    return list(islice((item for item in data if isinstance(item, dict) and item), _FIRST_FEW)) if isinstance(data, list) else []
