"""Location of the record in a body: the body itself, or up to three levels down."""

from __future__ import annotations

from touchbase.adapters.crm.generic.shapes import HOST_KEYS, ID_KEYS, LIST_KEYS, MAIL_KEYS, OWN_ID_KEYS, RECORD_KEYS, usual
from touchbase.adapters.crm.generic.words import OTHERS, US, noun_in, words_of
from touchbase.adapters.kit.crm import COMPANY, CONTACT
from touchbase.adapters.kit.crm_adapter import Body
from touchbase.adapters.kit.crm_values import as_dict, email_address, first_of, host
from touchbase.adapters.kit.extract import first

_ONLY_LISTS = tuple(name for name in LIST_KEYS if name not in RECORD_KEYS)
_BESIDE_THE_ID = ("attributes", "fields")
_MAX_DEPTH = 3
_ANY_ID = (*ID_KEYS, *OWN_ID_KEYS[CONTACT], *OWN_ID_KEYS[COMPANY])
_ANOTHERS = US | OTHERS | {"old", "previous", "before", "original", "parent", "primary"}


def record_of(body: Body, kind: str | None) -> tuple[Body, str | None]:
    """Return the record and the last key of its path; `kind` is the body's own statement of the kind, if any."""
    key = next((name for name in _ONLY_LISTS if isinstance(body.get(name), dict)), None)
    if key is not None:
        inner = as_dict(body[key])
        # Airtable has a row's cells below its id.
        cells = inner.get("fields")
        return usual({"id": inner.get("id"), **cells} if isinstance(cells, dict) and not _has_identity(inner) else inner), key
    for depth in range(_MAX_DEPTH):
        name = next((name for name in _objects_in(body) if _leads_on(body, name, kind)), None)
        if name is None and not depth and kind is not None:
            name = next((name for name in body if _is_named_after(kind, name) and _is_record(usual(as_dict(body[name])))), None)
        if name is None:
            break
        inner = usual(as_dict(body[name]))
        if depth and name in _BESIDE_THE_ID and "id" in body:
            inner = {"id": body["id"], **inner}
        body, key = inner, name
        kind = kind or noun_in(words_of(name))
    return body, key


def _is_named_after(kind: str, name: str) -> bool:
    """Return whether a key such as `contactCreated` names the record itself: not its owner, nor its previous state."""
    words = words_of(name)
    return noun_in(words) == kind and len(words) > 1 and _ANOTHERS.isdisjoint(words)


def _objects_in(body: Body) -> list[str]:
    """Return the keys that may contain the record, the most likely first."""
    inside = {name for name, value in body.items() if isinstance(value, dict)}
    return [name for name in RECORD_KEYS if name in inside] if inside else []


def _leads_on(body: Body, name: str, kind: str | None) -> bool:
    """Return whether the record is under this key, and not already here with a company, parent or fields under the key."""
    noun, inner = noun_in(words_of(name)), usual(as_dict(body[name]))
    if noun is not None and kind is not None:
        return noun == kind and not (_has_identity(body) and not _has_identity(inner))
    if first_of(body, MAIL_KEYS, email_address) is None:
        return True
    return noun != COMPANY and (_is_record(inner) or any(isinstance(value, dict) for value in inner.values()))


def _is_record(body: Body) -> bool:
    return first(body, *_ANY_ID) is not None or _has_identity(body)


def _has_identity(body: Body) -> bool:
    return first_of(body, MAIL_KEYS, email_address) is not None or first_of(body, HOST_KEYS, host) is not None
