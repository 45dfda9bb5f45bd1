"""CRMs whose administrators lay out the body of a webhook: our guide says how, and the record is fetched."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping
from typing import ClassVar

from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit.crm import COMPANY, CREATED, DELETED, UPDATED, CrmItem, RecordShape, other_event
from touchbase.adapters.kit.crm_adapter import Body, CrmAdapter
from touchbase.adapters.kit.crm_values import first_of, query_parameter
from touchbase.adapters.kit.extract import text
from touchbase.adapters.kit.times import first_time
from touchbase.history.events import Event

_ACTIONS = {"created": CREATED, "updated": UPDATED, "deleted": DELETED}


class LaidOutCrm(CrmAdapter, ABC):
    """Reads `{"vtiger": "Contacts", "event": "updated", "id": "12x7"}`, and fields of the record beside.

    The tool's name is the key of the module, in singular or plural.
    """

    shapes: ClassVar[Mapping[str, RecordShape]]
    """The modules that are read, lower case, in singular."""
    times: ClassVar[tuple[str, ...]]
    """Members with the time of a record's last change."""

    def confidence(self, body: Body, webhook: ParsedWebhook) -> int:
        """Return the confidence: by the tool's name as a key."""
        return 95 if isinstance(body.get(self.tool), str) else 0

    def read(self, body: Body, webhook: ParsedWebhook) -> list[Event]:
        """Return the events of one record, which is fetched if the body has neither its address nor its domain."""
        word = (text(body.get(self.tool)) or "").lower().removesuffix("s")
        verb = text(body.get("event")) or query_parameter(webhook.request.query, "event") or "updated"
        action, source = _ACTIONS.get(verb.rpartition(".")[2].lower()), f"{word}.{verb.rpartition('.')[2]}"
        if word not in self.shapes or action is None:
            return [other_event("ignored" if word else "unrecognised", source if word else None, word or None, text(body.get("id")))]
        return self._record(body, word, action, source, webhook)

    def fetched(self, body: Body, kind: str, word: str, webhook: ParsedWebhook) -> list[Event]:
        """Return the events of one fetched record."""
        return self._record(body, word, UPDATED, "fetched", webhook)

    def _record(self, body: Body, word: str, action: str, source: str, webhook: ParsedWebhook) -> list[Event]:
        shape = self.shapes[word]
        at = None if action == DELETED else first_time(body, *self.times)
        item = CrmItem(shape, action, word, text(body.get("id")), source, at, record=body)
        item.thin = first_of(body, shape.domain if shape.kind == COMPANY else shape.email, text) is None
        item.status = self.statuses(webhook, shape.kind, word)
        return item.events()
