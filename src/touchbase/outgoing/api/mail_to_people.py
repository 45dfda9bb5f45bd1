"""Mails to people of the team: one-time links, through the mail server of the endpoints of the kind `email`."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import formatdate, make_msgid, parseaddr

from touchbase.auth.users import INVITATION, RESET, SIGN_IN, LinkKind, User
from touchbase.errors import TouchbaseError
from touchbase.http.endpoint import Call
from touchbase.outgoing.api.endpoint_bodies import INSTALLATION, SEND_WEBHOOK
from touchbase.outgoing.mail_client import ACCEPTED, mailto, why_not_mailed

LOG = logging.getLogger("touchbase.team")
_TEXTS = {
    INVITATION: ("You are invited to Touchbase", "Open this link to join. It works once, for 7 days."),
    RESET: ("A new password for Touchbase", "Open this link to choose another password. It works once, for a day."),
    SIGN_IN: ("Sign in to Touchbase", "Open this link to sign in. It works once, for 15 minutes. If you did not ask for it, ignore it."),
}
_sending: set[asyncio.Task[None]] = set()
"""Keeps the mails that are being sent from the garbage collector."""


def can_mail(call: Call, email: str | None = None) -> bool:
    """Return whether links can be sent at all, or to this address. They need a public URL: a request's Host header may be anybody's."""
    place = call.api[INSTALLATION]
    is_set = bool(place.mail_from and call.api.dependencies.public_url)
    return is_set and (email is None or why_not_mailed(email, place.mail_domains) is None)


def link_mail(call: Call, user: User, kind: LinkKind, link: str, storing: Awaitable[object] | None = None) -> None:
    """Begin to send a link, after `storing` it; the response waits for neither, so that its time tells nothing about the address."""
    task = asyncio.create_task(_send(call, user, kind, link, storing), name="mail of a link")
    _sending.add(task)
    task.add_done_callback(_sending.discard)


async def _send(call: Call, user: User, kind: LinkKind, link: str, storing: Awaitable[object] | None) -> None:
    try:
        if storing is not None:
            await storing
        answer = await call.api[SEND_WEBHOOK](mailto([user.email]), {}, _mail(call, user, kind, link))
    except TouchbaseError as error:
        LOG.warning("the link for user %s was not stored, and no mail sent: %s", user.id, error.detail)
    else:
        if answer.status != ACCEPTED:
            LOG.warning("the mail with a link for user %s was not sent: %s", user.id, answer.error or answer.status)


def _mail(call: Call, user: User, kind: LinkKind, link: str) -> bytes:
    """Return the source of a mail with a link."""
    subject, text = _TEXTS[kind]
    mail = EmailMessage(policy=SMTP)
    sender = call.api[INSTALLATION].mail_from
    mail["From"], mail["To"], mail["Subject"] = sender, user.email, subject
    mail["Date"], mail["Message-ID"] = formatdate(), make_msgid(domain=parseaddr(sender)[1].rpartition("@")[2])
    mail["Auto-Submitted"] = "auto-generated"
    mail.set_content(f"{text}\n\n{link}\n", cte="7bit")  # quoted-printable would break the link in two lines
    return mail.as_bytes()
