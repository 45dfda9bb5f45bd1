"""Keyed hashes of the identities of erased persons; without the key they reveal nothing.

An identity is a `Ref` (`history/identity_links.py`): a tool's object, or under the tool "" an e-mail address or a LinkedIn
address in normal form.
"""

from __future__ import annotations

import hmac
from hashlib import sha256

from touchbase.common.field_limits import NAME, storable
from touchbase.common.normalize import email_key, find_email_key, former_linkedin_key, linkedin_key
from touchbase.history.events import CONTACT, Event
from touchbase.history.identity_links import Ref

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
