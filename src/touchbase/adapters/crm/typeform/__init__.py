"""Typeform: webhooks. An answer names its question by an id; the questions are in `definition`."""

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


class Typeform(FormAdapter):
    """Reads Typeform's webhooks."""

    tool = "typeform"
    detection_keys = frozenset({"form_response", "typeform-signature"})
    signature_schemes = (hmac_body("typeform-signature", prefix="sha256=", is_base64=True),)

    def confidence(self, body: Body, webhook: ParsedWebhook) -> int:
        """Return the confidence: by the answers below `form_response`."""
        return 95 if body.get("event_type") == "form_response" and isinstance(body.get("form_response"), dict) else 0

    def answers(self, body: Body) -> Iterator[FormAnswer]:
        """Yield the answers with the titles of their questions, then the hidden values."""
        response = as_dict(body.get("form_response"))
        titles = {text(dig(field, "id")): text(dig(field, "title")) for field in as_list(dig(response, "definition", "fields"))}
        for answer in map(as_dict, as_list(response.get("answers"))):
            kind = text(answer.get("type")) or ""
            value = answer.get(kind)
            if isinstance(value, dict):
                value = first(value, "label", "labels", "other")
            label = titles.get(text(dig(answer, "field", "id"))) or text(dig(answer, "field", "ref")) or kind
            yield FormAnswer(label, value, kind)
        yield from (FormAnswer(name, value) for name, value in as_dict(response.get("hidden")).items())

    def submission(self, body: Body) -> tuple[Micros | None, str | None]:
        """Return the time of the submission, and its token."""
        response = as_dict(body.get("form_response"))
        return parse_time(response.get("submitted_at")), text(response.get("token")) or text(body.get("event_id"))


ADAPTER = Typeform()
