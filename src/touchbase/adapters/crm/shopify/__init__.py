"""Shopify: webhooks of customers; the header names the body's type; orders, products and carts are ignored."""

from __future__ import annotations

from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit.crm import CONTACT, CREATED, DELETED, UPDATED, CrmItem, RecordShape, other_event
from touchbase.adapters.kit.crm_adapter import Body, CrmAdapter
from touchbase.adapters.kit.crm_values import as_dict
from touchbase.adapters.kit.extract import dig, first, text
from touchbase.adapters.kit.signatures import hmac_body
from touchbase.adapters.kit.times import parse_time
from touchbase.history.events import CRM, EMAIL_CAMPAIGN, Event

_TOPIC = "x-shopify-topic"
_CUSTOMER = "customer"
_PERSON = RecordShape(
    CONTACT, email=("email", "email_address"), first_name=("first_name",), last_name=("last_name",), useful=("phone", "company", "tags"),
)  # fmt: skip
_TOPICS = {
    "customers/create": CREATED, "customers/update": UPDATED, "customers/delete": DELETED, "customers/redact": DELETED,
    "customers_email_marketing_consent/update": UPDATED,
}  # fmt: skip
_CONSENT = {"unsubscribed": "email_unsubscribed", "redacted": "email_unsubscribed", "subscribed": "email_resubscribed"}


class Shopify(CrmAdapter):
    """Reads Shopify's webhooks."""

    tool = "shopify"
    channels = (CRM, EMAIL_CAMPAIGN)
    words = (_CUSTOMER,)
    detection_keys = frozenset({_TOPIC, "email_marketing_consent"})
    signature_schemes = (hmac_body("x-shopify-hmac-sha256", is_base64=True),)

    def confidence(self, body: Body, webhook: ParsedWebhook) -> int:
        """Return the confidence: by the header, or by a customer's own members."""
        if _TOPIC in webhook.headers:
            return 98
        return 88 if "email_marketing_consent" in body and body.keys() & {"default_address", "customer_id", "verified_email"} else 0

    def read(self, body: Body, webhook: ParsedWebhook) -> list[Event]:
        """Return the event of one customer, and of a change of the consent the opt-out or the way back."""
        topic = webhook.headers.get(_TOPIC, "customers/update")
        if topic == "customers/merge":
            return self._merged(body, webhook)
        what = _TOPICS.get(topic)
        customer = as_dict(body.get(_CUSTOMER)) or body
        number = text(first(customer, "customer_id", "id"))
        if what is None:
            return [other_event("ignored", topic, topic.partition("/")[0], number)]
        address = as_dict(customer.get("default_address"))
        record = {**customer, "company": address.get("company"), "phone": first(customer, "phone") or address.get("phone")}
        at = parse_time(first(customer, "updated_at", "occurred_at")) or parse_time(webhook.headers.get("x-shopify-triggered-at"))
        key = webhook.headers.get("x-shopify-event-id")
        item = CrmItem(_PERSON, what, _CUSTOMER, number, topic, at, key, record, status=self.statuses(webhook, CONTACT, _CUSTOMER))
        item.asks_erasure = topic == "customers/redact"
        events = item.events()
        consent = _CONSENT.get(text(dig(customer, "email_marketing_consent", "state")) or "")
        if topic.startswith("customers_email") and consent is not None and events[0].about is not None:
            head = events[0]
            events.append(Event(consent, at, head.email, object_type=_CUSTOMER, object_id=number, key=key, source_event=topic))
        return events

    def _merged(self, body: Body, webhook: ParsedWebhook) -> list[Event]:
        survivor, loser = text(body.get("admin_graphql_api_customer_kept_id")), text(body.get("admin_graphql_api_customer_deleted_id"))
        number = None if survivor is None else survivor.rpartition("/")[2]
        at = parse_time(webhook.headers.get("x-shopify-triggered-at"))
        item = CrmItem(_PERSON, UPDATED, _CUSTOMER, number, "customers/merge", at)
        return item.merged(None if loser is None else loser.rpartition("/")[2])


ADAPTER = Shopify()
