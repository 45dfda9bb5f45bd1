"""Enrichment: fetch the records that thin webhooks only name."""

from __future__ import annotations

from touchbase.enrichment.http_client import CheckedBackend, HttpClient, certificates, is_public
from touchbase.enrichment.retry_policy import retry_after_of, seconds_to_wait
from touchbase.enrichment.worker import FetchWorker, count_fetch

__all__ = [
    "CheckedBackend",
    "FetchWorker",
    "HttpClient",
    "certificates",
    "count_fetch",
    "is_public",
    "retry_after_of",
    "seconds_to_wait",
]
