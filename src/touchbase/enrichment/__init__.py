"""Enrichment: fetch the records that thin webhooks only name."""

from __future__ import annotations

from touchbase.enrichment.http_client import HttpClient
from touchbase.enrichment.worker import FetchWorker, count_fetch

__all__ = [
    "FetchWorker",
    "HttpClient",
    "count_fetch",
]
