"""Commands and queries on connections and on their fetch queue."""

from __future__ import annotations
