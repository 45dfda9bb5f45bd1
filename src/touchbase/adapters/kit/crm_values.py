"""Reading CRM values: addresses, hosts and texts in the many forms that CRMs use. No function here raises."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from urllib.parse import parse_qs

from touchbase.adapters.kit.extract import address, dig, linkedin, text
from touchbase.common.field_limits import VALUE
from touchbase.connections.models import CUSTOM_PREFIX

Record = Mapping[str, object]

_PRIMARY = ("primary", "is_primary", "isPrimary", "is-primary", "primary_address", "is_default")
_PRIMARY_KINDS = ("type", "label", "category")
_MAIL_KEYS = ("email", "value", "address", "primaryEmail", "primary_email", "email_address", "emailAddress")
_LINK_KEYS = ("url", "value", "address", "primaryLinkUrl", "link", "domain")
_NAME_KEYS = ("name", "title", "text", "email", "url", "number", "primaryEmail", "primaryLinkUrl", "primaryPhoneNumber")
"""Keys that hold an object's name, or the one value that it wraps."""
_KINDS = frozenset({"label", "primary", "type", "category"})
_KEYS_OF_OPTION = 4
"""An option object has at most this many keys; in a larger object a `label` only names the kind of value, such as a kind of address."""
_LINKED = ("id", "value", "Id", "target_record_id")
"""Keys that hold the id in an object that links to another record."""
_HOST = re.compile(
    r"(?:[a-z][a-z0-9+.-]*:)?(?://(?:[^/@\s]*@)?)?((?:[\w-]+\.)+[^\W\d_][\w-]+)\.?(?::\d+)?(?:[/?#].*)?", re.IGNORECASE | re.DOTALL
)
# A page on one of these sites is not the company's own domain.
_NOT_OWN = (
    ".linkedin.com", ".facebook.com", ".twitter.com", ".x.com", ".instagram.com", ".youtube.com", ".xing.com", ".tiktok.com",
    ".pinterest.com", ".threads.net", ".crunchbase.com", ".linktr.ee", ".sites.google.com", ".goo.gl", ".g.page", ".bit.ly", ".wa.me",
    ".t.me",
)  # fmt: skip
_MAX_HOST_LENGTH = 253
_BETWEEN = re.compile(r"[,;|\n]")


def as_dict(value: object) -> dict[str, object]:
    """Return the value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> list[object]:
    """Return the value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def as_text(value: object) -> str | None:
    """Return any value as text: a scalar unchanged, an object or list as JSON, None for an empty value."""
    if value is None or value is True or value is False:
        return None if value is None else str(value).lower()
    if isinstance(value, dict | list):
        try:
            return text(json.dumps(value, ensure_ascii=False)) if value else None
        except (RecursionError, ValueError):
            return None
    return text(value)


def status_text(value: object) -> str | None:
    """Return a status as its display text: an option object's text; several options joined by commas."""
    if isinstance(value, list):
        return ", ".join(filter(None, map(status_text, value))) or None
    if isinstance(value, dict):
        return next((status for key in ("label", "text", "name", "title", "value", "id") if (status := status_text(value.get(key)))), None)
    return as_text(value)


def display_name(value: Record) -> str | None:
    """Return an object's display name: an option's label, a linked record's name, an address's or number's text."""
    keys = ("label", "value") if "primary" not in value and len(value) <= _KEYS_OF_OPTION else ("value",)
    return next(
        (name for key in (*_NAME_KEYS, *keys) if (name := as_text(value.get(key))) and not isinstance(value[key], dict | list)), None
    )


def option_text(value: object) -> str | None:
    """Return the display text of one or several options or links; None without names, such as a list of bare numbers."""
    if isinstance(value, dict):
        return display_name(value)
    if not isinstance(value, list):
        return as_text(value)
    # An object with more keys than an option is a record of its own, such as one of a company's contacts.
    small = [item for item in value if not isinstance(item, dict) or len(item) <= _KEYS_OF_OPTION]
    return _joined(value) if len(small) == len(value) else None


def display_text(value: object) -> str | None:
    """Return the display text of any value: its names, or JSON if it has none; None for an empty value."""
    if not isinstance(value, dict | list):
        return as_text(value)
    if isinstance(value, dict) and all(name == "id" or _is_blank(inner) for name, inner in value.items()):
        return as_text(value.get("id"))
    values = [item for item in (value if isinstance(value, list) else [value]) if not _is_blank(item)]
    return (_joined(values) or as_text(value)) if values else None


def _joined(values: list[object]) -> str | None:
    """Join the names of several values with commas; None if one of them has no name."""
    names = [display_name(value) if isinstance(value, dict) else text(value) if isinstance(value, str) else None for value in values]
    return ", ".join(name for name in names if name is not None) if names and None not in names else None


def email_address(value: object) -> str | None:
    """Return the email address in a text, an object or a list of them: the primary one, else the first."""
    return _first_read(value, _address, _MAIL_KEYS)


def email_addresses(value: object) -> list[str]:
    """Return all email addresses in a text, an object or a list of them, in their order."""
    if isinstance(value, str):
        return [email for part in _BETWEEN.split(value) if (email := address(part)) is not None]
    if isinstance(value, list):
        return [email for item in value if not isinstance(item, list) for email in email_addresses(item)]
    email = email_address(value)
    return [] if email is None else [email]


def linkedin_from(value: object) -> str | None:
    """Return the LinkedIn URL in a text, an object or a list of them."""
    return _first_read(value, linkedin, _LINK_KEYS)


def host(value: object) -> str | None:
    """Return the host of a URL, an object or a list of them, in lower case without `www.`; None for social networks."""
    return _first_read(value, _host, _LINK_KEYS)


def linked_id(value: object) -> str | None:
    """Return the id in a link to another record: a scalar, an object with the id, or a list of one; `0` is no link."""
    if isinstance(value, list):
        return linked_id(value[0]) if len(value) == 1 and not isinstance(value[0], list) else None
    if isinstance(value, dict):
        return next((record_id for key in _LINKED if (record_id := linked_id(text(value.get(key)))) is not None), None)
    record_id = text(value)
    return None if record_id == "0" else record_id


def first_of(record: Record, names: Iterable[str], read: Callable[[object], str | None]) -> str | None:
    """Return the first non-empty result of `read` for these properties."""
    for name in names:
        value = record.get(name)
        if value is not None and (result := read(value)) is not None:
            return result
    return None


def differences(now: Record, before: Record, noise: frozenset[str]) -> dict[str, tuple[object, object]]:
    """Return each property that differs between two versions of a record: its value now and before."""
    names = [*now, *(name for name in before if name not in now)]
    return {name: (now.get(name), before.get(name)) for name in names if name not in noise and now.get(name) != before.get(name)}


def query_parameter(query: str, name: str) -> str | None:
    """Return a query parameter of the webhook URL, which the user appended when configuring it."""
    if not query:
        return None
    try:
        return text(parse_qs(query).get(name, [""])[0])
    except ValueError:
        return None


def _first_read(value: object, read: Callable[[object], str | None], keys: tuple[str, ...]) -> str | None:
    if isinstance(value, str):
        return read(value)
    if isinstance(value, dict):
        return next((result for key in keys if isinstance(value.get(key), str) and (result := read(value[key]))), None)
    if isinstance(value, list):
        preferred = [item for item in value if isinstance(item, dict) and _is_primary(item)]
        return next(
            (result for item in (*preferred, *value) if not isinstance(item, list) and (result := _first_read(item, read, keys))), None
        )
    return None


def _address(value: object) -> str | None:
    """Return the address in a text; the first one if the text lists several (typed by people, or flattened by a relay)."""
    if not isinstance(value, str) or value.count("@") < 2:
        return address(value)
    return next(filter(None, map(address, _BETWEEN.split(value))), None)


def _is_primary(item: Record) -> bool:
    said = any(item.get(key) in (True, "1", "true") for key in _PRIMARY)
    return said or any(text(item.get(key)) in ("primary", "Primary") for key in _PRIMARY_KINDS)


def _is_blank(value: object) -> bool:
    """Return whether a value is empty: an empty text, a list or object of empty values, or a kind alone (`work`)."""
    if isinstance(value, dict):
        return all(_is_blank(inner) or name in _KINDS for name, inner in value.items())
    if isinstance(value, list):
        return all(map(_is_blank, value))
    return value is None or value == ""


def _host(value: object) -> str | None:
    match = _HOST.fullmatch(text(value) or "")
    if match is None or len(match[1]) > _MAX_HOST_LENGTH:
        return None
    domain = match[1].lower().removeprefix("www.")
    return None if "." not in domain or f".{domain}".endswith(_NOT_OWN) else domain


def at_path(body: Mapping[str, object], path: str) -> object:
    """Return the value at a path that a client has declared, `data.person.mail`; a number is a list index.

    A key that contains the dots comes first: a relay that flattens bodies makes one key of a path.
    """
    if path in body:
        return body[path]
    value: object = body
    for key in path.split("."):
        if isinstance(value, dict):
            value = value.get(key)
        else:
            value = dig(value, int(key)) if key.isascii() and key.isdecimal() and len(key) < 6 else None
    return value


IN_LIST = "[]"
"""Ends the path of a list in a declared path: `items[].Email` is the address of each of `items`."""


def list_in(fields: Mapping[str, str]) -> str | None:
    """Return the path of the list that declared paths read for each of its elements; None if there is none."""
    return next((path.partition(IN_LIST)[0] for path in fields.values() if IN_LIST in path), None)


def declared_elements(body: Mapping[str, object], fields: Mapping[str, str]) -> list[object]:
    """Return the elements of the list that declared paths read; one empty element, if the body has none, so that it is not passed over."""
    listed = list_in(fields)
    elements = None if listed is None else at_path(body, listed)
    return elements if isinstance(elements, list) and elements else [elements]


def declared_row(body: Mapping[str, object], fields: Mapping[str, str], element: object = None) -> dict[str, object]:
    """Return the values at declared paths: of a path with `[]` from the element, of others from the body."""
    return {name: _declared(body, path, element) for name, path in fields.items()}


def declared_custom(row: Mapping[str, object], *names: str) -> dict[str, str | None]:
    """Return the custom fields of a declared row, by name or by prefix (which is cut off); only present values."""
    named = {name.removeprefix(CUSTOM_PREFIX): value for name, value in row.items() if name in names or name.startswith(CUSTOM_PREFIX)}
    return {name: shown for name, value in named.items() if (shown := display_text(value)) is not None and len(shown) <= VALUE}


def _declared(body: Mapping[str, object], path: str, element: object) -> object:
    _, in_list, below = path.partition(IN_LIST)
    if not in_list:
        return at_path(body, path)
    below = below.removeprefix(".")
    return element if not below else at_path(element, below) if isinstance(element, dict) else None
