"""Webhooks that Touchbase sends prove their sender; checked against the server's code and against `standardwebhooks`."""

from __future__ import annotations

import base64
import json
import time
from typing import Any

import pytest
import standardwebhooks
from hypothesis import given
from hypothesis import strategies as st

from touchbase.outgoing.signatures import new_secret, signature_headers
from touchbase_client import WebhookError, verify_webhook

SECRET, OTHER = new_secret(), new_secret()
NOW = 1_795_000_000
EVENT = {"type": "contact.replied", "timestamp": "2026-11-20T09:30:00Z", "data": {"id": "evt_1"}}
BODY = json.dumps(EVENT).encode()


def headers(*secrets: str, at: int = NOW, body: bytes = BODY) -> dict[str, str]:
    return signature_headers(secrets or (SECRET,), "msg_1", at * 1_000_000, body)


def test_verify__returns_the_event_that_the_server_has_signed() -> None:
    as_bytes = [(name.encode(), value.encode()) for name, value in headers().items()]

    assert verify_webhook(SECRET, headers(), BODY, now=NOW) == EVENT
    assert verify_webhook([SECRET], {name.title(): value for name, value in headers().items()}, BODY.decode(), now=NOW) == EVENT
    assert verify_webhook(SECRET, as_bytes, BODY, now=NOW) == EVENT


def test_verify__accepts_the_old_or_the_new_secret_during_a_rotation() -> None:
    both = headers(SECRET, OTHER)

    assert verify_webhook(SECRET, both, BODY, now=NOW) == verify_webhook(OTHER, both, BODY, now=NOW) == EVENT
    assert verify_webhook([new_secret(), SECRET], headers(), BODY, now=NOW) == EVENT


@pytest.mark.parametrize(
    ("changed", "about"),
    [
        ({"body": BODY + b" "}, "no signature fits"),
        ({"secrets": OTHER}, "no signature fits"),
        ({"headers": headers() | {"webhook-id": "msg_2"}}, "no signature fits"),
        ({"headers": headers() | {"webhook-signature": ""}}, "webhook-signature is missing"),
        ({"headers": headers() | {"webhook-timestamp": "soon"}}, "no number"),
        ({"now": NOW + 301}, "old"),
        ({"now": NOW - 301}, "future"),
        ({"body": b"[]", "headers": headers(body=b"[]")}, "no event"),
    ],
)
def test_verify__refuses_what_does_not_prove_its_sender(changed: dict[str, Any], about: str) -> None:
    value: dict[str, Any] = {"secrets": SECRET, "headers": headers(), "body": BODY, "now": NOW} | changed

    with pytest.raises(WebhookError, match=about) as error:
        verify_webhook(**value)
    assert SECRET.removeprefix("whsec_") not in str(error.value)


def test_verify__without_a_usable_secret_is_an_error_of_the_program() -> None:
    for wrong in ("", [], "whsec_x"):
        with pytest.raises(ValueError, match="secret"):
            verify_webhook(wrong, headers(), BODY, now=NOW)


@given(st.binary(min_size=24, max_size=64), st.dictionaries(st.text(), st.text()))
def test_verify__agrees_with_standardwebhooks_for_any_secret_and_body(material: bytes, event: dict[str, str]) -> None:
    secret, body, at = "whsec_" + base64.b64encode(material).decode(), json.dumps(event), int(time.time())
    theirs = standardwebhooks.Webhook(secret)
    signed = signature_headers([secret], "msg_1", at * 1_000_000, body.encode())

    assert theirs.verify(body, signed) == verify_webhook(secret, signed, body) == event


@given(st.dictionaries(st.text(), st.text()), st.binary())
def test_verify__for_any_headers_and_body_raises_no_other_error(sent: dict[str, str], body: bytes) -> None:
    with pytest.raises(WebhookError):
        verify_webhook(SECRET, sent, body)
    with pytest.raises(WebhookError):
        verify_webhook(SECRET, headers() | sent, body + b"x", now=NOW)
