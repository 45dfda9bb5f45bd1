"""Adapters: one folder per tool, each turning its webhooks into events."""

from __future__ import annotations

from touchbase.adapters.catalogue import catalogue, page
from touchbase.adapters.interface import ProtocolResponse, WebhookRequest
from touchbase.adapters.kit.describe import describe
from touchbase.adapters.kit.signatures import BEARER
from touchbase.adapters.registry import load_adapters

__all__ = [
    "BEARER",
    "ProtocolResponse",
    "WebhookRequest",
    "catalogue",
    "describe",
    "load_adapters",
    "page",
]
