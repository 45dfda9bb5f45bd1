"""API keys as the store holds them, and their states."""

from __future__ import annotations

import re
from dataclasses import dataclass

from touchbase.common.timestamps import Micros
from touchbase.errors import NotFound

ACTIVE = "active"
EXPIRED = "expired"
REVOKED = "revoked"
KEY_STATES = (ACTIVE, EXPIRED, REVOKED)
MINUTE: Micros = 60_000_000
REPORT_LINK = "report"
"""The only scope of a report link, which is stored as a key: it shows one page, and opens no route of the API."""
KEY_TEXT = re.compile(r"tb_[a-z0-9]{1,16}_([0-9a-f]{12})_([0-9a-f]{64})_([0-9a-f]{8})")
_ID = re.compile(r"[0-9a-f]{12}")


def no_such_key(key_id: str) -> NotFound:
    """Return the error for an unknown key id. A text in another form is not repeated: it may be a key."""
    if _ID.fullmatch(key_id) is None:
        return NotFound("there is no such key; an id is 12 hexadecimal digits, those behind tb_live_ in the key")
    return NotFound(f"there is no key {key_id!r}")


@dataclass(slots=True)
class ApiKey:
    """A stored API key: never its text, only the SHA-256 of the text."""

    key_id: str
    digest: bytes
    scopes: tuple[str, ...]
    client: int | None
    """The number of the client whose records it gives access to; None: any client's."""
    name: str
    created_us: Micros = 0
    env: str = "live"
    """A word in the key's text, to tell several keys apart."""
    expires_us: Micros | None = None
    revoked_us: Micros | None = None
    last_used_us: Micros | None = None
    """To the minute."""
    replaces: str | None = None
    """The key of which this is the successor."""
    replaced_by: str | None = None
    user_id: str | None = None
    """Person of a personal key, whose rights limit these scopes; None: a service's key."""
    granted_client: int | None = None
    """Of a personal key: its only client; None: all clients of the person."""

    @property
    def prefix(self) -> str:
        """The beginning of its text: enough to recognise it, and no secret."""
        return f"tb_{self.env}_{self.key_id}"

    @property
    def is_report_link(self) -> bool:
        """Return whether it is the link of a report, and no key."""
        return REPORT_LINK in self.scopes

    def state(self, at: Micros) -> str:
        """Return the key's state at this time, one of `KEY_STATES`."""
        if self.revoked_us is not None:
            return REVOKED
        return EXPIRED if self.expires_us is not None and self.expires_us <= at else ACTIVE
