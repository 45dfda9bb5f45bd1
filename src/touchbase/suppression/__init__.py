"""Suppression: hashes of erased persons, so that their data does not return."""

from __future__ import annotations

from touchbase.suppression.pii_scan import Unsearchable, contains_text, find_identities
from touchbase.suppression.server_secret import erasure_key_of, find_erasure_key, make_erasure_key, replace_erasure_key
from touchbase.suppression.suppression_keys import (
    EMAIL,
    LINKEDIN,
    WHY_IGNORED,
    delivery_key,
    digest,
    email_ref,
    identities_of,
    is_personal,
    linkedin_ref,
)

__all__ = [
    "EMAIL",
    "LINKEDIN",
    "WHY_IGNORED",
    "Unsearchable",
    "contains_text",
    "delivery_key",
    "digest",
    "email_ref",
    "erasure_key_of",
    "find_erasure_key",
    "find_identities",
    "identities_of",
    "is_personal",
    "linkedin_ref",
    "make_erasure_key",
    "replace_erasure_key",
]
