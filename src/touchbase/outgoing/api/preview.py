"""The message of an endpoint, without sending it: previews, and the requests of attempts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from email import message_from_bytes
from email.policy import SMTP
from shlex import quote

from msgspec import UNSET, json

from touchbase.clients.models import Client
from touchbase.common.timestamps import Micros
from touchbase.connections.models import Connection
from touchbase.connections.sql.connections import list_connections
from touchbase.errors import Invalid, NotFound
from touchbase.http.endpoint import Call
from touchbase.http.responses import Response
from touchbase.http.schemas import encode
from touchbase.outgoing.api.endpoint_bodies import check_endpoint, endpoint_from, outbox_of, sequence_of_id, take_test
from touchbase.outgoing.api.schemas import WebhookEndpointRequest, WebhookPreviewOut, WebhookPreviewRequest, WebhookRequestOut, url_out
from touchbase.outgoing.blocklists import path_of
from touchbase.outgoing.content import OutgoingMessage
from touchbase.outgoing.hubspot import paths_of
from touchbase.outgoing.models import BLOCKLIST, EMAIL, HUBSPOT, Endpoint


async def preview(call: Call) -> Response:
    """Handle `POST` of a preview."""
    client, now = await call.client(), call.api.dependencies.clock()
    call.parameters().done()
    connections = await call.api.dependencies.store.read(list_connections(client.number))
    body = await call.body(WebhookPreviewRequest, lambda partly: _check(call, client, partly, now, connections))
    _check(call, client, body, now, connections)
    endpoint = _previewed(client, body, now)
    take_test(call, client)
    sequence = None if body.event is UNSET else sequence_of_id(body.event)
    message = None
    if body.event is UNSET or sequence is not None:
        message = await outbox_of(call).preview(endpoint, client.client_id, sequence)
    if message is None:
        raise NotFound(f"there is no event {str(body.event)[:40]!r} in the log; ids look like evt_1207")
    return Response(body=encode(preview_out(endpoint.kind, message)))


def _previewed(client: Client, body: WebhookPreviewRequest, now: Micros) -> Endpoint:
    """Return the endpoint of a preview, with placeholders for the settings that its kind needs."""
    types = [] if body.type is UNSET else [body.type]
    to = body.to or (["you@example.com"] if body.kind == EMAIL else [])
    url = UNSET if body.kind in (EMAIL, HUBSPOT, BLOCKLIST) else "https://example.com"
    request = WebhookEndpointRequest(url, body.kind, to, body.template, body.template_subject, body.values, body.tool, types)
    return endpoint_from(client, request, now)


def _check(call: Call, client: Client, body: WebhookPreviewRequest, now: Micros, connections: Sequence[Connection]) -> None:
    try:
        check_endpoint(call, client, _previewed(client, body, now), connections, names_recipients=bool(body.to))
    except Invalid as error:
        raise Invalid(
            [replace(fault, pointer="/type") if fault.pointer == "/types/0" else fault for fault in error.faults], error.more
        ) from None


def preview_out(kind: str, message: OutgoingMessage) -> WebhookPreviewOut:
    """Return a message as a preview shows it."""
    if kind in (HUBSPOT, BLOCKLIST):
        return _write_out(kind, message)
    if kind != EMAIL:
        return WebhookPreviewOut(kind, message.type, message.headers, json.decode(message.body))
    mail = message_from_bytes(message.body, policy=SMTP)
    headers = {name: str(value) for name, value in mail.items()}
    return WebhookPreviewOut(kind, message.type, headers, mail.get_content().replace("\r\n", "\n"), message.body.decode())


def request_out(endpoint: Endpoint, message: OutgoingMessage, at: Micros, changed: list[str]) -> WebhookRequestOut:
    """Return the request of an attempt as shown; signed at the attempt's time."""
    if endpoint.kind == EMAIL:
        mail = preview_out(EMAIL, message)
        return WebhookRequestOut("MAIL", endpoint.url, mail.headers, mail.body, None, changed)
    url, headers, body = url_out(endpoint), message.signed(endpoint, at), message.body.decode()
    shell_url = _quoted(url) if url == endpoint.target else '"$URL"'
    curl = "curl --globoff" if any(sign in url for sign in "[]{}") else "curl"
    lines = [f"{curl} {shell_url}", *(f"-H {_quoted(f'{name}: {value}')}" for name, value in headers.items())]
    lines.append(f"--data-raw {_quoted(body)}")
    return WebhookRequestOut("POST", url, headers, body, " \\\n  ".join(lines), changed)


def _quoted(text: str) -> str:
    """Quote a text for a shell; what a terminal does not show as it is, such as a change of direction, becomes an escape of `printf`."""
    if text.isprintable():
        return quote(text)
    escapes = {"%": "%%", "\\": "\\\\", "'": "\\047"}
    escaped = (
        escapes.get(letter, letter) if letter.isprintable() else "".join(f"\\{byte:03o}" for byte in letter.encode()) for letter in text
    )
    return f"\"$(printf '{''.join(escaped)}')\""


def _write_out(kind: str, message: OutgoingMessage) -> WebhookPreviewOut:
    if message.answer is not None:
        return WebhookPreviewOut(kind, message.type, {}, None, not_sent=message.answer.error)
    requests = paths_of(message.target) if kind == HUBSPOT else [path_of(message.target)]
    return WebhookPreviewOut(kind, message.type, message.headers, json.decode(message.body or b"null"), requests=requests)
