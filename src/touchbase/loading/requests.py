"""Requests of a first load. Each tool has some kinds of pages; a page names the requests that follow it (`loading/pages.py`).

References, read 2026-11-28: the vendors' pages of Instantly (API v2), Smartlead and lemlist; Reply.io's own command line (API v3); clients
that others published of HeyReach, Woodpecker and Reply.io's blocklist.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from touchbase.common.timestamps import SECOND, Micros
from touchbase.connections.models import Connection
from touchbase.connections.tools import ApiRequest
from touchbase.conversations.answers import TOOLS as ANSWERS
from touchbase.history.events import EMAIL_CAMPAIGN
from touchbase.outgoing.blocklist_tools import BLOCKLISTS
from touchbase.outgoing.blocklist_tools import request_of as tool_request

Step = tuple[str, str]
"""A kind of page, and where it begins: a cursor, an offset, or the ids that its path needs."""


@dataclass(frozen=True, slots=True)
class Source:
    """How a tool's history is read."""

    first: tuple[Step, ...]
    pauses: Mapping[str, Micros]
    """By kind of page, the time between two requests; the others: `pause`."""
    pause: Micros
    """Well within the tool's limit, of which a team's other programs take a share."""


_PAGES_OF_BLOCKLISTS: tuple[Step, ...] = (("emails", "1"), ("emails", "0"), ("domains", "1"), ("domains", "0"))
"""Woodpecker's: whether the first page is 0 or 1 is not documented, so the pages from 1 on are read, and then the one without a number."""
SOURCES: Mapping[str, Source] = {
    "instantly": Source((("labels", ""), ("emails", ""), ("blocklist", "")), {"emails": 4 * SECOND}, SECOND // 5),
    "smartlead": Source((("campaigns", ""), ("blocklist", "0")), {}, 5 * SECOND),  # the smallest plan allows 1,000 an hour
    "lemlist": Source((("activities", "0"), ("unsubscribes", "0")), {}, SECOND // 5),
    "heyreach": Source((("campaigns", "0"), ("blocklist", "0")), {}, SECOND // 2),
    "woodpecker": Source((("prospects", "1"), *_PAGES_OF_BLOCKLISTS), {}, 2 * SECOND),
    "reply_io": Source((("contacts", "0"), ("sequences", "0"), ("blocklist", "Emails"), ("blocklist", "Domains")), {}, 3 * SECOND // 2),
}
"""By tool."""


def uses_of_api(channel: str, tool: str, *, is_fetched: bool = False) -> list[str]:
    """Return what a tool's API is used for, in words. Tests have servers of ours that speak the published calls, for each."""
    is_campaign = channel == EMAIL_CAMPAIGN
    tools = {"load": SOURCES, "blocklist": BLOCKLISTS, "answer": ANSWERS}
    uses = {"fetch": is_fetched, **{use: is_campaign and tool in of_use for use, of_use in tools.items()}}
    return [use for use, is_used in uses.items() if is_used]


def request_of(tool: str, connection: Connection, step: Step) -> ApiRequest:
    """Return the request for a page."""
    kind, start = step
    path, body = _REQUESTS[tool](kind, start)
    return tool_request(tool, connection, "GET" if body is None else "POST", path, body)


def base_of(tool: str, connection: Connection) -> str:
    """Return the base URL of the tool's API."""
    return connection.settings.api_base or BLOCKLISTS[tool].base or ""


Parts = tuple[str, Mapping[str, Any] | None]
"""Path, and the body of a POST; None: a GET."""


def _instantly(kind: str, start: str) -> Parts:
    start = start.partition(" ")[0]
    after = f"&starting_after={start}" if start else ""
    if kind == "leads":
        return "/leads/list", {"limit": 100, **({"starting_after": unquote(start)} if start else {})}
    if kind == "labels":
        return f"/lead-labels?limit=100{after}", None
    if kind == "emails":
        return f"/emails?limit=100&sort_order=asc{after}", None
    return f"/block-lists-entries?limit=100{after}", None


def _smartlead(kind: str, start: str) -> Parts:
    if kind == "campaigns":
        return "/campaigns/", None
    if kind == "blocklist":
        return f"/leads/get-domain-block-list?offset={start}&limit=1000", None
    campaign, place, *_ = start.split("/")
    if kind == "statistics":
        return f"/campaigns/{campaign}/statistics?offset={place}&limit=500", None
    if kind == "leads":
        return f"/campaigns/{campaign}/leads?offset={place}&limit=100", None
    if kind == "replied":
        return f"/campaigns/{campaign}/leads?offset={place}&limit=100&emailStatus=is_replied", None
    return f"/campaigns/{campaign}/leads/{place}/message-history?show_plain_text_response=true", None


def _lemlist(kind: str, start: str) -> Parts:
    if kind == "activities":
        return f"/activities?version=v2&limit=100&offset={start}", None
    return f"/v2/unsubscribes/variables?limit=100&offset={start}", None


def _heyreach(kind: str, start: str) -> Parts:
    if kind == "campaigns":
        return "/campaign/GetAll", {"offset": int(start), "limit": 100}
    if kind == "blocklist":
        return "/blacklist/GetLeads", {"offset": int(start), "limit": 100}
    campaign, place, *_ = start.split("/")
    if kind == "conversations":
        # Of one campaign: an account's whole inbox has private conversations.
        return "/inbox/GetConversationsV3", {"limit": 100, "cursor": unquote(place) or None, "filters": {"campaignIds": [int(campaign)]}}
    if kind == "messages":
        account, conversation, *_ = place.split(",")
        return f"/inbox/GetChatroom/{account}/{conversation}", None
    return "/campaign/GetLeadsFromCampaign", {"campaignId": int(campaign), "offset": int(place), "limit": 100}


def _woodpecker(kind: str, start: str) -> Parts:
    if kind == "prospects":
        return f"/rest/v1/prospects?page={start}&per_page=500", None
    if kind == "messages":
        return f"/rest/v2/prospects/{start.partition('/')[0]}/responses", None
    return f"/rest/v2/blacklist/{kind}?per_page=500{'' if start == '0' else f'&page={start}'}", None


def _reply_io(kind: str, start: str) -> Parts:
    if kind == "contacts":
        return f"/v3/contacts/filter?top=100&skip={start}", {}
    if kind == "sequences":
        return f"/v3/sequences?top=100&skip={start}", None
    if kind == "blocklist":
        return f"/v1/Blacklist?outputType={start}", None
    number, place, *_ = start.split("/")
    if kind == "states":
        return f"/v3/sequences/{number}/contacts?top=100&skip={place}", None
    if kind == "messages":
        return f"/v3/inbox/threads/{number}/messages?top=20&skip={place}", None
    return f"/v3/inbox/threads/filter?top=100&skip={place}", {"sequenceIds": [int(number)], "source": kind}


_REQUESTS = {
    "instantly": _instantly, "smartlead": _smartlead, "lemlist": _lemlist, "heyreach": _heyreach, "woodpecker": _woodpecker,
    "reply_io": _reply_io,
}  # fmt: skip
