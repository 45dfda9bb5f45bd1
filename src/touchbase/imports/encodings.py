"""Encodings of text files: byte order marks, UTF-8, UTF-16, then the guess of charset-normalizer."""

from __future__ import annotations

import codecs
import re
from typing import BinaryIO

import charset_normalizer

from touchbase.imports.table import UnreadableFile

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
"""The mark of UTF-32 begins with the one of UTF-16."""
_LIKELY = ["cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "mac_roman", "cp932", "gb18030", "big5", "euc_kr"]
"""Encodings in which spreadsheets write CSV, the most frequent first."""
ENCODINGS = (
    "ascii", "utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be",
    *(f"cp125{number}" for number in range(9)), *(f"iso8859-{number}" for number in range(1, 17) if number != 12),
    "cp437", "cp737", "cp775", "cp850", "cp852", "cp855", "cp857", "cp858", "cp860", "cp861", "cp862", "cp863", "cp864", "cp865", "cp866",
    "cp869", "cp874", "tis-620", "mac-roman", "mac-latin2", "mac-cyrillic", "mac-greek", "mac-turkish", "koi8-r", "koi8-u", "kz1048",
    "cp932", "shift_jis", "shift_jis_2004", "euc_jp", "gb2312", "gbk", "gb18030", "big5", "big5hkscs", "cp950", "euc_kr", "cp949", "johab",
)  # fmt: skip
"""Those in which programs write tables, by their Python names. Python's others are escapes (`unicode_escape`, `utf-7`: a file could hide
its separators), for other things than files, or change their state within a text."""
_SAMPLE = 65_536
"""Bytes for the guess."""
_TIE = 0.08
"""Guesses whose noise is about equal are equally good; then the more frequent encoding is taken."""
_SYMBOL = r"[^\w\s\x00-\x7f\u2013\u2014\u2019\u201c-\u201e\u2022\u2026\u2122\xa9\xab\xae\xb0\xb7\xbb]"
"""None of dashes, quotation marks, bullets and trade marks, which stand next to letters."""
_SYMBOL_IN_WORD = re.compile(rf"[^\W\d_]{_SYMBOL}|{_SYMBOL}[^\W\d_]")


def check_encoding(name: str) -> str:
    """Return the encoding's Python name; raise `UnreadableFile` if it is none of `ENCODINGS`."""
    try:
        encoding = codecs.lookup(name).name
    except (LookupError, ValueError):
        encoding = ""
    if encoding not in ENCODINGS:
        raise UnreadableFile(f"{name[:100]!r} is not an encoding that tables are read in; state one of {', '.join(ENCODINGS)}")
    return encoding


def detect_encoding(file: BinaryIO) -> str:
    """Return the encoding of a file by its Python name. Reads the whole file, since its only umlaut may be in the last row."""
    file.seek(0)
    head = file.read(_SAMPLE)
    for mark, name in _MARKS:
        if head.startswith(mark):
            return name
    if b"\0" in head:
        return _wide(head)
    sample = _lines_beyond_ascii(file)
    if sample is None:
        return "utf-8"
    return _guess(sample)


def _wide(head: bytes) -> str:
    """Return the encoding of a text with two bytes per character, whose Latin letters have a NUL each."""
    even, odd = head[0::2].count(0), head[1::2].count(0)
    if max(even, odd) < len(head) // 5 or min(even, odd) * 10 > max(even, odd):
        raise UnreadableFile("the file is not a table: it has NUL bytes. Save it as CSV, XLSX or NDJSON")
    return "utf-16-le" if odd > even else "utf-16-be"


def _lines_beyond_ascii(file: BinaryIO) -> bytes | None:
    """Return some lines of the file with bytes beyond ASCII; None if the file is UTF-8."""
    file.seek(0)
    decoder = codecs.getincrementaldecoder("utf-8")()
    sample = bytearray()
    is_utf8 = True
    while chunk := file.read(_SAMPLE):
        if is_utf8:
            try:
                decoder.decode(chunk)
            except UnicodeDecodeError:
                is_utf8 = False
        if not chunk.isascii() and len(sample) < _SAMPLE:
            for line in chunk.splitlines(keepends=True):
                if not line.isascii() and len(sample) < _SAMPLE:
                    sample += line[:_SAMPLE]
        if not is_utf8 and len(sample) >= _SAMPLE:
            break
    if is_utf8:
        try:
            decoder.decode(b"", final=True)
            return None
        except UnicodeDecodeError:
            pass
    return bytes(sample)


def _guess(sample: bytes) -> str:
    lines = sample.splitlines()
    if sum(1 for line in lines if _is_utf8(line)) * 2 > len(lines):
        return "utf-8"  # most lines are, so the others are damaged: reading names their row
    noises: dict[str, float] = {}
    for match in charset_normalizer.from_bytes(sample, cp_isolation=_LIKELY):
        noise = match.chaos + _symbols_in_words(str(match))
        for name in (match.encoding, *match.could_be_from_charset):  # the others read the sample as the same text
            noises.setdefault(name, noise)
    likely = [name for name in _LIKELY if name in noises]
    if not likely:
        raise UnreadableFile("the file's encoding is not known; save the file as UTF-8, or state its encoding")
    return min(likely, key=lambda name: noises[name] // _TIE)


def _symbols_in_words(text: str) -> float:
    """Return how many of the characters beyond ASCII are symbols next to a letter: a wrong encoding shows "£ukasz"."""
    beyond = sum(1 for char in text if not char.isascii())
    return len(_SYMBOL_IN_WORD.findall(text)) / beyond if beyond else 0.0


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
