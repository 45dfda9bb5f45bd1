"""SMTP client of outgoing e-mail, on threads; and the sender that chooses by the URL between it and HTTP."""

from __future__ import annotations

import asyncio
import smtplib
import socket
import ssl
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from email.utils import parseaddr
from typing import Any

from touchbase.common.normalize import find_email_key
from touchbase.config_values import MailServer, mail_server
from touchbase.enrichment.http_pool import certificates
from touchbase.outgoing.blocklists import SCHEME as BLOCKLIST_SCHEME
from touchbase.outgoing.blocklists import BlocklistClient
from touchbase.outgoing.http_client import ReceiverAnswer, WebhookClient
from touchbase.outgoing.hubspot import SCHEME
from touchbase.outgoing.hubspot_client import HubSpotClient
from touchbase.outgoing.models import RESPONSE_BYTES, TIMEOUT, UNREACHABLE

MAILTO = "mailto:"
SECONDS = 15.0
"""For the connection, and for each piece of a reply of the server."""
MOST_SECONDS = 60.0
"""From the beginning of the connection to the last byte of the last reply."""
REPLY_BYTES = 64 * 1024
"""Bytes of one reply of the server with all its lines: smtplib reads on for as long as a reply goes on."""
THREADS = 4
"""Mails that are sent at once by one process."""
ACCEPTED = 250
ANY_DOMAIN = ("*",)
SHOWN_DOMAINS = 3
"""Allowed domains that an error lists."""


def why_not_mailed(address: str, domains: Sequence[str]) -> str | None:
    """Return why no e-mail may be sent to an address; None if its domain is one of `domains` or a subdomain, or they have `*`."""
    domain = (find_email_key(address) or address).rpartition("@")[2]
    if "*" in domains or any(domain == allowed or domain.endswith(f".{allowed}") for allowed in domains):
        return None
    listed = ", ".join(domains[:SHOWN_DOMAINS]) or "none"
    more = f" and {len(domains) - SHOWN_DOMAINS} more" if len(domains) > SHOWN_DOMAINS else ""
    return (
        f"no e-mail may be sent to {address!r}: the allowed domains are {listed}{more}; "
        f"ask the operator to add {domain} to TOUCHBASE_MAIL_DOMAINS"
    )


class MailClient:
    """Sends mails to recipients of `domains`; `sender`: the address that the server gets, and bounces go to. Without a URL: none."""

    def __init__(self, url: str, sender: str, domains: Sequence[str], context: ssl.SSLContext | None = None) -> None:
        self._server = mail_server(url) if url else None
        self._sender = parseaddr(sender)[1]
        self._domains = domains
        self._context = context
        self._open: set[smtplib.SMTP] = set()
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="mail")

    async def send(self, to: list[str], source: bytes) -> ReceiverAnswer:
        """Hand in a mail for all addresses, or for none if one is not allowed or the server refuses it; failures are answers too."""
        if self._server is None:
            return ReceiverAnswer(0, failure=UNREACHABLE, error="TOUCHBASE_SMTP_URL is not set in the process that sends")
        if refusals := [why for address in to if (why := why_not_mailed(address, self._domains)) is not None]:
            return ReceiverAnswer(0, failure=UNREACHABLE, error=refusals[0])
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._answer, self._server, to, source)

    def close(self) -> None:
        """Stop beginning mails, and end mails in progress: the process must not wait for a server that is silent."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        for smtp in [*self._open]:
            with suppress(OSError, AttributeError):
                smtp.sock.shutdown(socket.SHUT_RDWR)  # type: ignore[union-attr]

    def _answer(self, server: MailServer, to: list[str], source: bytes) -> ReceiverAnswer:
        began = time.perf_counter()

        def took() -> int:
            return int((time.perf_counter() - began) * 1e6)

        try:
            status, words = self._deliver(server, to, source)
        except smtplib.SMTPResponseException as error:
            status, words = error.smtp_code, _text(error.smtp_error)
        except TimeoutError:
            return ReceiverAnswer(took(), failure=TIMEOUT, error=f"no response of {server.host} within {SECONDS:g} seconds")
        except (smtplib.SMTPException, OSError, ValueError) as error:
            why = f"{server.host} cannot be used: {type(error).__name__} {error}".strip()
            return ReceiverAnswer(took(), failure=UNREACHABLE, error=_hidden(why, server)[:200])
        return ReceiverAnswer(took(), status, body=_hidden(words, server))

    def _deliver(self, server: MailServer, to: list[str], source: bytes) -> tuple[int, str]:
        context, name = self._context or certificates(), self._sender.rpartition("@")[2]
        if server.tls:
            opened: smtplib.SMTP = _SmtpOverTls(self._open, server.host, server.port, name, timeout=SECONDS, context=context)
        else:
            opened = _Smtp(self._open, server.host, server.port, name, timeout=SECONDS)
        with closing(opened) as smtp:
            smtp.ehlo()
            if server.starttls or (not server.tls and smtp.has_extn("starttls")):
                smtp.starttls(context=context)
                smtp.ehlo()
            if server.user:
                smtp.login(server.user, server.password)
            _accepted(smtp.mail(self._sender))
            for address in to:
                _accepted(smtp.rcpt(address), f" (for {address})")
            words = _accepted(smtp.data(source))
            with suppress(smtplib.SMTPException, OSError):
                smtp.quit()  # the mail is accepted, whatever becomes of the connection
            return ACCEPTED, _text(words)


class _Replies:
    """Replies of a server, each of at most `REPLY_BYTES`, up to a moment of the monotonic clock: a byte now and then holds up nobody."""

    def __init__(self, sock: socket.socket, until: float) -> None:
        self._sock, self._until = sock, until
        self._bytes = bytearray()
        self.left = REPLY_BYTES
        """Bytes that the present reply may still have."""

    def readline(self, most: int) -> bytes:
        """Return the next line; raise `OSError` if the reply is too long with it, or too late."""
        while (end := self._bytes.find(b"\n", 0, most) + 1) == 0 and len(self._bytes) < most:
            seconds = self._until - time.monotonic()
            if seconds <= 0:
                raise OSError(f"the mail is not taken within {MOST_SECONDS:g} seconds")
            self._sock.settimeout(min(SECONDS, seconds))
            try:
                piece = self._sock.recv(4_096)
            except TimeoutError:
                if seconds <= SECONDS:
                    continue  # the moment has come, not only a silence
                raise
            if not piece:
                break
            self._bytes += piece
        line = bytes(self._bytes[: end or most])
        del self._bytes[: len(line)]
        self.left -= len(line)
        if self.left < 0:
            raise OSError(f"a reply has more than {REPLY_BYTES} bytes")
        return line

    def close(self) -> None:
        """Nothing: the socket belongs to its connection."""


class _Smtp(smtplib.SMTP):
    """SMTP with bounded replies; `opened`: where it is noted while it is open."""

    file: _Replies | None

    def __init__(self, opened: set[smtplib.SMTP], *args: Any, **kwargs: Any) -> None:
        self._opened, self._until = opened, time.monotonic() + MOST_SECONDS
        super().__init__(*args, **kwargs)

    def getreply(self) -> tuple[int, bytes]:
        """Read one reply."""
        assert self.sock is not None
        self._opened.add(self)
        if self.file is None:
            self.file = _Replies(self.sock, self._until)
        self.file.left = REPLY_BYTES
        return super().getreply()

    def close(self) -> None:
        """Close the connection."""
        self._opened.discard(self)
        super().close()


class _SmtpOverTls(_Smtp, smtplib.SMTP_SSL):
    """The same over TLS."""


def _accepted(reply: tuple[int, bytes], about: str = "") -> bytes:
    code, words = reply
    if not 200 <= code < 300:
        raise smtplib.SMTPResponseException(code, words + about.encode())
    return words


def _text(words: bytes | str) -> str:
    text = words if isinstance(words, str) else words.decode("utf-8", "replace")
    return text.replace("\x00", "\ufffd")[:RESPONSE_BYTES]


def _hidden(text: str, server: MailServer) -> str:
    return text.replace(server.password, "***") if server.password else text


class SenderByScheme:
    """Sends by the URL's scheme: `mailto:` by SMTP, `hubspot:` and `blocklist:` with the token of a connection, others by HTTP."""

    def __init__(self, http: WebhookClient, mail: MailClient, hubspot: HubSpotClient, blocklist: BlocklistClient) -> None:
        self._http = http
        self._mail = mail
        self._hubspot = hubspot
        self._blocklist = blocklist

    async def post(self, url: str, headers: dict[str, str], body: bytes) -> ReceiverAnswer:
        """Send a request or a mail, whose source is the body; return its outcome."""
        if url.startswith(MAILTO):
            return await self._mail.send(recipients(url), body)
        if url.startswith(SCHEME):
            return await self._hubspot.post(url, body)
        if url.startswith(BLOCKLIST_SCHEME):
            return await self._blocklist.post(url)
        return await self._http.post(url, headers, body)

    async def close(self) -> None:
        """Close all connections."""
        self._mail.close()
        await self._http.close()
        await self._hubspot.close()
        await self._blocklist.close()


def mailto(to: list[str]) -> str:
    """Return the URL of an endpoint that sends mails."""
    return MAILTO + ",".join(to)


def recipients(url: str) -> list[str]:
    """Return the addresses of such a URL."""
    return url.removeprefix(MAILTO).split(",")
