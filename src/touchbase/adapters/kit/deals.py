"""Deals: ignored, unless a client maps deal stages to the status of the deal's person and company."""

from __future__ import annotations

from dataclasses import dataclass

from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit.crm import COMPANY, CONTACT, other_event
from touchbase.common.timestamps import Micros
from touchbase.history.events import Event, PropertyChange


@dataclass(frozen=True, slots=True)
class Deal:
    """One deal's stage: its names, best first, and the CRM's types and ids of the linked records."""

    source_event: str | None
    object_id: str | None
    stages: tuple[str | None, ...]
    at: Micros | None
    key: str | None = None
    person: tuple[str, str | None] = ("", None)
    company: tuple[str, str | None] = ("", None)

    def events(self, webhook: ParsedWebhook) -> list[Event]:
        """Return a status change for the person and the company, or `ignored` if the client has not mapped the stage."""
        status = webhook.settings.status_for_deal(*self.stages)
        if status is None:
            return [other_event("ignored", self.source_event, "deal", self.object_id)]
        events = [
            self._status(kind, word, number, status)
            for kind, (word, number) in ((CONTACT, self.person), (COMPANY, self.company))
            if number is not None
        ]
        return events or [other_event("ignored", self.source_event, "deal", self.object_id)]

    def _status(self, kind: str, word: str, number: str, status: str) -> Event:
        stage = next(filter(None, self.stages), None)
        return Event(
            f"{kind}.status_changed",
            self.at,
            status=status,
            original_status=stage,
            object_type=word,
            object_id=number,
            changed=[PropertyChange("deal", stage)],
            key=self.key,
            source_event=self.source_event,
        )
