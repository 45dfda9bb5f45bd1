"""MailerSend: how it proves who it is: a keyed hash of the body, and for its test call one with a key that everybody knows.

MailerSend keeps a webhook only if the call with which it tries the address, `webhook.test`, is taken; that one is signed with
a secret that its pages print. What that secret proves is answered and dropped: anybody can sign so.
"""

from __future__ import annotations

from touchbase.adapters.kit.signatures import Scheme, hashed_body
from touchbase.adapters.kit.signatures_body import fields
from touchbase.common.timestamps import Micros
from touchbase.connections.models import Arrival

_PRINTED = "test_Am3L1GuOIc4blLUuHqAPxxwkZaJyEk8G"
_TEST = "webhook.test"
_LONGEST_TEST = 1_000

SIGNED = hashed_body("signature")


def _is_test(arrival: Arrival, secret: str, now: Micros) -> bool:
    small = len(arrival.body) <= _LONGEST_TEST
    return small and SIGNED.check(arrival, _PRINTED, now) and fields(arrival).get("type") == _TEST


TEST = Scheme(
    "header `signature` of the call `webhook.test`: the same with the secret that MailerSend's pages print; answered, not stored",
    _is_test,
    reads_body=True,
    is_test=True,
)
