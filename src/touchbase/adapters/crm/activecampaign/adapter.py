"""ActiveCampaign: its webhooks and the posts of its automations, in our words.

Event reference: recorded deliveries and samples of integrators (read 2026-11-20); of the vendor's page only the
beginning was seen. Calls are forms with bracketed names. A subscriber may be an old contact. An unsubscribe is
no deletion: the contact stays. Automations post the same fields without a `type`. What happens to campaigns'
mails belongs to the other channel.
"""

from __future__ import annotations

from typing import ClassVar

from touchbase.adapters.interface import Call
from touchbase.adapters.kit.crm import COMPANY, CONTACT, CREATED, DELETED, UNTOLD, UPDATED, Item, Shape, note
from touchbase.adapters.kit.crm_adapter import Body, CrmAdapter
from touchbase.adapters.kit.crm_values import as_dict, plain
from touchbase.adapters.kit.extract import items, text
from touchbase.adapters.kit.linkedin import LINKEDIN, with_linkedin
from touchbase.adapters.kit.times import moment
from touchbase.history.events import Change, Event

PERSON = Shape(
    CONTACT, email=("email",), first_name=("first_name", "firstName"), last_name=("last_name", "lastName"), linkedin=(LINKEDIN,),
    employer=("customer_acct_id",), employer_type="account", useful=("phone", "orgname"),
    noise=frozenset({"tag"}),
)  # fmt: skip
ACCOUNT = Shape(COMPANY, domain=("url", "account_url", "accountUrl"), company=("name",))
TYPES = {
    "subscribe": CREATED, "contact_add": CREATED, "update": UPDATED, "contact_update": UPDATED, "contact_tag_added": UPDATED,
    "contact_tag_removed": UPDATED, "unsubscribe": UPDATED, "account_add": CREATED, "account_update": UPDATED,
    "contact_delete": DELETED, "account_delete": DELETED,
}  # fmt: skip
TAGGINGS = ("contact_tag_added", "contact_tag_removed")
TAGGED = Shape(CONTACT, email=PERSON.email, first_name=PERSON.first_name, last_name=PERSON.last_name, linkedin=PERSON.linkedin)
_OF_CONTACT = frozenset({"ip4", "orgname", "customer_acct_name"})
_OF_DEAL = frozenset({"contact_email", "contactid", "stage_title", "stageid", "pipeline_title", "pipelineid"})
_NOT_THEIRS = frozenset({"event", "event_type", "eventType", "topic", "action"})
"""Where other tools name their events, which ActiveCampaign does under `type`."""
_OF_API = frozenset({"cdate", "udate", "email"})
"""What a contact has where a relay has asked the API for it."""
_LONGEST = 1000


class ActiveCampaign(CrmAdapter):
    """Reads ActiveCampaign's webhook calls."""

    tool = "activecampaign"
    words = ("account",)
    signs = frozenset({"contact", "account", "deal", "date_time", "initiated_from", "initiated_by", "cdate"})
    status: ClassVar[tuple[str, ...]] = ()

    def sure(self, body: Body, call: Call) -> int:
        """Known by who initiated it; an automation's post by the contact's fields."""
        contact = as_dict(body.get("contact"))
        if "initiated_from" in body or "initiated_by" in body:
            return 95
        if not _NOT_THEIRS.isdisjoint(body):
            return 0
        if call.form and "id" in contact and "email" in contact:
            return 85
        # A contact may have no address: somebody known by telephone only.
        is_named = "email" in contact or "id" in contact
        is_posted = is_named and ("seriesid" in body or (_OF_CONTACT & contact.keys() and ("id" in contact or call.form)))
        is_dated = "date_time" in body and "type" in body
        is_event = is_dated and ("id" in contact or "id" in as_dict(body.get("account")) or (call.form and "list" in body))
        is_deal = len(_OF_DEAL & as_dict(body.get("deal")).keys()) > (not call.form)
        return 80 if is_posted or is_event or is_deal or (contact or body).keys() >= _OF_API else 0

    def read(self, body: Body, call: Call) -> list[Event]:
        """One event about one contact or account."""
        source, contact = text(body.get("type")), as_dict(body.get("contact"))
        contact = body if not contact and body.keys() >= _OF_API else contact
        account = as_dict(body.get("account"))
        is_account = bool(account) and (source or "").startswith("account_")
        what = TYPES.get(source) if source is not None else UPDATED if contact else None
        if what is None:
            return [note("ignored" if source or "deal" in body else "unrecognised", source)]
        kind, word, record = (COMPANY, "account", account) if is_account else (CONTACT, "contact", contact)
        own, untold = _own(record.get("fields")), list[Change]()
        item = Item(
            ACCOUNT if is_account else PERSON,
            what,
            word,
            text(record.get("id")),
            source,
            moment(body, "date_time") or moment(record, "udate"),
        )
        item.record, item.status = with_linkedin({**own, **record}), self.statuses(call, kind, word)
        if source in TAGGINGS:
            item.shape, own = TAGGED, {}
            item.changed = {"tag": (body.get("tag"), UNTOLD) if source == TAGGINGS[0] else (None, body.get("tag"))}
        elif what == UPDATED and (names := _updated(body)):
            item.changed = {name: (item.record[name], UNTOLD) for name in names if name in item.record}
            # What is named as changed and told nowhere is not said to be empty.
            untold = [Change(name, None) for name in names if name not in item.record]
        events = item.events()
        events[0].changed += untold
        if source in TAGGINGS:
            for event in events:
                # One tag of many: as a custom field each would drive out the one before.
                event.custom = {}
        elif item.object_id is not None:
            events[0].custom |= {name: value for name, value in own.items() if name in item.record and name not in item.status}
        return events


def _own(fields: object) -> dict[str, str]:
    """The client's own fields by name: of a contact an object, of an account a list of `{key, value}`."""
    pairs = [(name, value) for name, value in as_dict(fields).items() if not name.isdecimal()]
    pairs += [(name, one.get("value")) for one in map(as_dict, items(fields)) if (name := text(one.get("key")))]
    return {name: told for name, value in pairs if name and (told := _plain(value)) is not None and len(told) <= _LONGEST}


def _plain(value: object) -> str | None:
    """A value as text: several choices stand between double bars (`||A||B||`), or are a list."""
    if isinstance(value, list):
        return ", ".join(filter(None, map(text, value))) or None
    told = plain(value)
    return ", ".join(filter(None, told.split("||"))) or None if told and told.startswith("||") else told


def _updated(body: Body) -> list[str]:
    """The names of the fields that an update says it has changed."""
    return [name for one in items(body.get("updated_fields")) if (name := text(one))]


ADAPTER = ActiveCampaign()
