"""Sets of values in the description: each is one named component, so that generated clients have one type for each meaning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

from touchbase.auth.api_key import KEY_STATES
from touchbase.clients.models import CLIENT_STATES, ON_DUPLICATE
from touchbase.connections.models import CHANNELS
from touchbase.http.query_parameters import STRUCTURES
from touchbase.inbox.delivery import GONE_ERASED, GONE_RETENTION, STATES
from touchbase.inbox.refused import CAUSES
from touchbase.inbox.refused_service import Reason
from touchbase.inbox.service import GROUPED

Json = dict[str, Any]

ENUMS: dict[str, tuple[str, Sequence[str]]] = {
    "Structure": ("The format of custom fields: a list of objects, or one object by field name.", STRUCTURES),
    "OnDuplicate": ("What creating a record does when it exists: refuse, answer it, or merge into it.", ON_DUPLICATE),
    "Channel": ("The kind of tool.", CHANNELS),
    "DeliveryState": ("Where a received webhook call stands.", STATES),
    "UnchangedState": ("The states of deliveries that changed nothing.", GROUPED),
    "RefusalCause": (". ".join(f"`{cause}`: {about}" for cause, about in CAUSES.items()) + ".", tuple(CAUSES)),
    "UnverifiedReason": ("Why calls that came unverified would be refused from now.", get_args(Reason)),
    "BodyRemovalReason": (
        "Why a body was removed: retention, or the erasure of a person whom the call names.",
        (GONE_RETENTION, GONE_ERASED),
    ),
    "BodyEncoding": ("How a body is written: as text, or in base64 where it is not UTF-8.", ("utf-8", "base64")),
    "RecordKind": ("The kind of record.", ("contact", "company")),
    "ClientState": ("Whether a client's records are open, closed, or being removed.", CLIENT_STATES),
    "CustomFieldType": ("The type of a declared custom field.", ("text", "number", "boolean", "date", "select")),
    "KeyState": ("Whether a key opens anything.", KEY_STATES),
    "KeyScope": ("What a key allows.", ("records:read", "records:write", "admin")),
    "SecretState": ("Whether there is a secret; it is never shown.", ("set", "not set")),
    "FetchingState": ("How asking a tool's API for records goes.", ("idle", "working", "waiting", "stopped")),
}
"""Name, meaning and values. No two have the same values: a schema finds its name by them."""

_NAMES = {frozenset(values): name for name, (_, values) in ENUMS.items()}


def with_named_enums(document: Json) -> Json:
    """The document with a reference to the named component in place of each set of values that has a name."""
    made: Json = _named(document)
    made["components"]["schemas"] |= {
        name: {"title": name, "description": about, "type": "string", "enum": list(values)} for name, (about, values) in ENUMS.items()
    }
    return made


def _named(node: Any) -> Any:
    if isinstance(node, list):
        return [_named(each) for each in node]
    if not isinstance(node, dict):
        return node
    values = node.get("enum")
    name = _NAMES.get(frozenset(values)) if isinstance(values, list) else None
    if name is None:
        return {key: _named(each) for key, each in node.items()}
    left = {key: each for key, each in node.items() if key not in ("enum", "type")}
    return {**left, "$ref": f"#/components/schemas/{name}"}
