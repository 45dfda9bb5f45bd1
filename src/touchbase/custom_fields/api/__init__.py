"""HTTP resources of custom fields."""

from __future__ import annotations

from touchbase.custom_fields.api.resource import ROUTES

__all__ = ["ROUTES"]
