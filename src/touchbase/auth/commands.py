"""Commands and queries on API keys."""

from __future__ import annotations
