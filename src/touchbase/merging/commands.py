"""Commands of merges by request and of the bin."""

from __future__ import annotations
