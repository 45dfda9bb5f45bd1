"""Deals: usually not our business, but a client may let their stage set the status of their person and company."""

from __future__ import annotations

from dataclasses import dataclass

from touchbase.adapters.interface import Call
from touchbase.adapters.kit.crm import COMPANY, CONTACT, note
from touchbase.common.timestamps import Micros
from touchbase.history.events import Change, Event


@dataclass(frozen=True, slots=True)
class Deal:
    """One deal whose stage a call tells: under its names, best first, and the CRM's words and ids of those it is with."""

    source_event: str | None
    object_id: str | None
    stages: tuple[str | None, ...]
    at: Micros | None
    key: str | None = None
    person: tuple[str, str | None] = ("", None)
    company: tuple[str, str | None] = ("", None)

    def events(self, call: Call) -> list[Event]:
        """A change of status for each of the two, or `ignored` where the client lists no such stage."""
        status = call.settings.deal_word(*self.stages)
        if status is None:
            return [note("ignored", self.source_event, "deal", self.object_id)]
        found = [
            self._status(kind, word, number, status)
            for kind, (word, number) in ((CONTACT, self.person), (COMPANY, self.company))
            if number is not None
        ]
        return found or [note("ignored", self.source_event, "deal", self.object_id)]

    def _status(self, kind: str, word: str, number: str, status: str) -> Event:
        stage = next(filter(None, self.stages), None)
        return Event(
            f"{kind}.status_changed",
            self.at,
            status=status,
            original_status=stage,
            object_type=word,
            object_id=number,
            changed=[Change("deal", stage)],
            key=self.key,
            source_event=self.source_event,
        )
