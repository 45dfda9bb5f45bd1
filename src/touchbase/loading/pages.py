"""Pages of a first load, read in a process with limits: rows become webhooks of the same tool, so that one adapter reads both.

A webhook that the tool sent before is the same event: its time and its message are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote, unquote

import msgspec

from touchbase.common.field_limits import NAME, InvalidText
from touchbase.deliveries.delivery import LOADED_KEY
from touchbase.do_not_contact.addresses import kind_of, normal_form
from touchbase.errors import Conflict

Row = Mapping[str, Any]
MOST_ROWS = 10_000
"""Rows of a page: tools return at most 1,000, but Smartlead all campaigns at once."""
MOST_FOLLOWING = 10_000
"""Pages that follow a page; all that are left are stored with each page that is read."""
LONGEST_STARTS = 2_000_000
"""Characters of their cursors, ids and names together."""
LONGEST_START = 2_000
"""Characters of one of them, most of which become a part of an address."""
LONGEST_NAME_PART = 50
"""Characters of a first or last name in it."""
LONGEST_ID = 18
"""Digits of an id."""


class Page(msgspec.Struct):
    """Content of a page."""

    webhooks: list[bytes]
    """Bodies of webhooks of the tool."""
    blocked: list[str]
    """Addresses and domains of its blocklist."""
    following: list[tuple[str, str]]
    """The pages to read next, as `requests.Step`."""
    rows: int
    addresses: list[tuple[str, str]] = []
    """Kinds and normal forms of the blocked ones."""
    left_out: int = 0
    """Blocked ones that are no address."""
    without_address: int = 0
    """Rows that name no person."""


def read_page(tool: str, kind: str, start: str, body: bytes) -> Page:
    """Return the content of a page. Raises `ValueError` for another kind, `Conflict` for one that is too large or endless."""
    value = msgspec.json.decode(body)
    page = Page([], [], [], 0)
    _READERS[tool](page, kind, start, value)
    for many, most, what in (
        (page.rows, MOST_ROWS, "rows"),
        (len(page.following), MOST_FOLLOWING, "pages that follow it"),
        (sum(len(place) for _, place in page.following), LONGEST_STARTS, "characters that say where they begin"),
        (max((len(place) for _, place in page.following), default=0), LONGEST_START, "characters that say where the next one begins"),
    ):
        if many > most:
            raise Conflict(f"the page {kind} has {many:,} {what}, and the most are {most:,}: is the setting api_base the tool's API?")
    if (kind, start) in page.following:
        raise Conflict(f"the page {kind} says that it follows itself, so the list has no end: is the setting api_base the tool's API?")
    addresses = [*map(_address, page.blocked)]
    page.left_out, page.blocked = addresses.count(None), []
    page.addresses = [*dict.fromkeys(filter(None, addresses))]
    return page


def _address(value: str) -> tuple[str, str] | None:
    """Return the kind and normal form of an entry of a blocklist; None if it is no address."""
    kind = kind_of(value)
    try:
        return kind, normal_form(kind, value)
    except (InvalidText, ValueError):
        return None


def _rows(value: object, *names: str) -> list[Row]:
    """Return the rows of a page, which is a list or an object with one of these members. Raises `ValueError`."""
    rows = value
    if isinstance(value, dict):
        rows = next((value[name] for name in names if isinstance(value.get(name), list)), None)
    if not isinstance(rows, list):
        raise ValueError(f"the page has no list {' or '.join(names)}")
    return [row for row in rows if isinstance(row, dict)]


def _add(page: Page, bodies: Iterator[Row], *addresses: object) -> None:
    """Add the webhooks of a row; of one that has none of a person's addresses the count alone."""
    if not any(addresses):
        page.without_address += 1
        return
    page.webhooks += [msgspec.json.encode({name: value for name, value in body.items() if value is not None}) for body in bodies]


def _next(page: Page, kind: str, count: int, most: int, start: str) -> None:
    """Add the next page of a list that is read by offset, if this one is full."""
    if count >= most:
        page.following.append((kind, start))


def _number(row: Row) -> str:
    """Return a row's id, which becomes a part of an address; empty without one. Raises `Conflict` for anything but a number."""
    number = str("" if row.get("id") is None else row["id"])
    if number and not (number.isascii() and number.isdigit() and len(number) <= LONGEST_ID):
        raise Conflict(f"a row of the page has the id {number[:40]!r}, and ids are numbers: is the setting api_base the tool's API?")
    return number


def _name(campaign: Row) -> str:
    """Return a campaign's name, cut: every webhook about it repeats it."""
    return str(campaign.get("name") or "")[:NAME]


# Instantly

_INTEREST = {
    "0": "lead_out_of_office", "1": "lead_interested", "2": "lead_meeting_booked", "3": "lead_meeting_completed", "4": "lead_won",
    "-1": "lead_not_interested", "-2": "lead_wrong_person", "-3": "lead_lost", "-4": "lead_no_show",
}  # fmt: skip


LONGEST_LABELS = 1_500
"""Characters of a team's own labels and their numbers, which come with each page of leads; the labels behind them are left out."""


def _instantly(page: Page, kind: str, start: str, value: Any) -> None:
    rows = _rows(value, "items")
    page.rows = len(rows)
    _, _, labels = start.partition(" ")
    if kind == "blocklist":
        page.blocked = [str(row["bl_value"]) for row in rows if row.get("bl_value")]
    elif kind == "labels":
        named = [(row.get("interest_status"), str(row.get("label") or "")[:NAME]) for row in rows]
        labels = " ".join([*labels.split(), *(f"{number}={quote(label, safe='')}" for number, label in named if label)])
        if len(labels) > LONGEST_LABELS:
            labels = labels[:LONGEST_LABELS].rpartition(" ")[0]
    else:
        names = {**_INTEREST, **{number: unquote(label) for number, _, label in (label.partition("=") for label in labels.split())}}
        for row in rows:
            if kind == "leads":
                _add(page, _lead_of_instantly(row, names), row.get("email"))
            elif row.get("ue_type") in (1, 2, 3):  # not a scheduled one
                _add(page, _email_of_instantly(row), row.get("lead"))
    if after := value.get("next_starting_after"):
        page.following.append((kind, f"{quote(str(after), safe='')} {labels}".strip()))
    elif kind == "labels":
        page.following.append(("leads", f" {labels}"))


def _lead_of_instantly(row: Row, names: Mapping[str, str]) -> Iterator[Row]:
    yield {**row, "upload_method": row.get("upload_method") or "api"}
    if (name := names.get(str(row.get("lt_interest_status")))) is not None:
        at = row.get("timestamp_last_interest_change") or row.get("timestamp_updated")
        yield {"event_type": name, "timestamp": at, "lead_email": row.get("email"), "campaign_id": row.get("campaign")}


def _email_of_instantly(row: Row) -> Iterator[Row]:
    body, of_reply = row.get("body"), row.get("ue_type") == 2
    body = body if isinstance(body, dict) else {}
    name = ("auto_reply_received" if row.get("is_auto_reply") else "reply_received") if of_reply else "email_sent"
    prefix = "reply" if of_reply else "email"
    yield {
        "event_type": name, "timestamp": row.get("timestamp_email"), "lead_email": row.get("lead"), "campaign_id": row.get("campaign_id"),
        "email_account": row.get("eaccount"), "email_id": row.get("id"), f"{prefix}_subject": row.get("subject"),
        f"{prefix}_text": body.get("text"), f"{prefix}_html": body.get("html"),
    }  # fmt: skip


# Smartlead


def _smartlead(page: Page, kind: str, start: str, value: Any) -> None:
    if kind == "messages":
        campaign, _, email, name = start.split("/", 3)
        rows = _rows(value, "history")
        _add(page, (_reply_of_smartlead(row, campaign, email, name) for row in rows if row.get("type") == "REPLY"), email)
    elif kind == "campaigns":
        rows = _rows(value, "data")
        for row in rows:
            if number := _number(row):
                first = f"{number}/0/{_name(row)}"
                page.following += [("statistics", first), ("leads", first), ("replied", first)]
    elif kind == "blocklist":
        rows = _rows(value, "data")
        page.blocked = [str(row["email_or_domain"]) for row in rows if row.get("email_or_domain")]
        _next(page, kind, len(rows), 1000, str(int(start) + 1000))
    else:
        rows = _rows(value, "data")
        campaign, offset, name = start.split("/", 2)
        most = 500 if kind == "statistics" else 100
        for row in rows:
            lead: Any = row.get("lead") if isinstance(row.get("lead"), dict) else {}
            if kind == "statistics":
                _add(page, _sent_by_smartlead(row, campaign, name), row.get("lead_email"))
            elif kind == "leads":
                _add(page, _lead_of_smartlead(row, lead, campaign, name), lead.get("email"))
            elif (number := _number(lead)) and lead.get("email"):
                page.following.append(("messages", f"{campaign}/{number}/{lead['email']}/{name}"))
        _next(page, kind, len(rows), most, f"{campaign}/{int(offset) + most}/{name}")
    page.rows = len(rows)


def _reply_of_smartlead(row: Row, campaign: str, email: str, name: str) -> Row:
    at, text = row.get("time"), row.get("email_body")
    return {
        "event_type": "EMAIL_REPLY", "event_timestamp": at, "sl_lead_email": email, "campaign_id": campaign, "campaign_name": name,
        "stats_id": row.get("stats_id"), "reply_message": {
            "message_id": row.get("message_id"), "subject": row.get("subject"), "text": text, "time": at,
        },
    }  # fmt: skip


def _sent_by_smartlead(row: Row, campaign: str, name: str) -> Iterator[Row]:
    about = {"sl_lead_email": row.get("lead_email"), "campaign_id": campaign, "campaign_name": name, "stats_id": row.get("stats_id")}
    if not (sent := row.get("sent_time")):
        return
    message = {"subject": row.get("email_subject"), "html": row.get("email_message")}
    yield {"event_type": "EMAIL_SENT", "event_timestamp": sent, **about, "sent_message": message}
    if row.get("is_bounced"):
        yield {"event_type": "EMAIL_BOUNCE", "event_timestamp": sent, **about}
    if row.get("is_unsubscribed"):
        yield {"event_type": "LEAD_UNSUBSCRIBED", "event_timestamp": row.get("reply_time") or sent, **about}


def _lead_of_smartlead(row: Row, lead: Row, campaign: str, name: str) -> Iterator[Row]:
    about = {"sl_lead_email": lead.get("email"), "campaign_id": campaign, "campaign_name": name, "lead_data": lead}
    if (category := row.get("lead_category_id")) is not None:
        yield {"event_type": "LEAD_CATEGORY_UPDATED", **about, "lead_category": {"new_id": category}}
    if lead.get("is_unsubscribed"):
        yield {"event_type": "LEAD_UNSUBSCRIBED", **about}


# lemlist


def _lemlist(page: Page, kind: str, start: str, value: Any) -> None:
    rows = _rows(value, "activities", "unsubscribes", "data")
    page.rows = len(rows)
    if kind == "activities":
        for row in rows:
            _add(page, iter([row]), row.get("leadEmail"), row.get("leadId"), row.get("linkedinUrl"))
    else:
        values = (row.get("value") or row.get("email") or row.get("_id") for row in rows)
        page.blocked = [str(address) for address in values if address]
    _next(page, kind, len(rows), 100, str(int(start) + 100))


# HeyReach


def _heyreach(page: Page, kind: str, start: str, value: Any) -> None:
    rows = _rows(value, "messages", "items") if kind == "messages" else _rows(value, "items")
    page.rows = len(rows)
    if kind == "campaigns":
        for row in rows:
            if number := _number(row):
                page.following += [("leads", f"{number}/0/{_name(row)}"), ("conversations", f"{number}//{_name(row)}")]
        _next(page, kind, len(rows), 100, str(int(start) + 100))
        return
    if kind == "blocklist":
        names = ("email", "emailAddress", "profileUrl", "linkedInProfileUrl", "fullName")
        page.blocked = [str(value) for row in rows if (value := next((row[name] for name in names if row.get(name)), None))]
        _next(page, kind, len(rows), 100, str(int(start) + 100))
        return
    campaign, place, name = start.split("/", 2)
    about = {"id": campaign, "name": name}
    if kind == "leads":
        for row in rows:
            lead = _profile_of_heyreach(row, "linkedInUserProfile")
            _add(page, _lead_of_heyreach(row, lead, about), lead["profile_url"], lead["email_address"])
        _next(page, kind, len(rows), 100, f"{campaign}/{int(place) + 100}/{name}")
    elif kind == "messages":
        account, conversation, url, first_name, last_name = map(unquote, place.split(","))
        lead = {"profile_url": url, "first_name": first_name, "last_name": last_name}
        _add(page, _messages_of_heyreach(rows, account, conversation, lead, about), url)
    else:
        for row in rows:
            _conversation_of_heyreach(page, row, campaign, name)
        if value.get("hasNextPage") is not False and (after := value.get("nextCursor")):
            page.following.append((kind, f"{campaign}/{quote(str(after), safe='')}/{name}"))


def _conversation_of_heyreach(page: Page, row: Row, campaign: str, name: str) -> None:
    """Add a conversation's messages, or the page that has all of them. One of another campaign comes with that campaign."""
    if str(row.get("campaignId") or campaign) != campaign:
        return
    account, conversation = _number({"id": row.get("linkedInAccountId")}), str(row.get("id") or "")
    profile, total = _profile_of_heyreach(row, "correspondentProfile"), row.get("totalMessages")
    messages = _rows(row.get("messages") or [])
    url = profile["profile_url"]
    if (isinstance(total, int) and total <= len(messages)) or not (account and conversation and url):
        _add(page, _messages_of_heyreach(messages, account, conversation, profile, {"id": campaign, "name": name}), url)
    else:
        names = (str(profile[part] or "")[:LONGEST_NAME_PART] for part in ("first_name", "last_name"))
        place = ",".join(quote(str(part), safe="") for part in (account, conversation, url, *names))
        page.following.append(("messages", f"{campaign}/{place}/{name}"))


def _profile_of_heyreach(row: Row, name: str) -> Row:
    profile = row.get(name)
    profile = profile if isinstance(profile, dict) else row
    return {
        "profile_url": profile.get("profileUrl"), "first_name": profile.get("firstName"), "last_name": profile.get("lastName"),
        "email_address": profile.get("emailAddress"),
    }  # fmt: skip


def _lead_of_heyreach(row: Row, lead: Row, campaign: Row) -> Iterator[Row]:
    """Yield a lead's invitation; its messages come with their conversation, at their own times."""
    names = {"ConnectionSent": "CONNECTION_REQUEST_SENT", "ConnectionAccepted": "CONNECTION_REQUEST_ACCEPTED"}
    if (name := names.get(str(row.get("leadConnectionStatus")))) is not None:
        yield {"event_type": name, "timestamp": row.get("lastActionTime"), "lead": lead, "campaign": campaign}


def _messages_of_heyreach(rows: Sequence[Row], account: str, conversation: str, lead: Row, campaign: Row) -> Iterator[Row]:
    """Yield a conversation's messages; `sender` is "ME" for ours, else the lead's, and one without a time is left out."""
    for row in rows:
        at, of_reply = row.get("createdAt"), str(row.get("sender")).upper() != "ME"
        if at:
            yield {
                "event_type": "MESSAGE_REPLY_RECEIVED" if of_reply else "MESSAGE_SENT", "timestamp": at, "lead": lead, "campaign": campaign,
                "conversation_id": conversation, "sender": {"id": account},
                "loaded_key": f"{LOADED_KEY}{conversation} {at} {of_reply}",
                "recent_messages": [{"creation_time": at, "message": row.get("body"), "is_reply": of_reply}],
            }  # fmt: skip


# Woodpecker

_STATES = {
    "BOUNCED": ("prospect_bounced", "last_contacted"), "INVALID": ("prospect_invalid", "last_contacted"),
    "BLACKLIST": ("prospect_blacklisted", "updated"),
}  # fmt: skip
_LEVELS = {"INTERESTED": "prospect_interested", "MAYBE-LATER": "prospect_maybe_later", "NOT-INTERESTED": "prospect_not_interested"}


def _woodpecker(page: Page, kind: str, start: str, value: Any) -> None:
    if kind in ("emails", "domains"):
        blocked = value.get(kind) if isinstance(value, dict) else None
        if not isinstance(blocked, list):
            raise ValueError(f"the page has no list {kind}")
        page.blocked, page.rows = [str(address) for address in blocked], len(blocked)
        if start == "0":
            return
    elif kind == "messages":
        _, at, email = start.split("/", 2)
        rows = _rows(value, "responses")
        page.rows = len(rows)
        # A reply by another channel has no response; the prospect's state has its time.
        _add(page, (_reply_of_woodpecker(row, email) for row in rows or [{"delivered": unquote(at)}]), email)
        return
    else:
        # A page without a prospect is an object with a `message`.
        rows = [] if isinstance(value, dict) and isinstance(value.get("message"), str) else _rows(value, "content", "prospects")
        page.rows = len(rows)
        for row in rows:
            prospect = row["prospect"] if isinstance(row.get("prospect"), dict) else row
            _add(page, _prospect(prospect), prospect.get("email"), prospect.get("linkedin_url"))
            has_replied = prospect.get("status") == "REPLIED" or prospect.get("last_replied")
            if has_replied and (number := _number(prospect)) and (address := prospect.get("email")):
                replied = prospect.get("last_replied") or prospect.get("updated")
                page.following.append(("messages", f"{number}/{quote(str(replied), safe='')}/{address}"))
    _next(page, kind, page.rows, 500, str(int(start) + 1))


def _prospect(row: Row) -> Iterator[Row]:
    yield {"method": "prospect_saved", "prospect": row, "timestamp": row.get("updated")}
    if at := row.get("last_contacted"):
        yield {"method": "campaign_sent", "prospect": row, "timestamp": at}
    if (state := _STATES.get(str(row.get("status")))) is not None:
        yield {"method": state[0], "prospect": row, "timestamp": row.get(state[1]) or row.get("updated")}
    if (name := _LEVELS.get(str(row.get("interested")))) is not None:
        yield {"method": name, "prospect": row, "timestamp": row.get("updated")}


def _reply_of_woodpecker(row: Row, email: str) -> Row:
    at = row.get("delivered")
    return {
        "method": "prospect_replied", "timestamp": at, "prospect": {"email": email, "campaign_id": row.get("campaign_id")},
        "email": {"id": row.get("response_id"), "date": at, "subject": row.get("subject"), "message": row.get("message")},
    }  # fmt: skip


# Reply.io

_PLACE_IN_SEQUENCE = {"bounced": "email_bounced", "optedout": "contact_opted_out"}


def _reply_io(page: Page, kind: str, start: str, value: Any) -> None:
    if kind == "blocklist":
        named = value if isinstance(value, dict) else {"": value}
        lists = [row for row in named.values() if isinstance(row, list)]
        if not lists and named:
            raise ValueError("the page has no list of addresses or domains")
        page.blocked = [str(address) for row in lists for address in row if isinstance(address, str)]
        page.rows = len(page.blocked)
        return
    rows = _rows(value, "items")
    page.rows = len(rows)
    number, _, around = start.partition("/")
    place, _, around = around.partition("/")
    if kind == "contacts":
        for row in rows:
            _add(page, _contact_of_reply_io(row), _person_of(row))
    elif kind == "sequences":
        sequences = [(number, _name(row)) for row in rows if (number := _number(row))]
        page.following += [(pages, f"{number}/0/{name}") for number, name in sequences for pages in ("states", "inbox", "sent")]
    elif kind == "states":
        for row in rows:
            _add(page, _place_of_contact(row, around), _person_of(row))
    elif kind == "messages":
        person, _, name = around.partition("/")
        person = unquote(person)
        _add(page, (_message_of_reply_io(row, number, person, name) for row in rows if row.get("date")), person)
    else:
        for row in rows:
            _add(page, _category_of_thread(row, around), _person_of(row))
            if (thread := _number(row)) and (person := _person_of(row)):
                page.following.append(("messages", f"{thread}/0/{quote(person, safe='@')}/{around}"))
    if value.get("hasMore") if isinstance(value, dict) else False:
        most = 20 if kind == "messages" else 100
        after = str(int(start) + most) if kind in ("contacts", "sequences") else f"{number}/{int(place) + most}/{around}"
        page.following.append((kind, after))


def _event_of_reply_io(name: str, at: object, person: str, sequence: str, **more: object) -> Row:
    """Return an event about a person, who is an address or a LinkedIn profile."""
    contact = {
        "email" if "@" in person else "linkedin_profile": person,
        **{member: value for member in ("first_name", "last_name", "linkedin_profile") if (value := more.pop(member, None))},
    }
    return {
        "event": {"type": name, "date": at},
        "contact_fields": contact,
        "sequence_fields": {"name": sequence} if sequence else None,
        **more,
    }


def _person_of(row: Row) -> str:
    """Return a contact's address, else its LinkedIn profile: contacts of LinkedIn sequences may have no address."""
    contact = row.get("contact")
    of_contact = contact if isinstance(contact, dict) else {}
    return str(next((value for name in ("email", "linkedInProfile") if (value := of_contact.get(name) or row.get(name))), ""))


def _contact_of_reply_io(row: Row) -> Iterator[Row]:
    about: dict[str, Any] = {
        "first_name": row.get("firstName"), "last_name": row.get("lastName"), "linkedin_profile": row.get("linkedInProfile"),
    }  # fmt: skip
    yield _event_of_reply_io("contact_created", row.get("addingDate"), _person_of(row), "", **about)
    if row.get("optedOut") or row.get("isOptedOut"):
        yield _event_of_reply_io("contact_opted_out", None, _person_of(row), "")


def _place_of_contact(row: Row, sequence: str) -> Iterator[Row]:
    """Yield a contact's bounce or opt-out in a sequence: a reply comes with its message, and the others say nothing new."""
    state = "".join(letter for letter in str(row.get("statusInSequence") or row.get("status")).lower() if letter.isalpha())
    if (name := _PLACE_IN_SEQUENCE.get(state)) is not None:
        yield _event_of_reply_io(name, None, _person_of(row), sequence)


def _category_of_thread(row: Row, sequence: str) -> Iterator[Row]:
    category = row.get("category")
    if isinstance(category, dict) and (name := category.get("name")):
        at = row.get("lastActivityDate")
        yield _event_of_reply_io("reply_categorized", at, _person_of(row), sequence, reply_fields={"category": name})


def _message_of_reply_io(row: Row, thread: str, person: str, sequence: str) -> Row:
    out, on_linkedin = bool(row.get("isOutbound")), str(row.get("channel")).lower() == "linkedin"
    names = ("linkedin_message_sent", "linkedin_message_replied") if on_linkedin else ("email_sent", "email_replied")
    text = {"email_text": row.get("body")} if out else {"reply_text": row.get("body")}
    fields = {"email_fields": {"message_id": row.get("messageId"), "subject": row.get("subject")}}
    key = f"{LOADED_KEY}{thread} {row.get('date')} {out}"
    return _event_of_reply_io(names[0] if out else names[1], row.get("date"), person, sequence, loaded_key=key, **text, **fields)


_READERS: Mapping[str, Callable[[Page, str, str, Any], None]] = {
    "instantly": _instantly, "smartlead": _smartlead, "lemlist": _lemlist, "heyreach": _heyreach, "woodpecker": _woodpecker,
    "reply_io": _reply_io,
}  # fmt: skip
TOOLS: Sequence[str] = tuple(_READERS)
"""The tools whose pages can be read."""
