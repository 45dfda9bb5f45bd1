"""The present names of custom fields in a record's events, by the renamings in its history.

Events store the names that they said, for ever. A renaming is an entry that takes the value from the former name, so what was received
before it under that name is about the same field. A merge of two fields does so only in a record that had a value of the merged field
alone; in one that had both they were two fields, and the merge ended the one.
"""

from __future__ import annotations

from collections.abc import Iterable

from touchbase.common.timestamps import Micros
from touchbase.history.events import VIA_API, StoredEvent
from touchbase.history.last_writer_wins import EffectiveTime
from touchbase.records.sql.custom_values import MARK


class FieldNames:
    """Renamings of the custom fields of one record, in the order in which they were made."""

    def __init__(self, history: Iterable[StoredEvent]) -> None:
        moves: list[tuple[Micros, EffectiveTime, str, str]] = []
        ended: set[str] = set()
        for event in history:
            if (move := _move(event)) is not None:
                moves.append((event.received_us, event.effective_time, *move))
            elif _is_change_of_fields(event):
                ended |= {name for name, value in event.detail["custom"].items() if value is None}
        self._moves = [(at, former, name) for at, _, former, name in sorted(moves) if former not in ended]

    def of_event(self, event: StoredEvent) -> dict[str, tuple[str, str | None]]:
        """Return the custom fields that an event writes, by present names: the names that it said, and the values.

        Of two names of one field the one with a value counts.
        """
        custom: dict[str, str | None] = event.detail.get("custom", {})
        if not self._moves:
            return {name: (name, value) for name, value in custom.items()}
        named: dict[str, tuple[str, str | None]] = {}
        for name, value in custom.items():
            present = self.present(name, event.received_us)
            if present not in named or value is not None:
                named[present] = name, value
        return named

    def renamed_by(self, event: StoredEvent) -> tuple[str, str] | None:
        """Return the former and the present name if the event is a renaming of a field."""
        move = _move(event) if self._moves else None
        if move is None or (name := self.present(move[0], event.received_us)) == move[0]:
            return None
        return move[0], name

    def present(self, name: str, received_us: Micros = 0) -> str:
        """Return the present name of a field that was called `name` when something about it was received."""
        for at, former, into in self._moves:
            if name == former and received_us <= at:
                name = into
        return name


def _is_change_of_fields(event: StoredEvent) -> bool:
    return event.via == VIA_API and MARK in event.key and "custom" in event.detail


def _move(event: StoredEvent) -> tuple[str, str] | None:
    """Return the former and the new name if an event is the entry of a change that took the value from one to the other."""
    if not _is_change_of_fields(event) or len(event.detail["custom"]) != 2:
        return None
    (former, value), (name, _) = event.detail["custom"].items()
    return (former, name) if value is None else None
