"""Reading CRM values: addresses, hosts and texts out of the many forms in which CRMs keep them. Nothing here raises."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from urllib.parse import parse_qs

from touchbase.adapters.kit.extract import address, linkedin, text

Record = Mapping[str, object]

_PRIMARY = ("primary", "is_primary", "isPrimary", "is-primary", "primary_address", "is_default")
_PRIMARY_KINDS = ("type", "label", "category")
_MAIL_KEYS = ("email", "value", "address", "primaryEmail", "primary_email", "email_address", "emailAddress")
_LINK_KEYS = ("url", "value", "address", "primaryLinkUrl", "link", "domain")
_NAME_KEYS = ("name", "title", "text", "email", "url", "number", "primaryEmail", "primaryLinkUrl", "primaryPhoneNumber")
"""Where an object says what it is called, or holds the one thing that it is about."""
_KINDS = frozenset({"label", "primary", "type", "category"})
_KEYS_OF_OPTION = 4
"""An option has no more; of what has, a `label` only says of which kind it is, as of an address."""
_LINKED = ("id", "value", "Id", "target_record_id")
"""Where an object that stands for another record has its id."""
_HOST = re.compile(
    r"(?:[a-z][a-z0-9+.-]*:)?(?://(?:[^/@\s]*@)?)?((?:[\w-]+\.)+[^\W\d_][\w-]+)\.?(?::\d+)?(?:[/?#].*)?", re.IGNORECASE | re.DOTALL
)
# A company that fills in its page on one of these has not told its domain.
_NOT_OWN = (
    ".linkedin.com", ".facebook.com", ".twitter.com", ".x.com", ".instagram.com", ".youtube.com", ".xing.com", ".tiktok.com",
    ".pinterest.com", ".threads.net", ".crunchbase.com", ".linktr.ee", ".sites.google.com", ".goo.gl", ".g.page", ".bit.ly", ".wa.me",
    ".t.me",
)  # fmt: skip
_LONGEST_HOST = 253
_BETWEEN = re.compile(r"[,;|\n]")


def as_dict(value: object) -> dict[str, object]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> list[object]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def plain(value: object) -> str | None:
    """Any value as text: a scalar as it is, an object or list as JSON, nothing for what is empty."""
    if value is None or value is True or value is False:
        return None if value is None else str(value).lower()
    if isinstance(value, dict | list):
        try:
            return text(json.dumps(value, ensure_ascii=False)) if value else None
        except (RecursionError, ValueError):
            return None
    return text(value)


def label(value: object) -> str | None:
    """A status as people read it: the text of an option object, several options joined by commas."""
    if isinstance(value, list):
        return ", ".join(filter(None, map(label, value))) or None
    if isinstance(value, dict):
        return next((found for key in ("label", "text", "name", "title", "value", "id") if (found := label(value.get(key)))), None)
    return plain(value)


def called(value: Record) -> str | None:
    """What an object is called: an option's label, a linked record's name, an address's or a number's text."""
    keys = ("label", "value") if "primary" not in value and len(value) <= _KEYS_OF_OPTION else ("value",)
    return next(
        (found for key in (*_NAME_KEYS, *keys) if (found := plain(value.get(key))) and not isinstance(value[key], dict | list)), None
    )


def choices(value: object) -> str | None:
    """An option, a link or several of them as people read them; None for what has no name, such as bare numbers in a list."""
    if isinstance(value, dict):
        return called(value)
    if not isinstance(value, list):
        return plain(value)
    # What has more than an option has is a record of its own, such as a company's contacts.
    small = [one for one in value if not isinstance(one, dict) or len(one) <= _KEYS_OF_OPTION]
    return _joined(value) if len(small) == len(value) else None


def shown(value: object) -> str | None:
    """Any value as people read it, by its names, as JSON where it has none; nothing for what holds nothing."""
    if not isinstance(value, dict | list):
        return plain(value)
    if isinstance(value, dict) and all(name == "id" or _is_blank(inner) for name, inner in value.items()):
        return plain(value.get("id"))
    told = [one for one in (value if isinstance(value, list) else [value]) if not _is_blank(one)]
    return (_joined(told) or plain(value)) if told else None


def _joined(values: list[object]) -> str | None:
    """The names of several values with commas between them; None where one of them has none."""
    names = [called(one) if isinstance(one, dict) else text(one) if isinstance(one, str) else None for one in values]
    return ", ".join(name for name in names if name is not None) if names and None not in names else None


def mail(value: object) -> str | None:
    """The e-mail address in a text, an object or a list of them: the primary one, else the first."""
    return _found(value, _address, _MAIL_KEYS)


def link(value: object) -> str | None:
    """The LinkedIn address in a text, an object or a list of them."""
    return _found(value, linkedin, _LINK_KEYS)


def host(value: object) -> str | None:
    """The host of a web address, an object or a list of them, in lower case without `www.`; a social network's is none."""
    return _found(value, _host, _LINK_KEYS)


def linked_id(value: object) -> str | None:
    """The id in a link to another record: a scalar, an object that holds it, or a list of just one; `0` leads nowhere."""
    if isinstance(value, list):
        return linked_id(value[0]) if len(value) == 1 and not isinstance(value[0], list) else None
    if isinstance(value, dict):
        return next((found for key in _LINKED if (found := linked_id(text(value.get(key)))) is not None), None)
    found = text(value)
    return None if found == "0" else found


def first_of(record: Record, names: Iterable[str], read: Callable[[object], str | None]) -> str | None:
    """What `read` makes of the first of these properties that holds anything for it."""
    for name in names:
        value = record.get(name)
        if value is not None and (found := read(value)) is not None:
            return found
    return None


def differences(now: Record, before: Record, noise: frozenset[str]) -> dict[str, tuple[object, object]]:
    """Each property that differs between two versions of a record: its value now and before."""
    names = [*now, *(name for name in before if name not in now)]
    return {name: (now.get(name), before.get(name)) for name in names if name not in noise and now.get(name) != before.get(name)}


def in_query(query: str, name: str) -> str | None:
    """The value of a query parameter: what the user has written behind the address that they pasted."""
    if not query:
        return None
    try:
        return text(parse_qs(query).get(name, [""])[0])
    except ValueError:
        return None


def _found(value: object, read: Callable[[object], str | None], keys: tuple[str, ...]) -> str | None:
    if isinstance(value, str):
        return read(value)
    if isinstance(value, dict):
        return next((found for key in keys if isinstance(value.get(key), str) and (found := read(value[key]))), None)
    if isinstance(value, list):
        preferred = [item for item in value if isinstance(item, dict) and _is_primary(item)]
        return next((found for item in (*preferred, *value) if not isinstance(item, list) and (found := _found(item, read, keys))), None)
    return None


def _address(value: object) -> str | None:
    """The address in a text; the first one where people, or a relay that has flattened a list, have put several."""
    if not isinstance(value, str) or value.count("@") < 2:
        return address(value)
    return next(filter(None, map(address, _BETWEEN.split(value))), None)


def _is_primary(item: Record) -> bool:
    said = any(item.get(key) in (True, "1", "true") for key in _PRIMARY)
    return said or any(text(item.get(key)) in ("primary", "Primary") for key in _PRIMARY_KINDS)


def _is_blank(value: object) -> bool:
    """Whether nothing is told: an empty text, or a list or an object of nothing else. Of a kind alone (`work`) nothing is told either."""
    if isinstance(value, dict):
        return all(_is_blank(inner) or name in _KINDS for name, inner in value.items())
    if isinstance(value, list):
        return all(map(_is_blank, value))
    return value is None or value == ""


def _host(value: object) -> str | None:
    match = _HOST.fullmatch(text(value) or "")
    if match is None or len(match[1]) > _LONGEST_HOST:
        return None
    found = match[1].lower().removeprefix("www.")
    return None if "." not in found or f".{found}".endswith(_NOT_OWN) else found
