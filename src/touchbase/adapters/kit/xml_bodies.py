"""XML bodies as objects: an element is a member, repeated ones are a list, attributes are members too."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from touchbase.adapters.kit.body_shapes import EVENT_KEYS, says_event

_DECLARES = re.compile(r"<!\s*(DOCTYPE|ENTITY)", re.IGNORECASE)
_DEPTH = 24
_NIL = "nil"


def parsed(body: bytes | str) -> ElementTree.Element | None:
    """Return the root element of an XML body in UTF-8; None for anything else, and for one that declares entities."""
    # The standard library's parser expands entities, so a body that declares any is rejected before it is parsed. Decoding first ensures
    # that no other encoding can hide a declaration from this check.
    try:
        decoded = body.decode("utf-8-sig") if isinstance(body, bytes) else body
        return None if _DECLARES.search(decoded) else ElementTree.fromstring(decoded.strip())  # noqa: S314 - see above
    except (UnicodeDecodeError, ElementTree.ParseError, ValueError):
        return None


def name_of(element: ElementTree.Element) -> str:
    """Return an element's name without its namespace."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def xml_object(body: bytes) -> object:
    """Return the object or list of an XML body; None if it is none.

    The root is a wrapper, unless it names an event or a flat record (`<contact>`); one that only repeats an element is a list.
    """
    root = parsed(body)
    content = None if root is None else _content(root, _DEPTH)
    if root is None or not isinstance(content, dict):
        return None
    if not EVENT_KEYS.isdisjoint(content):
        return content
    if says_event(name_of(root)):
        return {**content, "event": name_of(root)}
    if not any(isinstance(member, dict | list) for member in content.values()):
        return {name_of(root): content}
    [first, *others] = content.values()
    return first if isinstance(first, list) and not others else content


def _content(element: ElementTree.Element, depth: int) -> object:
    """Return an element's text, or its attributes and elements as members; an empty element is None."""
    members: dict[str, object] = {}
    for attribute, text in element.attrib.items():
        if (local := attribute.rpartition("}")[2]) not in (_NIL, "schemaLocation"):
            members[local] = text
    for child in element if depth else ():
        name, value = name_of(child), _content(child, depth - 1)
        if isinstance(repeated := members.get(name), list):
            repeated.append(value)  # a new list for each would take quadratic time
        elif name in members:
            members[name] = [repeated, value]
        elif name:
            members[name] = value
    own = (element.text or "").strip() or None
    return {**members, "value": own} if members and own else members or own
