"""Previews of renames and merges."""

from __future__ import annotations

from touchbase.errors import TouchbaseError
from touchbase.sql.store import Store
from touchbase.statuses.commands import PreviewRename
from touchbase.statuses.models import RenamePreview


async def previewed(store: Store, query: PreviewRename) -> RenamePreview:
    """Return what a rename or a merge would do; raise its error."""
    found = await store.read(query)
    if isinstance(found, TouchbaseError):
        raise found
    return found
