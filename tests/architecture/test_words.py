"""Private words do not come back: each has a plain replacement in CONTRIBUTING.md."""

from __future__ import annotations

import re

from tests.architecture.source import FILES

BANNED = {
    "whoever": "the client, the operator",
    "nobody": "no client, no process",
    "everybody": "all clients, all processes",
    "told": "sent, returned, known",
    "kept": "stored",
    "anew": "again",
    "meanwhile": "until then, in between",
    "strangers": "other HTTP clients",
    "beside": "next to, with, during",
    "of ours": "Touchbase's",
    "those that": "the noun itself",
    "whom": "the noun itself",
}
"""Word -> what to write in its place."""
LEFT = {"inbox": 1}
"""Lines that still have such words, by package. The numbers only fall; a package that is not listed has none."""


def lines_with_banned_words() -> dict[str, int]:
    """The number of such lines by package; 0 is left out."""
    pattern = re.compile(rf"\b(?:{'|'.join(BANNED)})\b", re.IGNORECASE)
    found: dict[str, int] = {}
    for module, path in FILES.items():
        package = [*module.split("."), ""][1]
        count = sum(1 for line in path.read_text(encoding="utf-8").splitlines() if pattern.search(line))
        if count:
            found[package] = found.get(package, 0) + count
    return found


def test_packages__have_no_more_banned_words_than_are_left() -> None:
    found = lines_with_banned_words()

    assert {package: count for package, count in found.items() if count > LEFT.get(package, 0)} == {}, "see CONTRIBUTING.md, Words"
    assert {package: count for package, count in LEFT.items() if found.get(package, 0) < count} == {}, "lower the number in LEFT"


def test_contributing__has_a_replacement_for_each_banned_word() -> None:
    page = (FILES["touchbase"].parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")

    assert [f"| {word} | {plain} |" for word, plain in BANNED.items() if f"| {word} | {plain} |" not in page] == []
