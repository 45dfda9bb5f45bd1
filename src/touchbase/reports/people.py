"""Sets of people as bitmaps, so that people of many days are united and counted without reading each of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

CHUNK_BITS = 12
"""A chunk has the ids that differ in their lowest bits only: one client's ids lie scattered among those of all clients."""
_CHUNK_BYTES = 1 << (CHUNK_BITS - 3)
_IN_CHUNK = (1 << CHUNK_BITS) - 1


class People:
    """A set of ids of contacts: a number for each chunk, with a bit for each id."""

    __slots__ = ("_chunks",)

    def __init__(self, chunks: dict[int, int] | None = None) -> None:
        self._chunks = {} if chunks is None else chunks

    @classmethod
    def of(cls, ids: Iterable[int]) -> People:
        """Return the set of these ids."""
        bitmaps: dict[int, bytearray] = {}
        for contact_id in ids:
            chunk = bitmaps.get(contact_id >> CHUNK_BITS)
            if chunk is None:
                chunk = bitmaps[contact_id >> CHUNK_BITS] = bytearray(_CHUNK_BYTES)
            chunk[(contact_id & _IN_CHUNK) >> 3] |= 1 << (contact_id & 7)
        return cls({number: int.from_bytes(chunk, "little") for number, chunk in bitmaps.items()})

    @classmethod
    def unpacked(cls, packed: Mapping[int, bytes]) -> People:
        """Return the set that `packed` returned."""
        return cls({number: int.from_bytes(chunk, "little") for number, chunk in packed.items()})

    def packed(self) -> dict[int, bytes]:
        """Return the set as bytes for each chunk."""
        return {number: chunk.to_bytes((chunk.bit_length() + 7) // 8, "little") for number, chunk in self._chunks.items()}

    def add_all(self, others: People) -> None:
        """Add these people."""
        mine = self._chunks
        for number, chunk in others._chunks.items():
            mine[number] = mine.get(number, 0) | chunk

    def add_common(self, first: People, second: People) -> None:
        """Add the people that are in both."""
        mine, few, many = self._chunks, first._chunks, second._chunks
        if len(few) > len(many):
            few, many = many, few
        for number, chunk in few.items():
            if common := chunk & many.get(number, 0):
                mine[number] = mine.get(number, 0) | common

    def __len__(self) -> int:
        return sum(chunk.bit_count() for chunk in self._chunks.values())
