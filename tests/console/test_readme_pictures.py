"""The pictures of README and docs: small, shown, and made by `make pictures`."""

from __future__ import annotations

import random
import struct
import zlib

from tests.console.readme_pictures import FOLDER, LARGEST
from tests.console.small_png import small

DOCS = FOLDER.parent
NAMES = {"overview", "replies", "contacts", "contact", "inbox", "narrow-dark"}


def test_pictures__are_small_and_shown_in_the_docs() -> None:
    files = {each.stem: each.read_bytes() for each in FOLDER.iterdir()}
    page = (DOCS / "how-to" / "use-the-console.md").read_text(encoding="utf-8")

    assert set(files) == NAMES
    assert all(data.startswith(b"\x89PNG") and len(data) <= LARGEST for data in files.values())
    assert [name for name in NAMES if f"../pictures/{name}.png" not in page] == []
    assert "docs/pictures/overview.png" in (DOCS.parent / "README.md").read_text(encoding="utf-8")


def _png(width: int, rows: list[bytes], kind: int) -> bytes:
    def chunk(name: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    header = struct.pack(">IIBBBBB", width, len(rows), 8, 2, 0, 0, 0)
    data = zlib.compress(b"".join(bytes([kind]) + row for row in rows))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def _colours(png: bytes, width: int) -> list[bytes]:
    """The pixels of a picture with a palette."""
    palette = png[png.index(b"PLTE") + 4 :]
    at = png.index(b"IDAT")
    data = zlib.decompress(png[at + 4 : at + 4 + struct.unpack(">I", png[at - 4 : at])[0]])
    rows = [data[n + 1 : n + 1 + width] for n in range(0, len(data), width + 1)]
    return [palette[3 * pixel : 3 * pixel + 3] for row in rows for pixel in row]


def test_small_png__keeps_a_picture_of_few_colours_as_it_is() -> None:
    chance = random.Random(3)
    colours = [bytes(chance.randrange(256) for _ in range(3)) for _ in range(40)]
    pixels = [[chance.choice(colours) for _ in range(9)] for _ in range(7)]

    made = small(_png(9, [b"".join(row) for row in pixels], 0))

    assert _colours(made, 9) == [pixel for row in pixels for pixel in row]


def test_small_png__undoes_the_filter_of_neighbours_to_the_left() -> None:
    row = bytes([10, 20, 30, 5, 5, 5, 250, 250, 250])

    made = small(_png(3, [row], 1))

    assert _colours(made, 3) == [bytes([10, 20, 30]), bytes([15, 25, 35]), bytes([9, 19, 29])]
