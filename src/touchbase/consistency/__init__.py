"""`touchbase verify`: derived values recomputed from the stored events."""

from __future__ import annotations

from touchbase.consistency.queries import AuditBodies, AuditDeliveries, AuditRecords, AuditWaiting
from touchbase.consistency.records import Difference
from touchbase.consistency.service import Verified, verify

__all__ = [
    "AuditBodies",
    "AuditDeliveries",
    "AuditRecords",
    "AuditWaiting",
    "Difference",
    "Verified",
    "verify",
]
