"""Google Sheets: rows that a script of the sheet sends; the script is in the guide.

Reference: developers.google.com/apps-script, installable triggers. Rows have no ids: an address or a website is their key.
"""

from __future__ import annotations

from typing import ClassVar

from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit.crm import UPDATED
from touchbase.adapters.kit.crm_adapter import Body
from touchbase.adapters.kit.crm_values import as_list
from touchbase.adapters.kit.extract import text
from touchbase.adapters.kit.open_tables import OpenTable, RowChange


class GoogleSheets(OpenTable):
    """Reads the rows that the script sends."""

    tool = "google_sheets"
    detection_keys = frozenset({"source"})
    row_id: ClassVar[str | None] = None

    def changes(self, body: Body, webhook: ParsedWebhook) -> RowChange | None:
        """Return the rows of a body."""
        name = text(body.get("table_name"))
        if body.get("source") != self.tool or name is None:
            return None
        return RowChange(UPDATED, name, name, as_list(body.get("rows")), text(body.get("event")))


ADAPTER = GoogleSheets()
