"""Conditional reads: `If-None-Match` and 304 (RFC 9110, 13.1.2)."""

from __future__ import annotations

import re
from hashlib import blake2b

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
