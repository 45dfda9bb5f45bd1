"""Words of the full-text index: how texts are divided, alike for records and searches.

A word is a run of letters and digits, in lower case and without accents. In the index each word has the client's number and a letter
for the kind of record before it, so that a search reads the client's own part of the index only, on either engine.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import islice
from zlib import crc32

from touchbase.history.events import COMPANY, CONTACT
from touchbase.records.models import Contact, Record
from touchbase.records.sql.search_pending import searched

LONGEST = 40
"""Characters of a word; longer ones are cut, in searches too."""
MOST = 5_000
"""Different words of one record in the index."""
MOST_CHARACTERS = 128 * 1024
"""Characters of one record, folded, whose words are in the index: some letters fold to 18, and folding runs within a transaction."""
_PIECE = 1_000
"""Characters that are folded at once: the order of accents after one letter takes quadratic time."""
MOST_SEARCHED = 10
"""Words of one search."""
_WORD = re.compile(r"[^\W_]+")


def words_of(text: str) -> Iterator[str]:
    """Yield the words of a text."""
    return _words(_folded(text, MOST_CHARACTERS))


def _words(folded: str) -> Iterator[str]:
    return (word[:LONGEST] for word in _WORD.findall(folded))


def _folded(text: str, most: int) -> str:
    """Return a text in lower case and without accents, cut at `most` characters."""
    if text.isascii():
        return text[:most].lower()
    pieces: list[str] = []
    for start in range(0, len(text), _PIECE):
        piece = unicodedata.normalize("NFKD", text[start : start + _PIECE].casefold())
        pieces.append("".join([char for char in piece if not unicodedata.combining(char)])[:most])
        most -= len(pieces[-1])
        if most <= 0:
            break
    return "".join(pieces).lower()


def prefix(client: int, kind: int) -> str:
    """Return the prefix of each word of a client's records of one kind."""
    return f"{client}{'p' if kind == CONTACT else 'c'}"


def field_mark(client: int, kind: int, name: str) -> str:
    """Return the word by which the index knows that a record has a custom field; no search of words finds it."""
    return f"{client}{'f' if kind == CONTACT else 'g'}{crc32(name.encode()):x}"


def texts_of(record: Record) -> Iterator[str]:
    """Yield the texts of a record that are searched: names, e-mail address, domain (`records/fields.py`), values of custom fields."""
    yield from filter(None, searched(record))
    yield from (custom_field.value for custom_field in record.custom_fields if custom_field.value)


def indexed_words(record: Record) -> str:
    """Return the words of a record as the index has them; the bare prefix marks a record with more than the index takes."""
    kind = CONTACT if isinstance(record, Contact) else COMPANY
    first = prefix(record.client, kind)
    folded = _folded(" ".join(texts_of(record)), MOST_CHARACTERS)
    words = dict.fromkeys(_words(folded))
    marks = dict.fromkeys(
        field_mark(record.client, kind, custom_field.name) for custom_field in record.custom_fields if custom_field.value is not None
    )
    if len(folded) == MOST_CHARACTERS or len(words) > MOST:
        marks[first] = None
    return " ".join([*marks, *(first + word for word in islice(words, MOST))])


def has_words(record: Record, words: Iterable[str]) -> bool:
    """Return whether each of these words begins a word of the record."""
    have = f" {indexed_words(record)}"
    first = prefix(record.client, CONTACT if isinstance(record, Contact) else COMPANY)
    return all(f" {first}{word}" in have for word in words)


def match_text(client: int, kind: int, words: Iterable[str], *, begin: int) -> str:
    """Return the search for records that have all words, of which the last `begin` need only begin a word of the record."""
    first, texts = prefix(client, kind), list(words)
    return " ".join(f"{first}{word}{'*' if len(texts) - number <= begin else ''}" for number, word in enumerate(texts))


def rowid(kind: int, record_id: int) -> int:
    """Return the number of a record in the index, unique over both kinds."""
    return 2 * record_id + (0 if kind == CONTACT else 1)
