"""A notice as an e-mail: its complete source. The headers keep auto-responders quiet and let servers recognise repeats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime, parseaddr
from typing import Any

from touchbase.common.timestamps import Micros
from touchbase.outgoing.models import LONGEST_SUBJECT
from touchbase.outgoing.notices import Notice
from touchbase.outgoing.templates import render

LONGEST_TEXT = 100_000
"""Characters of a mail's text."""
CUT = "\n… (cut)"


def mail_source(
    message_id: str, made_us: Micros, sender: str, to: Sequence[str], notice: Notice, templates: tuple[str, str], values: Mapping[str, Any]
) -> bytes:
    """Return the source of a mail; `templates`: of its subject and its text, "" for the usual ones. The same for each attempt."""
    subject, text = templates
    mail = EmailMessage(policy=SMTP)
    mail["From"] = sender
    mail["To"] = ", ".join(to)
    mail["Subject"] = one_line(render(subject, values) if subject else _subject(notice))
    mail["Date"] = format_datetime(datetime.fromisoformat(values["timestamp"]))
    # An id of an endpoint is unique within an installation only; its time of creation tells installations with the same sender apart.
    mail["Message-ID"] = f"<{message_id}.{made_us:x}@{parseaddr(sender)[1].rpartition('@')[2]}>"
    # RFC 3834: vacation notices and other automatic responders do not answer; the second is Microsoft's word for it.
    mail["Auto-Submitted"] = "auto-generated"
    mail["X-Auto-Response-Suppress"] = "All"
    body = render(text, values) if text else _text(notice)
    mail.set_content(body if len(body) <= LONGEST_TEXT else body[:LONGEST_TEXT] + CUT, charset="utf-8")
    return mail.as_bytes()


def one_line(text: str) -> str:
    """Return a text as the value of a header: one line without control characters, cut."""
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return line if len(line) <= LONGEST_SUBJECT else f"{line[: LONGEST_SUBJECT - 1]}…"


def _subject(notice: Notice) -> str:
    return f"{notice.headline}: {notice.subject}" if notice.subject else notice.headline


def _text(notice: Notice) -> str:
    parts = [notice.headline]
    if notice.subject:
        parts.append(f"Subject: {one_line(notice.subject)}")
    if notice.text.strip():
        parts.append("\n".join(f"> {line}" for line in notice.text.strip().splitlines()))
    about = [f"Campaign: {notice.campaign}"] * bool(notice.campaign) + [f"Tool: {notice.tool}"] * bool(notice.tool)
    about += [f"Record: {notice.link}"] * bool(notice.link) + ["This is a test of Touchbase."] * notice.is_test
    parts += ["\n".join(about)] * bool(about)
    return "\n\n".join(parts) + "\n"
