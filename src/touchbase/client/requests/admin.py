"""Requests of `admin`. Made by `make docs` from the OpenAPI document."""

# fmt: off
from __future__ import annotations

from typing import TYPE_CHECKING

from touchbase.client.request import Request

if TYPE_CHECKING:
    from touchbase.client.models.status import StatusOut


def get_status() -> Request[StatusOut]:
    """Get the server's status."""
    return Request("get_status", "GET", "/admin/v1/status")
