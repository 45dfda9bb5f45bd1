"""WooCommerce: webhooks of customers; the header names the body's type; orders, products and coupons are ignored.

A deleted customer is an id alone. Times have no zone and are UTC. The test of a new webhook is a form with the webhook's id.
"""

from __future__ import annotations

from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit.crm import CONTACT, CREATED, DELETED, UPDATED, CrmItem, RecordShape, other_event
from touchbase.adapters.kit.crm_adapter import Body, CrmAdapter
from touchbase.adapters.kit.crm_values import as_dict
from touchbase.adapters.kit.extract import first, text
from touchbase.adapters.kit.signatures import hmac_body
from touchbase.adapters.kit.times import first_time
from touchbase.history.events import CRM, EMAIL_CAMPAIGN, Event

_TOPIC = "x-wc-webhook-topic"
_PERSON = RecordShape(
    CONTACT, email=("email", "billing_email"), first_name=("first_name", "billing_first_name"),
    last_name=("last_name", "billing_last_name"), useful=("phone", "company"),
)  # fmt: skip
_ACTIONS = {"created": CREATED, "updated": UPDATED, "restored": UPDATED, "deleted": DELETED}


class WooCommerce(CrmAdapter):
    """Reads WooCommerce's webhooks."""

    tool = "woocommerce"
    channels = (CRM, EMAIL_CAMPAIGN)
    words = ("customer",)
    detection_keys = frozenset({_TOPIC, "x-wc-webhook-source", "is_paying_customer"})
    signature_schemes = (hmac_body("x-wc-webhook-signature", is_base64=True),)

    def confidence(self, body: Body, webhook: ParsedWebhook) -> int:
        """Return the confidence: by the header, or by a customer's own members."""
        if _TOPIC in webhook.headers or "x-wc-webhook-source" in webhook.headers:
            return 98
        return 90 if body.keys() >= {"is_paying_customer", "billing", "email"} else 0

    def read(self, body: Body, webhook: ParsedWebhook) -> list[Event]:
        """Return the event of one customer."""
        topic = webhook.headers.get(_TOPIC, "customer.updated")
        word, _, action = topic.partition(".")
        what, number = _ACTIONS.get(action), text(body.get("id"))
        if word != "customer" or what is None:
            return [other_event("ignored", topic, word, number)]
        billing = as_dict(body.get("billing"))
        record = {
            **{f"billing_{name}": billing.get(name) for name in ("email", "first_name", "last_name")},
            **{name: first(billing, name) for name in ("phone", "company")},
            **{name: value for name, value in body.items() if value != ""},
        }
        at = first_time(body, "date_modified_gmt", "date_created_gmt")
        item = CrmItem(_PERSON, what, "customer", number, topic, None if at is None else int(at), record=record)
        item.status = self.statuses(webhook, CONTACT, "customer")
        return item.events()


ADAPTER = WooCommerce()
