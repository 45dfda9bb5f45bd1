"""Dolibarr: the Webhook module, which posts whole objects.

Companies (`societe`) and contacts each have ids from one. A third party may be a private person; it stays a company here. `client` says
whether it is a customer (1, 3) or a prospect (2). `date_modification` is that of the change before this one: the receipt counts.
"""

from __future__ import annotations

from typing import ClassVar

from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit.crm import COMPANY, CONTACT, CREATED, DELETED, UPDATED, CrmItem, RecordShape, other_event
from touchbase.adapters.kit.crm_adapter import Body, CrmAdapter
from touchbase.adapters.kit.crm_values import as_dict
from touchbase.adapters.kit.extract import first, text
from touchbase.adapters.kit.linkedin import LINKEDIN, with_linkedin
from touchbase.adapters.kit.times import first_time
from touchbase.history.events import Event

SHAPES = {
    "contact": RecordShape(
        CONTACT, email=("email",), first_name=("firstname",), last_name=("lastname",), linkedin=(LINKEDIN,),
        employer=("company id",), employer_type="societe", useful=("poste", "phone_pro", "phone_mobile"),
    ),
    "societe": RecordShape(COMPANY, domain=("url",), company=("name", "nom"), useful=("phone", "email", "town", "code_client")),
}  # fmt: skip
_WORDS = {"CONTACT": "contact", "COMPANY": "societe"}
_ACTIONS = {"CREATE": CREATED, "MODIFY": UPDATED, "DELETE": DELETED}
_CLIENT = {"1": "customer", "2": "prospect", "3": "customer"}


class Dolibarr(CrmAdapter):
    """Reads Dolibarr's webhooks."""

    tool = "dolibarr"
    words = ("societe",)
    detection_keys = frozenset({"triggercode"})
    status: ClassVar[dict[str, tuple[str, ...]]] = {"contact": (), "societe": ("client",), "company": ("client",)}

    def confidence(self, body: Body, webhook: ParsedWebhook) -> int:
        """Return the confidence: by the trigger and its object."""
        return 95 if isinstance(body.get("triggercode"), str) and isinstance(body.get("object"), dict) else 0

    def read(self, body: Body, webhook: ParsedWebhook) -> list[Event]:
        """Return the event of one contact or company."""
        source, record = text(body.get("triggercode")) or "", as_dict(body.get("object"))
        kind, _, action = source.partition("_")
        word, number = _WORDS.get(kind), text(record.get("id"))
        if word is None or action not in _ACTIONS:
            return [other_event("ignored" if source else "unrecognised", source or None, text(record.get("element")), number)]
        company = text(first(record, "socid", "fk_soc"))
        client = _CLIENT.get(text(record.get("client")) or "")
        at = first_time(record, "date_creation") if action == "CREATE" else None
        shown = {**as_dict(record.get("array_options")), **as_dict(record.get("socialnetworks")), **record}
        item = CrmItem(SHAPES[word], _ACTIONS[action], word, number, source, at)
        item.record = with_linkedin({**shown, "client": client, "company id": None if company in (None, "0") else company})
        item.status = self.statuses(webhook, SHAPES[word].kind, word)
        return item.events()


ADAPTER = Dolibarr()
