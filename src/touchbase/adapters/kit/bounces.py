"""Kind of a bounce: hard, soft or unknown, by the tool's own type, a server's answer, and last by the code in a notice's text."""

from __future__ import annotations

import re

from touchbase.adapters.kit.body_paths import Path, at, paths
from touchbase.adapters.kit.extract import text
from touchbase.adapters.kit.status_labels import bounce_kind

_ANSWERS = paths(
    "failure_message error error_message smtp_response smtp_reply smtp_error diagnostic_code diagnosticCode bounce_message bounceMessage "
    "bounce_description details bounce.diagnosticCode bounce.bouncedRecipients.0.status bounce.bouncedRecipients.0.diagnosticCode "
    "data.failure_message data.error data.smtp_response data.bounce.message"
)
"""Paths of a mail server's answer."""
_NOTICES = paths("reply_text reply_text_snippet text_body text body snippet message.text message.body reply.text data.text data.body")
"""Paths of a bounce notice's text. Only a code counts there: its words may be those of the mail that bounced."""
_CODE = re.compile(r"(?<![\d.])([45])\.\d{1,3}\.\d{1,3}\b")
_LONGEST_NOTICE = 20_000


def kind_of_bounce(item: object, types: tuple[Path, ...]) -> str:
    """Return hard, soft or unknown: by the values at the tool's own paths, then by a server's answer, then by the code in a notice."""
    for places in (types, _ANSWERS):
        kind = bounce_kind(*(at(item, path) for path in places))
        if kind != "unknown":
            return kind
    notices = (text(at(item, path)) for path in _NOTICES)
    codes = (match[0] for notice in notices if notice and (match := _CODE.search(notice[:_LONGEST_NOTICE])))
    return next(map(bounce_kind, codes), "unknown")
