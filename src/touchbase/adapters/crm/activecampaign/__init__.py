"""ActiveCampaign: webhooks and automation posts.

Event reference: recorded deliveries and samples of integrators (read 2026-11-20); only the beginning of the vendor's
page was accessible. Webhooks are forms with bracketed names. A subscriber may be an existing contact. An unsubscribe is
no deletion: the contact stays. Automations post the same fields without a `type`. Email events of campaigns belong to
the other channel.
"""

from __future__ import annotations

from typing import ClassVar

from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit.crm import COMPANY, CONTACT, CREATED, DELETED, NOT_SENT, UPDATED, CrmItem, RecordShape, other_event
from touchbase.adapters.kit.crm_adapter import Body, CrmAdapter
from touchbase.adapters.kit.crm_values import as_dict, as_text
from touchbase.adapters.kit.extract import items, text
from touchbase.adapters.kit.linkedin import LINKEDIN, with_linkedin
from touchbase.adapters.kit.times import first_time
from touchbase.history.events import Event, PropertyChange

PERSON = RecordShape(
    CONTACT, email=("email",), first_name=("first_name", "firstName"), last_name=("last_name", "lastName"), linkedin=(LINKEDIN,),
    employer=("customer_acct_id",), employer_type="account", useful=("phone", "orgname"),
    noise=frozenset({"tag"}),
)  # fmt: skip
ACCOUNT = RecordShape(COMPANY, domain=("url", "account_url", "accountUrl"), company=("name",))
TYPES = {
    "subscribe": CREATED, "contact_add": CREATED, "update": UPDATED, "contact_update": UPDATED, "contact_tag_added": UPDATED,
    "contact_tag_removed": UPDATED, "unsubscribe": UPDATED, "account_add": CREATED, "account_update": UPDATED,
    "contact_delete": DELETED, "account_delete": DELETED,
}  # fmt: skip
TAGGINGS = ("contact_tag_added", "contact_tag_removed")
TAGGED = RecordShape(CONTACT, email=PERSON.email, first_name=PERSON.first_name, last_name=PERSON.last_name, linkedin=PERSON.linkedin)
_OF_CONTACT = frozenset({"ip4", "orgname", "customer_acct_name"})
_OF_DEAL = frozenset({"contact_email", "contactid", "stage_title", "stageid", "pipeline_title", "pipelineid"})
_NOT_THEIRS = frozenset({"event", "event_type", "eventType", "topic", "action"})
"""Keys of event names in other tools' webhooks; ActiveCampaign uses `type`."""
_OF_API = frozenset({"cdate", "udate", "email"})
"""Fields of a contact that a relay has fetched from the API."""
_MAX_LENGTH = 1000


class ActiveCampaign(CrmAdapter):
    """Reads ActiveCampaign's webhooks."""

    tool = "activecampaign"
    words = ("account",)
    detection_keys = frozenset({"contact", "account", "deal", "date_time", "initiated_from", "initiated_by", "cdate"})
    status: ClassVar[tuple[str, ...]] = ()

    def confidence(self, body: Body, webhook: ParsedWebhook) -> int:
        """Return the confidence: by the initiator fields, or for an automation's post by the contact's fields."""
        contact = as_dict(body.get("contact"))
        if "initiated_from" in body or "initiated_by" in body:
            return 95
        if not _NOT_THEIRS.isdisjoint(body):
            return 0
        if webhook.form and "id" in contact and "email" in contact:
            return 85
        # A contact may have no email address, only a phone number.
        is_named = "email" in contact or "id" in contact
        is_posted = is_named and ("seriesid" in body or (_OF_CONTACT & contact.keys() and ("id" in contact or webhook.form)))
        is_dated = "date_time" in body and "type" in body
        is_event = is_dated and ("id" in contact or "id" in as_dict(body.get("account")) or (webhook.form and "list" in body))
        is_deal = len(_OF_DEAL & as_dict(body.get("deal")).keys()) > (not webhook.form)
        return 80 if is_posted or is_event or is_deal or (contact or body).keys() >= _OF_API else 0

    def read(self, body: Body, webhook: ParsedWebhook) -> list[Event]:
        """Return the event of one contact or account."""
        source, contact = text(body.get("type")), as_dict(body.get("contact"))
        contact = body if not contact and body.keys() >= _OF_API else contact
        account = as_dict(body.get("account"))
        is_account = bool(account) and (source or "").startswith("account_")
        what = TYPES.get(source) if source is not None else UPDATED if contact else None
        if what is None:
            return [other_event("ignored" if source or "deal" in body else "unrecognised", source)]
        kind, word, record = (COMPANY, "account", account) if is_account else (CONTACT, "contact", contact)
        own, untold = _own(record.get("fields")), list[PropertyChange]()
        item = CrmItem(
            ACCOUNT if is_account else PERSON,
            what,
            word,
            text(record.get("id")),
            source,
            first_time(body, "date_time") or first_time(record, "udate"),
        )
        item.record, item.status = with_linkedin({**own, **record}), self.statuses(webhook, kind, word)
        if source in TAGGINGS:
            item.shape, own = TAGGED, {}
            item.changed = {"tag": (body.get("tag"), NOT_SENT) if source == TAGGINGS[0] else (None, body.get("tag"))}
        elif what == UPDATED and (names := _updated(body)):
            item.changed = {name: (item.record[name], NOT_SENT) for name in names if name in item.record}
            # A field listed as changed but without a value in the body is not cleared.
            untold = [PropertyChange(name, None) for name in names if name not in item.record]
        events = item.events()
        events[0].changed += untold
        if source in TAGGINGS:
            for event in events:
                # One tag of many: as a custom field each tag would overwrite the one before.
                event.custom = {}
        elif item.object_id is not None:
            events[0].custom |= {name: value for name, value in own.items() if name in item.record and name not in item.status}
        return events


def _own(fields: object) -> dict[str, str]:
    """Return the custom fields by name: a contact has an object, an account a list of `{key, value}`."""
    pairs = [(name, value) for name, value in as_dict(fields).items() if not name.isdecimal()]
    pairs += [(name, field.get("value")) for field in map(as_dict, items(fields)) if (name := text(field.get("key")))]
    return {name: shown for name, value in pairs if name and (shown := _plain(value)) is not None and len(shown) <= _MAX_LENGTH}


def _plain(value: object) -> str | None:
    """Return a value as text: multiple choices are written `||A||B||`, or are a list."""
    if isinstance(value, list):
        return ", ".join(filter(None, map(text, value))) or None
    shown = as_text(value)
    return ", ".join(filter(None, shown.split("||"))) or None if shown and shown.startswith("||") else shown


def _updated(body: Body) -> list[str]:
    """Return the names of the fields that an update lists as changed."""
    return [name for item in items(body.get("updated_fields")) if (name := text(item))]


ADAPTER = ActiveCampaign()
