"""Marks of erased persons: keyed hashes of their identities, so that their data does not return.

An identity is a `Ref` (`history/identity_links.py`): a tool's object, or under the tool "" an e-mail address or a LinkedIn
address in normal form. Without the key the hashes reveal nothing. The store generates it, and stores it in plain text in the
same database; `docs/explanation/privacy.md` says so.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from secrets import token_bytes

from touchbase.common.field_limits import NAME, storable
from touchbase.common.normalize import email_key, find_email_key, former_linkedin_key, linkedin_key
from touchbase.common.timestamps import Micros
from touchbase.history.events import CONTACT, Event
from touchbase.history.identity_links import Ref
from touchbase.sql.rows import Columns
from touchbase.sql.statement import Execute, Plan, Statement, delete, lock

EMAIL = "email"
LINKEDIN = "linkedin"
WHY_IGNORED = "about a person who was erased"
KEY_BYTES = 32


def email_ref(email: str) -> Ref:
    """Return the identity of an e-mail address. Raises `Refused` when the text is not an address."""
    return ("", EMAIL, email_key(email.strip()))


def linkedin_ref(url: str) -> Ref | None:
    """Return the identity of a LinkedIn address; None when the text identifies no person."""
    key = linkedin_key(url)
    return None if key is None else ("", LINKEDIN, key)


def linkedin_refs(url: str) -> set[Ref]:
    """Return the identities under which the profile at this address may have been erased: its present key, and a former one."""
    return {("", LINKEDIN, key) for key in (linkedin_key(url), former_linkedin_key(url)) if key is not None}


def is_personal(ref: Ref) -> bool:
    """Return whether an identity belongs to a person; the former id of a merged record does not."""
    return ref[:2] != ("", "contact")


def digest(key: bytes, client: int, ref: Ref) -> bytes:
    """Return the HMAC-SHA-256 of one identity of one client."""
    text = "\0".join((str(client), *ref))
    return hmac.digest(key, text.encode("utf-8", "surrogatepass"), sha256)


def delivery_key(key: bytes, client: int, delivery_id: int) -> bytes:
    """Return a replacement of a delivery's dedupe key, which is a hash of its content."""
    return hmac.digest(key, f"delivery\0{client}\0{delivery_id}".encode(), sha256)[:16]


def identities_of(tool: str, event: Event) -> set[Ref]:
    """Return the identities of a person that an event names."""
    if event.about != CONTACT:
        return set()
    refs: set[Ref] = set()
    email = find_email_key(event.email) if event.email else None
    if email is not None:
        refs.add(("", EMAIL, email))
    linkedin = event.linkedin_url or event.fields.get("linkedin_url")
    if linkedin:
        refs |= linkedin_refs(linkedin)
    for object_id in (event.object_id, event.merged_into):
        if object_id is not None:
            refs.add((tool, storable(event.object_type, NAME) or "", storable(object_id, NAME) or ""))
    return refs


ERASURE = "erasure"
_SECRET = (("name", "text"),)
FIND_SECRET = Statement("find_secret", _SECRET, body="SELECT t.value FROM p CROSS JOIN server_secret t WHERE t.name = p.name")
INSERT_SECRET = Statement(
    "insert_secret",
    (*_SECRET, ("value", "bytea")),
    body="INSERT INTO server_secret (name, value) SELECT * FROM p WHERE true ON CONFLICT DO NOTHING",
)
# Run once for each inbox batch; no row for a client without erasures.
SECRET_IF_ERASED = Statement(
    "secret_if_erased",
    (("client", "bigint"),),
    body="SELECT t.value FROM p CROSS JOIN server_secret t WHERE t.name = 'erasure' "
    "AND EXISTS (SELECT 1 FROM erased e WHERE e.client = p.client)",
)
REPLACE_SECRET = Statement(
    "replace_secret",
    (*_SECRET, ("value", "bytea")),
    body="UPDATE server_secret AS t SET value = p.value FROM p WHERE t.name = p.name",
)


def find_erasure_key() -> Plan[bytes | None]:
    """Return the key that erased identities are hashed with; None before the first erasure."""
    rows = yield Execute(FIND_SECRET, [(ERASURE,)])
    return bytes(rows[0][0]) if rows else None


def make_erasure_key(value: bytes | None = None) -> Plan[bytes]:
    """Return the key; without one, store `value` or a new random key first."""
    yield Execute(INSERT_SECRET, [(ERASURE, value or token_bytes(KEY_BYTES))])
    key = yield from find_erasure_key()
    assert key is not None
    return key


def replace_erasure_key(value: bytes) -> Plan[None]:
    """Replace the key, which has hashed nothing yet, by another store's key."""
    yield Execute(REPLACE_SECRET, [(ERASURE, value)])


def erasure_key_of(client: int) -> Plan[bytes | None]:
    """Return the key if this client has erased a person, else None."""
    rows = yield Execute(SECRET_IF_ERASED, [(client,)])
    return bytes(rows[0][0]) if rows else None


_KEY: Columns = (("client", "bigint"), ("digest", "bytea"))
_ERASED: Columns = (*_KEY, ("erasure", "bigint"), ("derived", "bigint"), ("erased_us", "bigint"))
FIND_ERASED = Statement(
    "find_erased",
    _KEY,
    body="SELECT t.digest, t.erasure, t.derived FROM p CROSS JOIN erased t WHERE t.client = p.client AND t.digest = p.digest",
)
# A derived mark can become a direct one, but not the reverse.
SAVE_ERASED = Statement(
    "save_erased",
    _ERASED,
    body="INSERT INTO erased (client, digest, erasure, derived, erased_us) SELECT * FROM p WHERE true ON CONFLICT (client, digest) "
    "DO UPDATE SET derived = CASE WHEN excluded.derived = 0 THEN 0 ELSE erased.derived END, "
    "erasure = CASE WHEN excluded.derived <= erased.derived THEN excluded.erasure ELSE erased.erasure END",
)
DELETE_ERASED = delete("delete_erased", "erased", _KEY)
DELETE_ERASURE = delete("delete_erasure", "erased", (("client", "bigint"), ("erasure", "bigint")), "digest")
# A shared lock: several creations may have it at once. An erasure locks the client's row exclusively, so the two wait for each other.
LOCK_CLIENT = lock("lock_client", (("id", "bigint"),), "SELECT c.id FROM p JOIN client c ON c.id = p.id ORDER BY c.id FOR SHARE OF c")


@dataclass(frozen=True, slots=True)
class Mark:
    """The mark of one erased identity: its erasure, and whether it was only derived from an event that names an erased identity."""

    erasure: int
    derived: bool


def find_marks(key: bytes, client: int, refs: Iterable[Ref]) -> Plan[dict[Ref, Mark]]:
    """Return the marks of those identities that were erased."""
    by_digest = {digest(key, client, ref): ref for ref in refs}
    if not by_digest:
        return {}
    rows = yield Execute(FIND_ERASED, [(client, mark) for mark in by_digest])
    return {by_digest[bytes(row[0])]: Mark(row[1], bool(row[2])) for row in rows}


def save_marks(key: bytes, client: int, marks: dict[Ref, Mark], at: Micros) -> Plan[None]:
    """Mark identities as erased."""
    rows = [(client, digest(key, client, ref), mark.erasure, int(mark.derived), at) for ref, mark in sorted(marks.items())]
    if rows:
        yield Execute(SAVE_ERASED, rows)


def delete_marks(key: bytes, client: int, refs: Iterable[Ref]) -> Plan[None]:
    """Delete the marks of these identities."""
    rows = [(client, digest(key, client, ref)) for ref in sorted(refs)]
    if rows:
        yield Execute(DELETE_ERASED, rows)
