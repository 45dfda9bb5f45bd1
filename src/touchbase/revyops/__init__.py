"""The calls of the RevyOps API, for programs that were written against it: what Touchbase's own routes do not have."""

from __future__ import annotations

from touchbase.revyops.numbered_pages import LONGEST_PAGE, NumberedPage, PagesRead, read_page

__all__ = ["LONGEST_PAGE", "NumberedPage", "PagesRead", "read_page"]
