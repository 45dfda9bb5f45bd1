"""Grist: rows of a table that were added or changed.

Reference: support.getgrist.com, webhooks. A body is a list of rows; neither the table nor what happened is in it, and deletions are not
sent. `manualSort` is the place of a row, and has the name in every document.
"""

from __future__ import annotations

from typing import ClassVar

from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit.crm import UPDATED
from touchbase.adapters.kit.crm_adapter import Body
from touchbase.adapters.kit.crm_values import query_parameter
from touchbase.adapters.kit.open_tables import OpenTable, RowChange

_LIST = "L"
"""The first member of a cell with several choices or references."""


class Grist(OpenTable):
    """Reads a list of rows; `table` in the address is the table whose ids they have."""

    tool = "grist"
    detection_keys = frozenset({"manualSort"})
    hidden: ClassVar[frozenset[str]] = frozenset({"manualSort"})

    def changes(self, body: Body, webhook: ParsedWebhook) -> RowChange | None:
        """Return the row of a body."""
        if "manualSort" not in body or not isinstance(body.get("id"), int):
            return None
        row = {name: value[1:] if isinstance(value, list) and value[:1] == [_LIST] else value for name, value in body.items()}
        table = query_parameter(webhook.request.query, "table")
        return RowChange(UPDATED, table, table or "", [row], query_parameter(webhook.request.query, "event"))


ADAPTER = Grist()
