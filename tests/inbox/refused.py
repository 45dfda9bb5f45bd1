"""A refused webhook with its body, for tests about all tables."""

from __future__ import annotations

from touchbase.inbox.refused_bodies import RefusedBody, RefusedContent

DIGEST = "0123456789abcdef01234567"


def refused_body(client: int, at: int = 5, text: str = "zq080refusedqz") -> RefusedBody:
    content = RefusedContent({"x-hook": "zq091hookqz"}, "hint=zq079queryqz", b'{"text": "%s"}' % text.encode())
    return RefusedBody(client, DIGEST, "crm", "hubspot", at, at, 1, content.size, content)
