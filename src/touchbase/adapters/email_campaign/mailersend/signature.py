"""MailerSend's signature scheme: HMAC of the body; its test webhook is signed with a published key.

MailerSend creates a webhook only if its test request, `webhook.test`, succeeds. The key of that request is printed in
the vendor's documentation, so a request that it signs gets a 200 and is dropped.
"""

from __future__ import annotations

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
