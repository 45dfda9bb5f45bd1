"""NocoDB: webhooks of a table's records.

Reference: nocodb.com, product documentation on webhooks; the payloads are those of the project's own tests (`buildExpectedResponseData`).
"""

from __future__ import annotations

import re
from typing import ClassVar

from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit.crm import CREATED, DELETED, UPDATED
from touchbase.adapters.kit.crm_adapter import Body
from touchbase.adapters.kit.crm_values import as_dict, as_list
from touchbase.adapters.kit.extract import first, text
from touchbase.adapters.kit.open_tables import OpenTable, RowChange

_EVENT = re.compile(r"(?:records?|rows?)\.after\.(?:bulk)?(insert|update|delete|trigger)", re.IGNORECASE)
_VERBS = {"insert": CREATED, "update": UPDATED, "delete": DELETED, "trigger": UPDATED}


class NocoDb(OpenTable):
    """Reads records of `records.after.insert`, `…update`, `…delete` and of webhooks that a button starts."""

    tool = "nocodb"
    detection_keys = frozenset({"data"})
    row_id: ClassVar[str | None] = "Id"
    hidden: ClassVar[frozenset[str]] = frozenset({"CreatedAt", "UpdatedAt", "nc_order", "ncRecordId", "ncRecordHash"})
    times: ClassVar[tuple[str, ...]] = ("UpdatedAt", "CreatedAt")

    def changes(self, body: Body, webhook: ParsedWebhook) -> RowChange | None:
        """Return the records of a body."""
        source, table = text(body.get("type")) or "", as_dict(body.get("data"))
        matched = _EVENT.fullmatch(source)
        if matched is None or first(table, "table_id", "table_name") is None:
            return None
        number, name = text(table.get("table_id")), text(table.get("table_name"))
        what = _VERBS[matched[1].lower()]
        return RowChange(what, number or name, name or "", as_list(table.get("rows")), source, text(body.get("id")))


ADAPTER = NocoDb()
