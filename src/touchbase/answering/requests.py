"""Requests that send an answer through a tool's API, and the meaning of responses. Nothing is sent here.

References, read 2026-11-28: Instantly API v2 (emails/reply), Smartlead API (reply-email-thread), lemlist API (inbox/email) and EmailBison
API (replies): the vendors' pages. HeyReach (inbox/SendMessage) and lemlist's inbox/linkedin: clients that others published.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any
from urllib.parse import quote

import msgspec

from touchbase.common.timestamps import SECOND, Micros
from touchbase.connections.models import Connection
from touchbase.connections.tools import ApiRequest, ApiResponse
from touchbase.conversations.answers import FAILED, QUEUED, TOOLS, UNKNOWN, Answer, AnswerOutcome, answer_subject, reference_of
from touchbase.enrichment.retry_policy import seconds_to_wait
from touchbase.messages.models import LINKEDIN, SENT, Message
from touchbase.outgoing.blocklist_tools import BLOCKLISTS, refusal
from touchbase.outgoing.blocklist_tools import request_of as tool_request

MOST_REFUSALS = 8
"""Requests that a tool may refuse for its rate limit, until the answer fails."""
LONGEST_WAIT: Micros = 600 * SECOND
READ_BYTES = 262_144
"""Bytes of a response that are read; it is read on the event loop."""
LOOKED_UP = {"user_id": "sendUserId", "mailbox": "sendUserEmail", "mailbox_id": "sendUserMailboxId"}
"""lemlist: ids that a webhook may lack, by their names in the items of an inbox."""
_CHECK = "look into the conversation in {name} before you send it again"


def base_of(connection: Connection) -> str:
    """Return the base URL of the tool's API."""
    return connection.settings.api_base or BLOCKLISTS[connection.tool].base or ""


def request_to_look_up(connection: Connection, message: Message) -> ApiRequest | None:
    """Return the request for the ids that a reply lacks; None if it has all."""
    reference = reference_of(message)
    if connection.tool != "lemlist" or all(name in reference for name in _lemlist_needs(message)):
        return None
    return tool_request("lemlist", connection, "GET", f"/inbox/{quote(reference['contact_id'], safe='')}?limit=20", None)


def looked_up(response: ApiResponse) -> dict[str, str]:
    """Return the ids in a response to a look-up: of the newest item that has them."""
    body = _json(response)
    rows = body if isinstance(body, list) else next((member for member in _members(body) if isinstance(member, list)), [])
    items = [row for row in rows if isinstance(row, dict) and isinstance(row.get("sendUserId"), str)]
    newest = max(items, key=lambda row: str(row.get("createdAt") or ""), default={})
    return {name: newest[member] for name, member in LOOKED_UP.items() if isinstance(newest.get(member), str)}


def missing_of(message: Message, reference: Mapping[str, str]) -> str | None:
    """Return why an answer cannot be sent after the look-up; None if all ids are there."""
    if message.tool == "lemlist" and not all(name in reference for name in _lemlist_needs(message)):
        return "lemlist does not say from which mailbox to answer: answer there"
    return None


def request_to_answer(connection: Connection, message: Message, reference: Mapping[str, str], text: str) -> ApiRequest:
    """Return the request that sends an answer to a message, of which `reference` has the ids."""
    path, body = _REQUESTS[connection.tool](message, reference, text)
    return tool_request(connection.tool, connection, "POST", path, body)


def outcome_of(answer: Answer, response: ApiResponse, now: Micros) -> AnswerOutcome:
    """Return an answer's outcome by the response. Only a 429 leaves it queued: the tool has surely not sent it."""
    tool = TOOLS[answer.tool]
    name, status = tool.name, response.status
    if 200 <= status < 300:
        if why := refusal(response):
            return AnswerOutcome(FAILED, f"{name} answered {status}, but {why}: send it again, or answer in {name}")
        return AnswerOutcome(SENT, sent_id=_sent_id(answer.tool, response))
    if status == 429:
        if answer.attempts + 1 >= MOST_REFUSALS:
            return AnswerOutcome(FAILED, f"{name} refused it {MOST_REFUSALS} times for its rate limit: send it again later")
        wait = min(int(seconds_to_wait(response, now) * SECOND), LONGEST_WAIT)
        return AnswerOutcome(QUEUED, f"{name} allows no more requests now; it is sent later", now + max(SECOND, wait))
    if status >= 500 or status in (408, 409, 425):
        return AnswerOutcome(UNKNOWN, f"{name} answered {status}: {_CHECK.format(name=name)}")
    return AnswerOutcome(FAILED, f"{name} answered {status}: {_advice(name, status)}")


def outcome_of_silence(tool: str, why: str, *, unsent: bool) -> AnswerOutcome:
    """Return the outcome of an answer whose request got no response."""
    name = TOOLS[tool].name
    if unsent:
        return AnswerOutcome(FAILED, f"{why}: nothing was sent; send it again when {name} can be reached")
    return AnswerOutcome(UNKNOWN, f"{why}: {_CHECK.format(name=name)}")


def _advice(name: str, status: int) -> str:
    if status in (401, 403):
        return f"the access token of the connection may not send; give the connection of {name} a token that may, and send it again"
    if status == 402:
        return f"{name} asks for a plan that has an API"
    if 300 <= status < 400 or status in (404, 405):
        return f"it does not know the conversation, or the setting api_base of the connection is wrong; answer in {name}"
    return f"it does not take the answer; answer in {name}"


def _html(text: str) -> str:
    return escape(text, quote=False).replace("\n", "<br>")


def _number(text: str) -> int | str:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else text


def _smartlead(message: Message, reference: Mapping[str, str], text: str) -> tuple[str, dict[str, Any]]:
    replied = {"reply_message_id": "message_id", "reply_email_time": "time"}
    body = {name: reference[member] for name, member in replied.items() if member in reference}
    if message.text:
        body["reply_email_body"] = message.text
    campaign = quote(reference["campaign_id"], safe="")
    return f"/campaigns/{campaign}/reply-email-thread", {"email_stats_id": reference["stats_id"], "email_body": _html(text), **body}


def _instantly(message: Message, reference: Mapping[str, str], text: str) -> tuple[str, dict[str, Any]]:
    ids = {"reply_to_uuid": reference["email_id"], "eaccount": reference["mailbox"]}
    # Line breaks of a plain text are lost, so it is HTML.
    return "/emails/reply", {**ids, "subject": answer_subject(message), "body": {"html": _html(text).replace("<br>", "<br/>")}}


def _emailbison(message: Message, reference: Mapping[str, str], text: str) -> tuple[str, dict[str, Any]]:
    body = {
        "message": text, "content_type": "text", "sender_email_id": _number(reference["sender_id"]),
        "to_emails": [{"name": None, "email_address": reference["to"]}], "inject_previous_email_body": True,
    }  # fmt: skip
    return f"/api/replies/{quote(reference['reply_id'], safe='')}/reply", body


def _heyreach(message: Message, reference: Mapping[str, str], text: str) -> tuple[str, dict[str, Any]]:
    ids = {"conversationId": reference["conversation_id"], "linkedInAccountId": _number(reference["account_id"])}
    return "/inbox/SendMessage", {**ids, "message": text}


def _lemlist_needs(message: Message) -> tuple[str, ...]:
    return ("user_id",) if message.channel == LINKEDIN else ("user_id", "mailbox", "mailbox_id")


def _lemlist(message: Message, reference: Mapping[str, str], text: str) -> tuple[str, dict[str, Any]]:
    ids = {"sendUserId": reference["user_id"], "contactId": reference["contact_id"], "leadId": reference["lead_id"]}
    if message.channel == LINKEDIN:
        return "/inbox/linkedin", {**ids, "message": text}
    mailbox = {"sendUserEmail": reference["mailbox"], "sendUserMailboxId": reference["mailbox_id"]}
    return "/inbox/email", {**ids, **mailbox, "subject": answer_subject(message), "message": _html(text), "cc": []}


_REQUESTS = {"smartlead": _smartlead, "instantly": _instantly, "emailbison": _emailbison, "heyreach": _heyreach, "lemlist": _lemlist}


def _sent_id(tool: str, response: ApiResponse) -> str | None:
    """Return the tool's id of the sent message, under which its webhook tells of it too."""
    if tool != "instantly":
        return None
    body = _json(response)
    number = body.get("id") if isinstance(body, dict) else None
    return number if isinstance(number, str) and 0 < len(number) <= 200 and number.isprintable() else None


def _json(response: ApiResponse) -> Any:
    try:
        return msgspec.json.decode(response.body) if len(response.body) <= READ_BYTES else None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _members(body: Any) -> list[Any]:
    return list(body.values()) if isinstance(body, dict) else []
