"""Bodies of refused webhooks: stored encrypted for some days, so that an administrator can replay them once the secret is right."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b

from touchbase.common.timestamps import Micros
from touchbase.deliveries.delivery import UNRECOGNISED, Delivery
from touchbase.errors import NotFound
from touchbase.history.identity_links import Ref
from touchbase.identity.pii_scan import find_identities
from touchbase.inbox.redaction import stored_headers

LOG = logging.getLogger("touchbase.refusals")
MAX_BODY_BYTES = 256 * 1024
"""Bytes of a refused webhook with its headers and query; a longer one is listed without its body."""
MAX_WAITING_BYTES = 4 * 1024 * 1024
"""Bytes that wait in memory for a flush, of all clients."""
MAX_CLIENT_BYTES = 1024 * 1024
"""Bytes of one client: a flood leaves room for others."""
MAX_BODIES = 1_000
"""Bodies stored of each client; the oldest are deleted."""
SECRET_WORDS = ("signature", "hash", "token", "secret", "authorization", "api-key", "apikey", "password", "hmac")
SAFE_SUFFIXES = ("-event", "-topic", "-version", "timestamp", "webhook-id")


@dataclass(slots=True)
class RefusedContent:
    """A received request, without headers and query parameters in which a secret is sent."""

    headers: dict[str, str]
    query: str
    body: bytes = field(repr=False)

    @property
    def size(self) -> int:
        """Bytes of all parts."""
        return len(self.body) + len(self.query) + sum(len(name) + len(value) for name, value in self.headers.items())

    def identities(self) -> set[Ref]:
        """Return the addresses of people in it. Raises `Unsearchable`."""
        return find_identities(self.headers, self.query, self.body)


@dataclass(slots=True)
class RefusedBody:
    """A refused webhook with its body; equal ones are one."""

    client: int
    digest: str
    channel: str
    tool: str | None
    """The tool that it resembles, unverified."""
    first_us: Micros
    received_us: Micros
    """The last call."""
    calls: int
    size: int
    content: RefusedContent | None
    """None once it was replayed."""
    replayed_us: Micros | None = None
    replayed_by: str | None = None
    delivery_id: int | None = None
    erased_refs: Sequence[Ref] = ()
    """The identities in it, if the client has erased people: a body that names one of these is not stored."""

    def as_delivery(self, number: int) -> Delivery:
        """Return it in the form in which deliveries are searched for people."""
        content = self.content or RefusedContent({}, "", b"")
        return Delivery(
            self.client, "", number, self.channel, UNRECOGNISED, self.received_us, self.tool,
            headers=content.headers, query=content.query, body=content.body,
        )  # fmt: skip


def content_of(headers: Iterable[tuple[bytes, bytes]], query: str, body: bytes) -> RefusedContent | None:
    """Return the content to store of a refused webhook; None if it is too long."""
    if len(body) > MAX_BODY_BYTES:
        return None
    stored, _ = stored_headers(headers)
    shown = {name: value for name, value in stored.items() if not may_be_secret(name)}
    parts = [part for part in query.split("&") if not may_be_secret(part.partition("=")[0])]
    content = RefusedContent(shown, "&".join(parts), body)
    return content if content.size <= MAX_BODY_BYTES else None


def may_be_secret(name: str) -> bool:
    """Return whether a header or parameter of this name may have a secret."""
    name = name.lower().replace("_", "-")
    return any(word in name for word in SECRET_WORDS) and not name.endswith(SAFE_SUFFIXES)


def digest_of(channel: str, content: RefusedContent) -> str:
    """Return the id of a refused body: equal webhooks have the same one."""
    digest = blake2b(f"{channel}\n{content.query}\n".encode("utf-8", "replace"), digest_size=12)
    digest.update(content.body)
    return digest.hexdigest()


def no_such_body(digest: str) -> NotFound:
    """Return the error for an id without a stored body."""
    return NotFound(f"there is no refused webhook {digest[:60]!r} with a body; bodies are stored for a limited time")
