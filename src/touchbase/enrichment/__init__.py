"""Enrichment: fetch the records that thin webhooks only name."""

from __future__ import annotations

from touchbase.enrichment.http_client import HttpClient, is_public
from touchbase.enrichment.retry_policy import seconds_to_wait
from touchbase.enrichment.worker import FetchWorker, count_fetch

__all__ = [
    "FetchWorker",
    "HttpClient",
    "count_fetch",
    "is_public",
    "seconds_to_wait",
]
