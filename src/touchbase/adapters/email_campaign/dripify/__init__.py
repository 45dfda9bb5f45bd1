"""Dripify: webhooks of a campaign's step.

A body is a profile without an event's name or a time of day: the receipt counts, and the name is in the address, `?event=replied`.
Without one the person was saved.
"""

from __future__ import annotations

from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit import event_types as m
from touchbase.adapters.kit.crm_values import query_parameter
from touchbase.adapters.kit.declarative import DetectionRule, Item, TableAdapter
from touchbase.adapters.kit.event_types import Meaning, meaning_of
from touchbase.adapters.kit.status_labels import words


class Dripify(TableAdapter):
    """Reads Dripify's webhooks."""

    def named(self, item: Item, webhook: ParsedWebhook) -> str | None:
        """Return the event's name in the address."""
        return query_parameter(webhook.request.query, "event") or "saved"

    def meaning(self, name: str, item: Item) -> Meaning:
        """Return the meaning by the name's words; everything but mails is on LinkedIn."""
        return self.listed(name) or meaning_of(name if "mail" in words(name) else f"linkedin {name}")


ADAPTER = Dripify(
    tool="dripify",
    shapes=(DetectionRule("linkedInEmail link", 95), DetectionRule("hookDate link", 95), DetectionRule("corporateEmail hookDate", 95)),
    names={
        "saved": m.SAVED,
        "replied": m.LINKEDIN_REPLIED,
        "accepted": m.LINKEDIN_ACCEPTED,
        "message_sent": m.LINKEDIN_SENT,
        "invite_sent": m.LINKEDIN_INVITED,
    },
    name="",
    email="email corporateEmail manualEmail linkedInEmail",
    time="",
    linkedin="link",
    first_name="firstName",
    last_name="lastName",
)
