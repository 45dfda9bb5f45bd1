"""Chatwoot: webhooks of contacts; conversations and messages are ignored."""

from __future__ import annotations

from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit.crm import CONTACT, CREATED, UPDATED, CrmItem, RecordShape, other_event
from touchbase.adapters.kit.crm_adapter import Body, CrmAdapter
from touchbase.adapters.kit.crm_values import as_dict
from touchbase.adapters.kit.extract import text
from touchbase.adapters.kit.linkedin import LINKEDIN, with_linkedin
from touchbase.adapters.kit.signatures import hmac_timed
from touchbase.history.events import CRM, EMAIL_CAMPAIGN, Event

_PERSON = RecordShape(CONTACT, email=("email",), full_name=("name",), linkedin=(LINKEDIN,), useful=("phone_number", "company_name", "city"))
_ACTIONS = {"contact_created": CREATED, "contact_updated": UPDATED}
_OTHERS = ("conversation_", "message_", "automation_event", "webwidget_", "inbox_", "macro")


class Chatwoot(CrmAdapter):
    """Reads Chatwoot's webhooks."""

    tool = "chatwoot"
    channels = (CRM, EMAIL_CAMPAIGN)
    detection_keys = frozenset({"account", "x-chatwoot-signature"})
    signature_schemes = (hmac_timed("x-chatwoot-signature", "TIME.BODY", time_header="x-chatwoot-timestamp", prefix="sha256="),)

    def confidence(self, body: Body, webhook: ParsedWebhook) -> int:
        """Return the confidence: by the event's name beside the account."""
        name = text(body.get("event")) or ""
        if "x-chatwoot-signature" in webhook.headers:
            return 98
        is_ours = ("additional_attributes" in body and name in _ACTIONS) or name.startswith(_OTHERS)
        return 88 if is_ours and isinstance(body.get("account"), dict) else 0

    def read(self, body: Body, webhook: ParsedWebhook) -> list[Event]:
        """Return the event of one contact, which has no time."""
        name = text(body.get("event")) or ""
        if name not in _ACTIONS:
            return [other_event("ignored" if name else "unrecognised", name or None)]
        more = {**as_dict(body.get("additional_attributes")), **as_dict(body.get("custom_attributes"))}
        record = with_linkedin({**more, **{key: value for key, value in body.items() if not isinstance(value, dict)}})
        return CrmItem(_PERSON, _ACTIONS[name], "contact", text(body.get("id")), name, record=record).events()


ADAPTER = Chatwoot()
