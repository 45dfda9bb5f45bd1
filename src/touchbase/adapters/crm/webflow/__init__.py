"""Webflow: webhooks of forms. Other triggers are ignored."""

from __future__ import annotations

from collections.abc import Iterator

from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit.answers import FormAdapter, FormAnswer
from touchbase.adapters.kit.crm import other_event
from touchbase.adapters.kit.crm_adapter import Body
from touchbase.adapters.kit.crm_values import as_dict, as_list
from touchbase.adapters.kit.extract import dig, text
from touchbase.adapters.kit.signatures import hmac_timed
from touchbase.adapters.kit.times import parse_time
from touchbase.common.timestamps import Micros
from touchbase.history.events import Event


class Webflow(FormAdapter):
    """Reads Webflow's webhooks."""

    tool = "webflow"
    event = "form_submission"
    detection_keys = frozenset({"triggerType", "x-webflow-signature"})
    signature_schemes = (hmac_timed("x-webflow-signature", "TIME:BODY", time_header="x-webflow-timestamp"),)

    def confidence(self, body: Body, webhook: ParsedWebhook) -> int:
        """Return the confidence: by the trigger and its payload."""
        return 95 if text(body.get("triggerType")) and isinstance(body.get("payload"), dict) else 0

    def read(self, body: Body, webhook: ParsedWebhook) -> list[Event]:
        """Return the person of a submission; orders, pages and collections are ignored."""
        trigger = text(body.get("triggerType"))
        return super().read(body, webhook) if trigger == self.event else [other_event("ignored", trigger)]

    def answers(self, body: Body) -> Iterator[FormAnswer]:
        """Yield the answers with the types in the form's schema."""
        payload = as_dict(body.get("payload"))
        kinds = {text(dig(field, "fieldName")): text(dig(field, "fieldType")) or "" for field in as_list(payload.get("schema"))}
        for label, value in as_dict(payload.get("data")).items():
            yield FormAnswer(label, value, kinds.get(label, ""))

    def submission(self, body: Body) -> tuple[Micros | None, str | None]:
        """Return the time of the submission, and its id."""
        return parse_time(dig(body, "payload", "submittedAt")), text(dig(body, "payload", "id"))


ADAPTER = Webflow()
