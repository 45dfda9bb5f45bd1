"""Form bodies: urlencoded or multipart fields, with bracketed names made into objects and lists."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from urllib.parse import unquote, unquote_to_bytes

from touchbase.adapters.kit.extract import items

_MOST_FIELDS = 20_000
_DEEPEST = 24
_LONGEST_KNOWN = 100
_NAME = re.compile(rb'\bname="([^"]*)"', re.IGNORECASE)
# Escapes that mean nothing to a form itself: taken one by one they cost three times as much as this does over all.
_HARMLESS = tuple((f"%{ord(sign):{case}}", sign) for sign in "[]@:/ ," for case in ("02X", "02x"))
_SIGNS = ("__", ".")
_LEVEL = re.compile(r"[\w$-](?:[\w$ -]*[\w$-])?")
_OFTEN_LEVELS = frozenset(
    {
        "body", "payload", "data", "event-data", "event", "lead", "contact", "prospect", "person", "recipient", "campaign", "sequence",
        "sequence_lead", "relationships", "metaData",
    }
)  # fmt: skip
_LOOKS_URLENCODED = re.compile(r"[^\s=&<>{}\"]{1,300}=")


def urlencoded(text: str) -> list[tuple[str, str]]:
    """The fields of an urlencoded body, or nothing when it does not look like one."""
    if not _LOOKS_URLENCODED.match(text):
        return []
    if text.count("&") >= _MOST_FIELDS:
        return []
    text = text.replace("+", " ")
    if "%" in text:
        for escape, sign in _HARMLESS:
            text = text.replace(escape, sign)
    pairs = (field.partition("=") for field in text.split("&") if field)
    return [(_plain(name), _plain(value)) for name, _, value in pairs]


def _plain(text: str) -> str:
    if "%" not in text:
        return text
    return unquote_to_bytes(text).decode("utf-8", "replace") if text.isascii() else unquote(text)


def multipart(body: bytes) -> list[tuple[str, str]]:
    """The text fields of a multipart/form-data body; files are left out. The first line is the boundary."""
    boundary = body.partition(b"\n")[0].strip()
    fields = []
    for part in body.split(boundary, _MOST_FIELDS)[1:_MOST_FIELDS]:
        head, blank, content = part.partition(b"\r\n\r\n")
        if not blank:
            head, blank, content = part.partition(b"\n\n")
        if blank and (name := _field_name(head)) is not None:
            fields.append((name.decode("utf-8", "replace"), content.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8", "replace")))
    return fields


def _field_name(head: bytes) -> bytes | None:
    """The name of a text field, from the head of its part; None for a file. Header by header: one pattern over all took cubic time."""
    for line in head.splitlines():
        header, _, value = line.partition(b":")
        if header.strip().lower() == b"content-disposition" and value.lstrip()[:9].lower() == b"form-data":
            name = _NAME.search(value)
            return None if name is None or b"filename=" in value[name.end() :].lower() else name[1]
    return None


def nested(fields: Iterable[tuple[str, object]]) -> dict[str, object]:
    """Fields as one object: `leads[status][0][id]=7` is {"leads": {"status": [{"id": "7"}]}}.

    A name that comes twice becomes a list. Where a name is a value and an object in one body, the value
    stands under "" in the object. Numbered names make a list when one of them is 0 (gaps close up), else
    they are taken for ids and stay names.
    """
    root: dict[str, object] = {}
    places: dict[tuple[str, ...], dict[str, object]] = {}
    for name, value in fields:
        if name[-1:] != "]":
            _put(root, name, value)
            continue
        above, key = _path(name) if len(name) > _LONGEST_KNOWN else _known_path(name)
        node = places.get(above)
        if node is None:
            node = _place(root, above)
            if "" not in above:
                # Most fields stand beside the one before. What has no number of its own is another place every time.
                places[above] = node
        _put(node, key or str(len(node)), value)
    return {name: _with_lists(value) if isinstance(value, dict) else value for name, value in root.items()}


def unflattened(data: dict[str, object]) -> dict[str, object] | None:
    """An object whose levels a relay has written into its names, `lead__email` or `lead.email`; None where nothing shows that."""
    names = " ".join(data)
    for sign in _SIGNS:
        if sign not in names:
            continue
        levels = {name: path for name in data if sign in name and (path := _levels(name, sign))}
        if not levels:
            continue
        tops = Counter(path[0] for path in levels.values())
        is_list = sign == "__" and any(path[1] == "0" for path in levels.values())
        # A value and levels under one name are two things that only look alike.
        if (is_list or max(tops.values()) > 1 or tops.keys() & _OFTEN_LEVELS) and not data.keys() & tops.keys():
            return nested((_bracketed(levels.get(name, (name,))), value) for name, value in data.items())
    return None


def _levels(name: str, sign: str) -> tuple[str, ...]:
    """The levels in a name that the sign divides; none where it does not look like that."""
    return _split(name, sign) if len(name) > _LONGEST_KNOWN else _known_levels(name, sign)


def _split(name: str, sign: str) -> tuple[str, ...]:
    path = tuple(name.split(sign))
    is_path = len(path) > 1 and path[0][:1].isalpha() and all(_LEVEL.fullmatch(level) for level in path)
    return path if is_path and not name.endswith("__c") else ()


def _bracketed(path: tuple[str, ...]) -> str:
    return path[0] + "".join(f"[{key}]" for key in path[1:])


def _path(name: str) -> tuple[tuple[str, ...], str]:
    """`a[b][]` is a and b, and nothing in them; a name whose brackets are not all like that, or too many, is one piece."""
    start, _, rest = name.partition("[")
    path = (start, *rest[:-1].split("]["))
    is_whole = start and name.count("[") == name.count("]") == len(path) - 1
    return (path[:-1], path[-1]) if is_whole and len(path) <= _DEEPEST else ((), name)


# A tool sends the same names again and again.
_known_path = lru_cache(maxsize=2_000)(_path)
_known_levels = lru_cache(maxsize=2_000)(_split)


def _place(root: dict[str, object], path: tuple[str, ...]) -> dict[str, object]:
    """The object at a path, made where it is not there yet."""
    node = root
    for name in path:
        # `[]` is the next place in a list.
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
