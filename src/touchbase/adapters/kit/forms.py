"""Form bodies: urlencoded or multipart fields, with bracketed names parsed into objects and lists."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from urllib.parse import unquote, unquote_to_bytes

from touchbase.adapters.kit.extract import items

_MAX_FIELDS = 20_000
_MAX_DEPTH = 24
_MAX_KNOWN_LENGTH = 100
_NAME = re.compile(rb'\bname="([^"]*)"', re.IGNORECASE)
# Escapes without meaning to form syntax are decoded in one pass: decoding field by field is three times slower.
_HARMLESS = tuple((f"%{ord(char):{case}}", char) for char in "[]@:/ ," for case in ("02X", "02x"))
_SEPARATORS = ("__", ".")
_LEVEL = re.compile(r"[\w$-](?:[\w$ -]*[\w$-])?")
_OFTEN_LEVELS = frozenset(
    {
        "body", "payload", "data", "event-data", "event", "lead", "contact", "prospect", "person", "recipient", "campaign", "sequence",
        "sequence_lead", "relationships", "metaData",
    }
)  # fmt: skip
_LOOKS_URLENCODED = re.compile(r"[^\s=&<>{}\"]{1,300}=")


def urlencoded(text: str) -> list[tuple[str, str]]:
    """Return the fields of an urlencoded body; an empty list if it does not look like one."""
    if not _LOOKS_URLENCODED.match(text):
        return []
    if text.count("&") >= _MAX_FIELDS:
        return []
    text = text.replace("+", " ")
    if "%" in text:
        for escape, char in _HARMLESS:
            text = text.replace(escape, char)
    pairs = (field.partition("=") for field in text.split("&") if field)
    return [(_plain(name), _plain(value)) for name, _, value in pairs]


def _plain(text: str) -> str:
    if "%" not in text:
        return text
    return unquote_to_bytes(text).decode("utf-8", "replace") if text.isascii() else unquote(text)


def multipart(body: bytes) -> list[tuple[str, str]]:
    """Return the text fields of a multipart/form-data body, without files. The first line is the boundary."""
    boundary = body.partition(b"\n")[0].strip()
    fields = []
    for part in body.split(boundary, _MAX_FIELDS)[1:_MAX_FIELDS]:
        head, blank, content = part.partition(b"\r\n\r\n")
        if not blank:
            head, blank, content = part.partition(b"\n\n")
        if blank and (name := _field_name(head)) is not None:
            fields.append((name.decode("utf-8", "replace"), content.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8", "replace")))
    return fields


def _field_name(head: bytes) -> bytes | None:
    """Return a text field's name from its part's headers; None for a file. Parsed header by header: a single pattern took cubic time."""
    for line in head.splitlines():
        header, _, value = line.partition(b":")
        if header.strip().lower() == b"content-disposition" and value.lstrip()[:9].lower() == b"form-data":
            name = _NAME.search(value)
            return None if name is None or b"filename=" in value[name.end() :].lower() else name[1]
    return None


def nested(fields: Iterable[tuple[str, object]]) -> dict[str, object]:
    """Parse fields into one object: `leads[status][0][id]=7` is {"leads": {"status": [{"id": "7"}]}}.

    A repeated name becomes a list. If a name is both a value and an object, the value is stored under "" in the object.
    Numeric names become a list if one of them is 0 (gaps are closed); otherwise they are ids and stay names.
    """
    root: dict[str, object] = {}
    places: dict[tuple[str, ...], dict[str, object]] = {}
    for name, value in fields:
        if name[-1:] != "]":
            _put(root, name, value)
            continue
        above, key = _path(name) if len(name) > _MAX_KNOWN_LENGTH else _cached_path(name)
        node = places.get(above)
        if node is None:
            node = _place(root, above)
            if "" not in above:
                # Consecutive fields usually share a parent. A path with `[]` refers to a new element each time.
                places[above] = node
        _put(node, key or str(len(node)), value)
    return {name: _with_lists(value) if isinstance(value, dict) else value for name, value in root.items()}


def unflattened(data: dict[str, object]) -> dict[str, object] | None:
    """Rebuild the levels of an object that a relay flattened into names, `lead__email` or `lead.email`; None without such names."""
    names = " ".join(data)
    for separator in _SEPARATORS:
        if separator not in names:
            continue
        # What a relay has flattened has no objects left: a name above objects is an event's, `lead.replied`.
        plain = (name for name, value in data.items() if separator in name and not _has_objects(value))
        levels = {name: path for name in plain if (path := _levels(name, separator))}
        if not levels:
            continue
        tops = Counter(path[0] for path in levels.values())
        is_list = separator == "__" and any(path[1] == "0" for path in levels.values())
        # A value and a subtree under one name are two unrelated keys.
        if (is_list or max(tops.values()) > 1 or tops.keys() & _OFTEN_LEVELS) and not data.keys() & tops.keys():
            return nested((_bracketed(levels.get(name, (name,))), value) for name, value in data.items())
    return None


def _has_objects(value: object) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and any(isinstance(item, dict) for item in value))


def _levels(name: str, separator: str) -> tuple[str, ...]:
    """Split a flattened name at the separator; an empty tuple if it is not a flattened name."""
    return _split(name, separator) if len(name) > _MAX_KNOWN_LENGTH else _cached_levels(name, separator)


def _split(name: str, separator: str) -> tuple[str, ...]:
    path = tuple(name.split(separator))
    is_path = len(path) > 1 and path[0][:1].isalpha() and all(_LEVEL.fullmatch(level) for level in path)
    return path if is_path and not name.endswith("__c") else ()


def _bracketed(path: tuple[str, ...]) -> str:
    return path[0] + "".join(f"[{key}]" for key in path[1:])


def _path(name: str) -> tuple[tuple[str, ...], str]:
    """Split `a[b][]` into a and b, with an empty last part; a malformed or too deep name is one part."""
    start, _, remainder = name.partition("[")
    path = (start, *remainder[:-1].split("]["))
    is_well_formed = start and name.count("[") == name.count("]") == len(path) - 1
    return (path[:-1], path[-1]) if is_well_formed and len(path) <= _MAX_DEPTH else ((), name)


# Cached: a tool repeats the same names.
_cached_path = lru_cache(maxsize=2_000)(_path)
_cached_levels = lru_cache(maxsize=2_000)(_split)


def _place(root: dict[str, object], path: tuple[str, ...]) -> dict[str, object]:
    """Return the object at a path, created if missing."""
    node = root
    for name in path:
        # `[]` appends to a list.
        key = name or str(len(node))
        below = node.get(key)
        if not isinstance(below, dict):
            below = {} if below is None else {"": below}
            node[key] = below
        node = below
    return node


def _put(node: dict[str, object], key: str, value: object) -> None:
    before = node.get(key)
    if before is None:
        node[key] = value
    elif isinstance(before, dict):
        _put(before, "", value)
    elif isinstance(before, list):
        before.append(value)
    else:
        node[key] = [before, value]


def _with_lists(value: dict[str, object]) -> object:
    below = {key: _with_lists(item) if isinstance(item, dict) else item for key, item in value.items()}
    return (items(below) or below) if "0" in below else below
