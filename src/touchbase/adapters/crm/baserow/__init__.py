"""Baserow: webhooks of a table's rows.

Reference: baserow.io, user documentation on webhooks. Rows are whole, with the names of their columns if the webhook says so; a deletion
has only ids. Bodies were recorded from a running Baserow 1.35.
"""

from __future__ import annotations

from typing import ClassVar

from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit.crm import CREATED, DELETED, UPDATED
from touchbase.adapters.kit.crm_adapter import Body
from touchbase.adapters.kit.crm_values import as_dict, as_list
from touchbase.adapters.kit.extract import text
from touchbase.adapters.kit.open_tables import OpenTable, RowChange

_VERBS = {"created": CREATED, "updated": UPDATED, "deleted": DELETED}


class Baserow(OpenTable):
    """Reads rows of `rows.created`, `rows.updated` and `rows.deleted`, and of the older `row.…` with one row."""

    tool = "baserow"
    detection_keys = frozenset({"table_id"})
    hidden: ClassVar[frozenset[str]] = frozenset({"order"})

    def changes(self, body: Body, webhook: ParsedWebhook) -> RowChange | None:
        """Return the rows of a body."""
        event = text(body.get("event_type")) or ""
        noun, _, verb = event.partition(".")
        if noun not in ("row", "rows") or verb not in _VERBS or not body.keys() >= {"table_id", "event_id"}:
            return None
        deleted = [body["row_id"]] if "row_id" in body else as_list(body.get("row_ids"))
        rows: list[object] = as_list(body.get("items")) or [{"id": body.get("row_id"), **as_dict(body.get("values"))}]
        if _VERBS[verb] == DELETED:
            rows = [{"id": number} for number in deleted]
        return RowChange(_VERBS[verb], text(body["table_id"]), "", rows, event, text(body.get("event_id")))


ADAPTER = Baserow()
