"""Signatures, also as the libraries for receivers check them."""

from __future__ import annotations

import base64

import pytest

from touchbase.outgoing.signatures import new_secret, sign, signature_headers

BODY = b'{"test": 2432232314}'


def test_sign__gives_the_example_of_the_specification() -> None:
    signature = sign("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, BODY)

    assert signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_secret__is_32_random_bytes() -> None:
    secret, other_secret = new_secret(), new_secret()

    assert secret != other_secret
    assert len(base64.b64decode(secret.removeprefix("whsec_"))) == 32


@pytest.mark.parametrize("package", ["standardwebhooks", "svix"])
def test_library__accepts_either_secret_and_refuses_a_changed_body(package: str) -> None:
    library = pytest.importorskip(f"{package}.webhooks")
    import time

    old, new = new_secret(), new_secret()
    at = time.time_ns() // 1_000
    headers = signature_headers([new, old], "evt_1_1", at, BODY)
    if package == "svix":
        headers |= {name.replace("webhook-", "svix-"): value for name, value in headers.items()}
    for secret in (old, new):
        library.Webhook(secret).verify(BODY.decode(), headers)  # raises otherwise
        with pytest.raises(library.WebhookVerificationError):
            library.Webhook(secret).verify(BODY.decode() + " ", headers)
    with pytest.raises(library.WebhookVerificationError):
        library.Webhook(new_secret()).verify(BODY.decode(), headers)
