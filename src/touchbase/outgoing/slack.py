"""A notice as a Slack message: Block Kit blocks, and a text for notifications.

Limits: https://docs.slack.dev/reference/block-kit/blocks, read 2026-11-26. All texts of a message together have a limit that is not
documented: 11,000 characters were seen refused, 9,500 accepted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from touchbase.outgoing.notices import EventNotice
from touchbase.outgoing.templates import render

SECTION = 2_600
"""Characters of a section; Slack accepts 3,000, and not much more than three such sections in a message."""
MAX_SECTIONS = 3
"""Sections of a message's text; Slack accepts 50 blocks."""
SHORTEST_CUT = SECTION // 2
LONGEST_SHORT = 300
"""Characters of a headline and of each detail."""
CUT = "… (cut)"
_ESCAPES = {ord("&"): "&amp;", ord("<"): "&lt;", ord(">"): "&gt;"}


def escaped(text: str) -> str:
    """Escape a text, so that Slack shows it as it is and reads no link, mention or channel in it."""
    return text.translate(_ESCAPES)


def slack_body(notice: EventNotice, template: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body of a request to an incoming webhook."""
    headline = _short(notice.headline)
    sections = list(_sections(render(template, values, escaped))) if template else list(_standard(headline, notice))
    blocks = [_section(section) for section in sections]
    if details := list(_details(notice)):
        blocks.append({"type": "context", "elements": [_mrkdwn(detail) for detail in details]})
    return {"text": headline, "blocks": blocks} if blocks else {"text": headline}


def _standard(headline: str, notice: EventNotice) -> Iterator[str]:
    yield f"*{headline}*"
    if notice.subject:
        yield f"Subject: {_short(notice.subject)}"
    if notice.text.strip():
        yield from _sections(escaped(notice.text.strip()), "> ")


def _details(notice: EventNotice) -> Iterator[str]:
    if notice.is_test:
        yield "This is a test of Touchbase"
    if notice.campaign:
        yield f"Campaign: {_short(notice.campaign)}"
    if notice.tool:
        yield f"Tool: {_short(notice.tool)}"
    if notice.link:
        yield f"<{escaped(notice.link)}|Open the record>"


def _sections(text: str, mark: str = "") -> Iterator[str]:
    """Yield a text in parts that fit into a section, each line after `mark`; at most `MAX_SECTIONS`, the last one says that it was cut."""
    lines = [piece for line in text.splitlines() for piece in _pieces(line, SECTION - len(mark) - len(CUT) - 1)]
    part, count = "", 1
    for line in lines:
        added = f"{mark}{line}\n"
        if len(part) + len(added) + len(CUT) > SECTION:
            if count == MAX_SECTIONS:
                yield part + CUT
                return
            if part.strip():
                yield part.rstrip("\n")
            part, count = "", count + 1
        part += added
    if part.strip():
        yield part.rstrip("\n")


def _pieces(line: str, most: int) -> Iterator[str]:
    """Yield a line in pieces of at most `most` characters, cut at a blank where there is one and never within an escape."""
    while len(line) > most:
        end = line.rfind(" ", SHORTEST_CUT, most)
        if end < 0:
            opened = line.rfind("&", most - 5, most)
            end = opened if opened >= 0 and ";" not in line[opened:most] else most
        yield line[:end]
        line = line[end:].lstrip(" ")
    yield line


def _short(text: str) -> str:
    """Return a text in one line, escaped and cut."""
    line = " ".join(text.split())
    return escaped(line if len(line) <= LONGEST_SHORT else f"{line[: LONGEST_SHORT - 1]}…")


def _section(text: str) -> dict[str, Any]:
    return {"type": "section", "text": _mrkdwn(text)}


def _mrkdwn(text: str) -> dict[str, Any]:
    # Verbatim: Slack makes no links of addresses and channel names in what a prospect wrote.
    return {"type": "mrkdwn", "text": text, "verbatim": True}
