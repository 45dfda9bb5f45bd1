"""The command and the query by which the full-text index follows the writes."""

from __future__ import annotations
