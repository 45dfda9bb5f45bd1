"""Commands and queries of the directory; only the home store carries them out."""

from __future__ import annotations
