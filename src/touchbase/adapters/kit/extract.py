"""Reading values out of what people and tools have put into a body: nothing here ever raises."""

from __future__ import annotations

import math
import re
from itertools import islice

_FIRST_FEW = 5
_LONGEST_ADDRESS = 320
_LONGEST_URL = 2_000
_LONGEST_NUMBER = 256
_LONGEST_PLACE = 100
_LINKEDIN = re.compile(r"(?:linkedin\.com|lnkd\.in)/+((?:(?:in|pub)/+)?[^/?#]*)", re.IGNORECASE)
_NOT_A_PERSON = frozenset({"", "in", "in/", "pub", "pub/", "company", "school", "showcase", "feed", "jobs", "groups", "posts"})
_LONGEST_TEXT = 10_000


def dig(data: object, *keys: str | int) -> object:
    """The value under a chain of keys (a number is an index into a list), or None where the chain breaks."""
    for key in keys:
        if isinstance(data, dict):
            data = data.get(key)
        elif isinstance(data, list) and isinstance(key, int) and -len(data) <= key < len(data):
            data = data[key]
        else:
            return None
    return data


def first(data: object, *keys: str) -> object:
    """The first value among these keys of an object that is neither null nor an empty text."""
    if isinstance(data, dict):
        for key in keys:
            value = data.get(key)
            if value is not None and value != "":
                return value
    return None


def text(value: object) -> str | None:
    """A text or a number as trimmed text; blank, yes/no, list and object are None.

    Characters that no database takes (NUL, half a surrogate pair) are left out, and what is beyond 10,000.
    """
    if isinstance(value, str):
        if not value.isascii() and not value.isprintable():
            value = value.encode("utf-8", "ignore").decode()
        return (value.replace("\0", "") if "\0" in value else value).strip()[:_LONGEST_TEXT] or None
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return str(value) if value.bit_length() <= _LONGEST_NUMBER else None
    if isinstance(value, float) and math.isfinite(value):
        return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
    return None


def address(value: object) -> str | None:
    """An e-mail address in lower case, the part in `<...>` where there is one; None when it is none.

    `+tag` stays. Only what makes it an address is checked here, not whether one may write to it.
    """
    if not isinstance(value, str) or "@" not in value:
        return None
    if "<" in value:
        value = value[value.rindex("<") + 1 :].partition(">")[0]
    found = (text(value) or "").strip("\"', ;").lower().removeprefix("mailto:")
    local, _, domain = found.partition("@")
    if not local or not domain or "@" in domain or len(found) > _LONGEST_ADDRESS or len(found.split()) != 1:
        return None
    return found


_NOBODY = ("mailerdaemon", "postmaster", "noreply", "donotreply")
_BOUNCES = frozenset({"bounce", "bounces"})
_BETWEEN_WORDS = str.maketrans("", "", "-_.")


def person(value: object) -> str | None:
    """An address as `address`, but None for those behind which no person sits: for guessing who somebody is."""
    found = address(value)
    return None if found is None or is_nobody(found) else found


def is_nobody(found: str) -> bool:
    """Whether no person sits behind an address: a machine's, however it is written and whatever follows (`no.reply-17`)."""
    local = found.partition("@")[0].partition("+")[0].translate(_BETWEEN_WORDS)
    return local.startswith(_NOBODY) or local in _BOUNCES


def linkedin(value: object) -> str | None:
    """A person's LinkedIn address as given, without what imports leave at its end; None when it is none.

    A company's page, or an address that leads to nobody, would make one person of many and is none.
    """
    found = (text(value) or "").strip("<>\"', ;")
    match = _LINKEDIN.search(found)
    if match is None or match[1].lower() in _NOT_A_PERSON or len(found) > _LONGEST_URL or len(found.split()) != 1:
        return None
    return found


def split_name(full: str | None) -> tuple[str | None, str | None]:
    """First and last name out of one; a single word is no last name, and an address or a telephone number no name."""
    if full is None or "@" in full or not any(map(str.isalpha, full)):
        return None, None
    first_name, _, last_name = full.partition(" ")
    return first_name, last_name.strip() or None


_FLAGS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def flag(value: object) -> bool | None:
    """Yes or no as tools write it, also as a number or a text; None when it is neither."""
    if isinstance(value, str):
        return _FLAGS.get(value.strip().lower())
    return bool(value) if isinstance(value, int) and value in (0, 1) else None


def items(value: object) -> list[object]:
    """A list's elements; of an object whose keys are all numbers (a form's list with gaps) its values; else nothing."""
    if isinstance(value, list):
        return value
    if isinstance(value, dict) and value and all(isinstance(key, str) and key.isdecimal() and len(key) <= _LONGEST_PLACE for key in value):
        return [value[key] for key in sorted(value, key=int)]
    return []


def objects(data: object) -> list[dict[str, object]]:
    """What a body is recognised by: the object that it is, or the first few of its list, so that one bad item hides no other."""
    if isinstance(data, dict):
        return [data]
    return list(islice((item for item in data if isinstance(item, dict) and item), _FIRST_FEW)) if isinstance(data, list) else []
