"""MailerSend: webhooks.

One event per webhook, its id at `data.id`. Version 1, which ends on 2026-12-01, nests the person two levels deeper; in
version 2 `data` is flat, with the address at `recipient` (the vendor's page writes `email`).

Signature: HMAC of the body. MailerSend creates a webhook only if its test request, `webhook.test`, succeeds. The key of
that request is printed in the vendor's documentation, so a request that it signs gets a 200 and is dropped.
"""

from __future__ import annotations

from touchbase.adapters.kit import event_types as m
from touchbase.adapters.kit.declarative import DetectionRule, TableAdapter
from touchbase.adapters.kit.messages import MessagePaths
from touchbase.adapters.kit.signatures import Scheme, hmac_body
from touchbase.adapters.kit.signatures_body import fields
from touchbase.common.timestamps import Micros
from touchbase.connections.models import Arrival

_PRINTED = "test_Am3L1GuOIc4blLUuHqAPxxwkZaJyEk8G"
_TEST = "webhook.test"
_MAX_TEST_LENGTH = 1_000

SIGNED = hmac_body("signature")


def _is_test(arrival: Arrival, secret: str, now: Micros) -> bool:
    small = len(arrival.body) <= _MAX_TEST_LENGTH
    return small and SIGNED.check(arrival, _PRINTED, now) and fields(arrival).get("type") == _TEST


TEST = Scheme(
    "header `signature` of the call `webhook.test`: the same with the secret that MailerSend's pages print; answered, not stored",
    _is_test,
    reads_body=True,
    is_test=True,
)


ADAPTER = TableAdapter(
    tool="mailersend",
    shapes=(
        DetectionRule("type data.email.recipient.email", 95),
        DetectionRule("type data.email.message", 88),
        DetectionRule("webhook_id type data.email_id", 94),
        DetectionRule("type data.email_id", 94, named=True),
        DetectionRule("type data.object data.morph", 85),
        DetectionRule("webhook_id domain_id type data", 88),
        DetectionRule("sms_webhook_id type data", 88),
        DetectionRule("message type", 75, named=True, starts="This is a ping test message"),
        DetectionRule("type data", 70, named=True),
    ),
    plain_names=(
        "activity_sent activity_delivered activity_deferred activity_opened activity_opened_unique activity_clicked "
        "activity_clicked_unique activity_hard_bounced activity_soft_bounced activity_unsubscribed activity_spam_complaint "
        "activity_suppressed activity_survey_opened activity_survey_submitted webhook_test sms_sent sms_delivered sms_failed"
    ),
    names={
        "sender_identity_verified": m.ACCOUNT,
        "maintenance_start": m.ACCOUNT,
        "maintenance_end": m.ACCOUNT,
        "inbound_message": m.OTHER,
        "inbound_message_rejected": m.OTHER,
        "inbound_forward_failed": m.OTHER,
        "email_single_verified": m.OTHER,
        "email_list_verified": m.OTHER,
        "bulk_email_completed": m.OTHER,
        "recipient_on_hold_added": m.OTHER,
        "recipient_on_hold_removed": m.OTHER,
    },
    name="type",
    email="data.email.recipient.email data.recipient data.email",
    time="data.created_at created_at",
    message="data.email.message.id data.message_id",
    key="data.id",
    signature_schemes=(SIGNED, TEST),
    sent=MessagePaths(
        subject="data.subject data.email.subject", mailbox="data.email.from", message_id="data.email.message.id data.message_id"
    ),
)
