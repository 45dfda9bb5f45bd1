"""ActiveCampaign: its webhooks and the posts of its automations, in our words.

Event reference: recorded deliveries (read 2026-11-20); the vendor's page was not seen. Calls are forms with
bracketed names. A subscriber may be an old contact. An unsubscribe is no deletion: the contact stays.
Automations post the same fields without a `type`. What happens to campaigns' mails belongs to the other channel.
"""

from __future__ import annotations

from typing import ClassVar

from touchbase.adapters.kit.crm import COMPANY, CONTACT, CREATED, UNTOLD, UPDATED, Item, Shape, note
from touchbase.adapters.kit.crm_adapter import Body, CrmAdapter
from touchbase.adapters.kit.crm_values import as_dict
from touchbase.adapters.kit.reading import first, text
from touchbase.adapters.kit.times import when
from touchbase.domain.events import Event
from touchbase.domain.ports import Call

PERSON = Shape(
    CONTACT, email=("email",), first_name=("first_name",), last_name=("last_name",), useful=("phone", "orgname"), noise=frozenset({"tag"})
)
ACCOUNT = Shape(COMPANY, domain=("url", "account_url", "accountUrl"), company=("name",))
TYPES = {
    "subscribe": CREATED, "contact_add": CREATED, "update": UPDATED, "contact_update": UPDATED, "contact_tag_added": UPDATED,
    "contact_tag_removed": UPDATED, "unsubscribe": UPDATED, "account_add": CREATED, "account_update": UPDATED,
}  # fmt: skip
TAGGINGS = ("contact_tag_added", "contact_tag_removed")
TAGGED = Shape(CONTACT, email=PERSON.email, first_name=PERSON.first_name, last_name=PERSON.last_name)


class ActiveCampaign(CrmAdapter):
    """Reads ActiveCampaign's webhook calls."""

    tool = "activecampaign"
    signs = frozenset({"contact", "account", "initiated_from"})
    status: ClassVar[tuple[str, ...]] = ()

    def sure(self, body: Body, call: Call) -> int:
        """Known by who initiated it; an automation's post by the contact's fields."""
        contact = as_dict(body.get("contact"))
        if "initiated_from" in body or "initiated_by" in body:
            return 95
        if call.form and "id" in contact and "email" in contact:
            return 85
        if "date_time" in body and "type" in body and ("id" in contact or "id" in as_dict(body.get("account"))):
            return 80
        return 0

    def read(self, body: Body, call: Call) -> list[Event]:
        """One event about one contact or account."""
        source, contact = text(body.get("type")), as_dict(body.get("contact"))
        account = as_dict(body.get("account"))
        is_account = bool(account) and (source or "").startswith("account_")
        what = TYPES.get(source) if source is not None else UPDATED if contact else None
        if what is None:
            return [note("ignored" if source else "unrecognised", source)]
        at = when(first(body, "date_time"))
        if is_account:
            return Item(
                ACCOUNT,
                what,
                "account",
                text(account.get("id")),
                source,
                at,
                record=account,
                status=self.statuses(call, COMPANY, "account"),
            ).events()
        item = Item(
            PERSON, what, "contact", text(contact.get("id")), source, at, record=contact, status=self.statuses(call, CONTACT, "contact")
        )
        if source not in TAGGINGS:
            return item.events()
        item.shape, item.changed = TAGGED, {"tag": (body.get("tag"), UNTOLD) if source.endswith("added") else (None, body.get("tag"))}
        events = item.events()
        for event in events:
            # One tag of many: as a custom field each would drive out the one before.
            event.custom = {}
        return events


ADAPTER = ActiveCampaign()
