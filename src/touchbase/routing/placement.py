"""The directory in memory: which client, id and key belongs to which cell. It is read again twice a second."""

from __future__ import annotations

from touchbase.cells.models import HOME, ClientPlace, Directory


class Placement:
    """Answers where a client lives: in the home store unless the directory has a cell."""

    def __init__(self) -> None:
        self.revision = 0
        self.home_clients = 0
        self._names: dict[str, ClientPlace] = {}
        self._cells: dict[int, int] = {}
        self._keys: dict[str, int] = {}

    def apply(self, changes: Directory) -> None:
        """Apply changes."""
        for place in changes.places:
            self.put(place)
        self._keys.update(changes.keys)
        if changes.revision > self.revision:
            self.revision, self.home_clients = changes.revision, changes.home_clients

    def put(self, place: ClientPlace) -> None:
        """Take over where one client lives."""
        former = self._names.get(place.client_id)
        if place.cell is None:
            self._names.pop(place.client_id, None)
            if former is not None and former.number is not None and not self._has_name(former.number):
                self._cells.pop(former.number, None)
                self._keys = {key_id: number for key_id, number in self._keys.items() if number != former.number}
            return
        self._names[place.client_id] = place
        if place.number is not None:
            self._cells[place.number] = place.cell

    def _has_name(self, number: int) -> bool:
        return any(place.number == number for place in self._names.values())

    def put_key(self, key_id: str, number: int) -> None:
        """Take over whose a key is."""
        self._keys[key_id] = number

    def cell_of(self, number: int) -> int:
        """Return the cell of the client of this number."""
        return self._cells.get(number, HOME)

    def place_of(self, client_id: str) -> ClientPlace | None:
        """Return the place of a client by a present or former id, if it has one."""
        return self._names.get(client_id)

    def cell_of_name(self, client_id: str) -> int:
        """Return the cell of the client of this id; the home store, if it has no place."""
        place = self._names.get(client_id)
        return HOME if place is None or place.cell is None else place.cell

    def cell_of_key(self, key_id: str) -> int | None:
        """Return the cell of the client of a key; None if the key has no place."""
        number = self._keys.get(key_id)
        return None if number is None else self.cell_of(number)

    def counts(self) -> dict[int, int]:
        """Return the number of clients of each cell that has any."""
        counted: dict[int, int] = {HOME: self.home_clients}
        for cell in self._cells.values():
            if cell != HOME:  # the home store counts its own, also clients without a place
                counted[cell] = counted.get(cell, 0) + 1
        return counted
