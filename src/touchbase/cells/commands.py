"""Commands and queries of the directory; only the home store carries them out."""

from __future__ import annotations

from dataclasses import dataclass

from touchbase.cells.models import Directory
from touchbase.sql.operation import Query


@dataclass(slots=True)
class ReadDirectory(Query[Directory]):
    """What was written since a revision; with 0 the whole directory."""

    after: int = 0
