"""Conditional requests: reads with `If-None-Match` and 304, writes with `If-Match` and 412 (RFC 9110, 13.1)."""

from __future__ import annotations

import re
from hashlib import blake2b
from typing import Any

from touchbase.audit import list_audit_events
from touchbase.common.timestamps import to_text
from touchbase.errors import PreconditionFailed
from touchbase.http.endpoint import Call
from touchbase.http.responses import Response
from touchbase.http.routing import Success

ETAG = b"etag"
_IF_NONE_MATCH = b"if-none-match"
_TAG = re.compile(rb'"[^"]*"')
IF_NONE_MATCH = {
    "name": "If-None-Match",
    "in": "header",
    "required": False,
    "schema": {"type": "string"},
    "description": "ETags that the caller has; if one is still valid, the response is a 304 without a body.",
}
NOT_MODIFIED = Success(304, "The caller has this already: an ETag of `If-None-Match` is still valid.", headers=("ETag",))


def tagged(body: bytes) -> Response:
    """Return a response with an ETag made from its body."""
    return Response(body=body, headers=[(ETAG, b'"%s"' % blake2b(body, digest_size=12).hexdigest().encode())])


def unless_known(call: Call, response: Response) -> Response:
    """Return 304 in place of a response whose ETag the request names; weak tags match too."""
    if _IF_NONE_MATCH not in call.headers:
        return response
    wanted = b",".join(value for name, value in call.scope["headers"] if name == _IF_NONE_MATCH)
    tags = [value for name, value in response.headers if name == ETAG]
    if wanted.strip() == b"*" or set(_TAG.findall(wanted)) & set(tags):
        return Response(304, headers=[(ETAG, tag) for tag in tags])
    return response


def if_match(thing: str) -> dict[str, Any]:
    """Return the parameter of a write that a change of the thing since it was read refuses."""
    about = f"The ETag that the {thing} must still have; after a change by somebody else the response is 412."
    return {"name": "If-Match", "in": "header", "required": False, "schema": {"type": "string"}, "description": about}


def tags_named(call: Call) -> frozenset[str] | None:
    """Return the ETags of `If-Match`, without quotes; None: any version may be changed."""
    values = [value.decode("latin-1").strip() for name, value in call.scope["headers"] if name == b"if-match"]
    if not values or values == ["*"]:
        return None
    return frozenset(tag.strip().strip('"') for tag in ",".join(values).split(","))


async def changed_since(
    call: Call, thing: str, action: str | None, client: int | None = None, target_id: str | None = None
) -> PreconditionFailed:
    """Return the error of a write whose `If-Match` names a former version: it says who changed the thing and when.

    `action`: of the audit log, or the beginning of several, such as `connection.`.
    """
    parts = call.api.dependencies
    clients = None if client is None else (client,)
    events = await parts.store.read(list_audit_events(50, clients, action=action))
    last = next((event for event in events if event.target_id == target_id), None)
    who, data = "", dict[str, object]()
    if last is not None:
        await call.api.actors.load([last.actor_id])
        name, at = call.api.actors.by(last.actor_id, last.via).name, to_text(last.at_us)
        who, data = f", by {name or 'somebody'} at {at}", {"changed_by": name, "changed_at": at}
    return PreconditionFailed(f"the {thing} has changed since it was read{who}; read it again, and send its ETag in If-Match", data=data)
