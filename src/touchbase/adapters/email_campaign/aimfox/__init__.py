"""Aimfox: webhooks, in both forms that are in use.

The newer form has `workspace` and `event`, the older one `workspace_id` and `data`. `reply` and `inmail_reply` carry our own text as
`message`; the answer is the `body` of `campaign_reply` and `new_reply`. One answer may come as three events with one `message_urn`.
"""

from __future__ import annotations

from touchbase.adapters.kit import event_types as m
from touchbase.adapters.kit.declarative import DetectionRule, Item, TableAdapter, batch, normalize_event_name
from touchbase.adapters.kit.event_types import Meaning
from touchbase.adapters.kit.extract import dig, first, text
from touchbase.adapters.kit.messages import MessagePaths

_PROFILE = "https://www.linkedin.com/in/"
_BY_SENDER = ("new_reply", "campaign_reply")
_OURS = ("message", "message_request", "inmail")


class Aimfox(TableAdapter):
    """Reads Aimfox's webhooks."""

    def items(self, data: object) -> object:
        """Return the items in one form: the event's members in `about`, its person in `person`."""
        return [_in_one_form(body) if isinstance(body, dict) else body for body in batch(data)]

    def meaning(self, name: str, item: Item) -> Meaning:
        """Return the meaning from the table; a message of someone else than the account is not ours."""
        sender, account = text(dig(item, "about", "sender", "urn")), text(dig(item, "about", "account_urn"))
        if normalize_event_name(name) in _OURS and None not in (sender, account) and sender != account:
            return m.OTHER
        return super().meaning(name, item)


def _in_one_form(body: Item) -> Item:
    about = next((inner for key in ("event", "data") if isinstance(inner := body.get(key), dict)), {})
    by_sender = text(body.get("event_type")) in _BY_SENDER
    person = first(about, *(("sender", "target") if by_sender else ("target", "recipient", "sender")))
    identifier = text(first(person, "public_identifier"))
    return {**body, "about": about, "person": person, "profile": None if identifier is None else f"{_PROFILE}{identifier}"}


ADAPTER = Aimfox(
    tool="aimfox",
    shapes=(
        DetectionRule("event_type workspace event", 92),
        DetectionRule("event_type workspace data", 90),
        DetectionRule("event_type workspace_id data.account_urn", 92),
        DetectionRule("event_type workspace_id data.target", 92),
        DetectionRule("event_type workspace_id event.target", 92),
        DetectionRule("event_type workspace_id event.sender", 92),
        DetectionRule("event_type workspace_id data.sender", 92),
    ),
    plain_names="inmail_reply account_logged_in account_logged_out",
    names={
        "reply": m.LINKEDIN_REPLIED,
        "new_reply": m.LINKEDIN_REPLIED,
        "campaign_reply": m.LINKEDIN_REPLIED,
        "message": m.LINKEDIN_SENT,
        "message_request": m.LINKEDIN_SENT,
        "inmail": m.LINKEDIN_SENT,
        "accepted": m.LINKEDIN_ACCEPTED,
        "new_connection": m.LINKEDIN_ACCEPTED,
        "connect": m.LINKEDIN_INVITED,
        "view": m.OTHER,
    },
    name="event_type",
    email="person.email",
    time="about.timestamp about.created_at timestamp",
    linkedin="person.profile_url profile",
    first_name="person.first_name",
    last_name="person.last_name",
    full_name="person.full_name person.name",
    campaign="about.campaign_name about.campaign.name about.campaign_id",
    campaign_id="about.campaign_id about.campaign.id",
    message="about.message_urn",
    key="about.message_urn about.event_id id",
    sent=MessagePaths(
        text="about.message.body about.message about.body about.message_body", mailbox="about.account_name", message_id="about.message_urn"
    ),
    received=MessagePaths(text="about.body about.message_body", mailbox="about.account_name", message_id="about.message_urn"),
    usual_messages=False,
)
