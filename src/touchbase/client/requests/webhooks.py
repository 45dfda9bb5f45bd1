"""Requests of `webhooks`. Made by `make docs` from the OpenAPI document."""

# fmt: off
from __future__ import annotations

from typing import Any

from touchbase.client.request import Request


def emailcampaign_webhook(client_id: str, body: Any) -> Request[None]:
    """Receive a webhook and store it byte for byte."""
    return Request(
        "emailcampaign_webhook", "POST", "/public/emailcampaign-webhook/{client_id}", in_path={"client_id": client_id}, body=body,
    )


def check_emailcampaign_webhook(client_id: str) -> Request[None]:
    """Let a tool check the address."""
    return Request("check_emailcampaign_webhook", "GET", "/public/emailcampaign-webhook/{client_id}", in_path={"client_id": client_id})


def crm_webhook(client_id: str, body: Any) -> Request[None]:
    """Receive a webhook and store it byte for byte."""
    return Request("crm_webhook", "POST", "/public/crm-webhook/{client_id}", in_path={"client_id": client_id}, body=body)


def check_crm_webhook(client_id: str) -> Request[None]:
    """Let a tool check the address."""
    return Request("check_crm_webhook", "GET", "/public/crm-webhook/{client_id}", in_path={"client_id": client_id})
