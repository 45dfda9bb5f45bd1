"""Tally: webhooks. A choice's value is the ids of its options."""

from __future__ import annotations

from collections.abc import Iterator

from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit.answers import FormAdapter, FormAnswer
from touchbase.adapters.kit.crm_adapter import Body
from touchbase.adapters.kit.crm_values import as_dict, as_list
from touchbase.adapters.kit.extract import dig, first, text
from touchbase.adapters.kit.signatures import hmac_body
from touchbase.adapters.kit.times import parse_time
from touchbase.common.timestamps import Micros


class Tally(FormAdapter):
    """Reads Tally's webhooks."""

    tool = "tally"
    detection_keys = frozenset({"eventType", "tally-signature"})
    signature_schemes = (hmac_body("tally-signature", is_base64=True),)

    def confidence(self, body: Body, webhook: ParsedWebhook) -> int:
        """Return the confidence: by the fields below `data`."""
        return 95 if body.get("eventType") == "FORM_RESPONSE" and isinstance(dig(body, "data", "fields"), list) else 0

    def answers(self, body: Body) -> Iterator[FormAnswer]:
        """Yield the answers, choices by their texts."""
        for field in map(as_dict, as_list(dig(body, "data", "fields"))):
            options = {text(dig(option, "id")): text(first(option, "text", "name")) for option in as_list(field.get("options"))}
            value = field.get("value")
            if options and isinstance(value, list):
                value = [options.get(text(item)) or item for item in value]
            yield FormAnswer(text(field.get("label")) or text(field.get("key")) or "", value, text(field.get("type")) or "")

    def submission(self, body: Body) -> tuple[Micros | None, str | None]:
        """Return the time of the submission, and the event's id."""
        return parse_time(dig(body, "data", "createdAt") or body.get("createdAt")), text(body.get("eventId"))


ADAPTER = Tally()
