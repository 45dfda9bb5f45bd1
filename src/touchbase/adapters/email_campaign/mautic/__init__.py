"""Mautic: webhooks.

A body has one member for each kind of event, named `mautic....`, with a list of events: queued webhooks hold several kinds. A field of a
contact is an object with its `value`. `doNotContact` inside a contact is its state, so a saved contact may also be an opt-out.
"""

from __future__ import annotations

from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit import event_types as m
from touchbase.adapters.kit.declarative import DetectionRule, Item, TableAdapter, batch, normalize_event_name
from touchbase.adapters.kit.event_types import Meaning
from touchbase.adapters.kit.extract import dig, objects, text
from touchbase.adapters.kit.signatures import hmac_body
from touchbase.history.events import CRM, EMAIL_CAMPAIGN

_PREFIX = "mautic."
_NAMES = (
    "lead_post_save_new", "lead_post_save_update", "lead_post_delete", "lead_points_change", "lead_list_change", "lead_company_change",
    "lead_channel_subscription_changed", "email_on_send", "email_on_open", "page_on_hit", "form_on_submit", "company_post_save",
    "company_post_delete", "company_deleted", "sms_on_send",
)  # fmt: skip
_DO_NOT_CONTACT = {"1": "unsubscribed", "2": "bounced", "3": "manual"}
_CHANGES = {"unsubscribed": m.UNSUBSCRIBED, "manual": m.UNSUBSCRIBED, "bounced": m.HARD_BOUNCED, "contactable": m.RESUBSCRIBED}
_LEADS = ("contact", "lead", "stat.lead", "hit.lead", "submission.lead")


def _of_lead(*keys: str) -> str:
    return " ".join(f"{lead}.{key}" for key in keys for lead in _LEADS)


class Mautic(TableAdapter):
    """Reads Mautic's webhooks."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.detection_keys = frozenset({*(f"{_PREFIX}{name}" for name in _NAMES), "x-origin-base-url"})

    def recognise(self, webhook: ParsedWebhook) -> int:
        """Return the confidence: by a member that is named after an event."""
        is_ours = any(key.startswith(_PREFIX) and isinstance(value, list) for body in objects(webhook.data) for key, value in body.items())
        return 95 if is_ours else 0

    def items(self, data: object) -> object:
        """Return the events of all members, each with its member's name as `mautic`, and the opt-outs in saved contacts."""
        return [item for body in batch(data) for item in (_opened(body) if isinstance(body, dict) else [body])]

    def meaning(self, name: str, item: Item) -> Meaning:
        """Return the meaning from the table; of a channel's change by its new status, of a page by the email that led to it."""
        event = normalize_event_name(name)
        if event == "lead_channel_subscription_changed":
            return _CHANGES.get(text(item.get("new_status")) or "", m.OTHER) if item.get("channel") == "email" else m.OTHER
        if event == "page_on_hit":
            return m.CLICKED if dig(item, "hit", "email") else m.OTHER
        return super().meaning(name, item)


def _opened(body: Item) -> list[object]:
    items: list[object] = []
    for key, value in body.items():
        for item in batch(value) if key.startswith(_PREFIX) else ():
            name = key.removeprefix(_PREFIX)
            items.append({**item, "mautic": name} if isinstance(item, dict) else item)
            if isinstance(item, dict) and name.startswith("lead_post_save"):
                items += _opt_outs(item)
    return items


def _opt_outs(item: Item) -> list[object]:
    state = dig(item, "contact", "doNotContact") or dig(item, "lead", "doNotContact")
    reasons = [_DO_NOT_CONTACT.get(str(dig(entry, "reason"))) for entry in batch(state) if dig(entry, "channel") == "email"]
    change = {**item, "mautic": "lead_channel_subscription_changed", "channel": "email"}
    return [{**change, "new_status": reason} for reason in reasons if reason is not None]


ADAPTER = Mautic(
    tool="mautic",
    channels=(EMAIL_CAMPAIGN, CRM),
    signature_schemes=(hmac_body("webhook-signature", is_base64=True),),
    shapes=(DetectionRule("", 95, header="x-origin-base-url"),),
    plain_names="lead_post_save_new lead_post_save_update email_on_send email_on_open",
    names={"lead_company_change": m.SAVED, "page_on_hit": m.CLICKED, "lead_channel_subscription_changed": m.OTHER},
    other_names=m.OTHER,
    name="mautic",
    email=f"{_of_lead('fields.core.email.value', 'email')} stat.emailAddress",
    time="timestamp",
    times={"email_sent": "stat.dateSent", "email_opened": "stat.dateRead", "email_clicked": "hit.dateHit"},
    first_name=_of_lead("fields.core.firstname.value", "firstname"),
    last_name=_of_lead("fields.core.lastname.value", "lastname"),
    campaign="email.name stat.email.name hit.email.name email.id stat.email.id",
    campaign_id="email.id stat.email.id hit.email.id",
    link="hit.url",
    object_type="contact",
    object_id=_of_lead("id"),
    usual_messages=False,
)
