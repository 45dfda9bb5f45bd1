"""Proofs of origin: each tool's scheme takes what the tool sends and nothing else."""

from __future__ import annotations

import base64
import gzip
import hmac
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import md5, sha1, sha256
from typing import Any
from urllib.parse import urlencode

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.hashes import SHA1, SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

from touchbase.adapters.kit.parse import parse
from touchbase.adapters.kit.signatures import WINDOW
from touchbase.adapters.registry import load_adapters
from touchbase.common.timestamps import SECOND, to_text
from touchbase.connections.models import Arrival, Connection, ConnectionSettings
from touchbase.history.events import CHANNELS, CRM, EMAIL_CAMPAIGN

ADAPTERS = load_adapters()
NOON = 1_790_000_000 * SECOND
STAMP, MILLIS = str(NOON // SECOND), str(NOON // 1000)
SECRET = "a-secret-of-ours-0123456789"
BODY = b'{"id": 7, "name": "Zo\xc3\xab"}'
URL = "https://hooks.example.com/public/crm-webhook/acme"


def call(channel: str, body: bytes = BODY, query: str = "", url: str = URL, method: str = "POST", **headers: str) -> Arrival:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Arrival(channel, method, f"{url}?{query}" if query else url, named, query, body)


def connected(arrival: Arrival, tool: str, *secrets: str, **decided: Any) -> Connection:
    return Connection(1, arrival.channel, tool, 0, 0, list(secrets), ConnectionSettings(**decided))


def verify_signature(arrival: Arrival, tool: str, *secrets: str, now: int = NOON, **decided: Any) -> bool:
    return ADAPTERS.verify_signature(connected(arrival, tool, *secrets, **decided), arrival, now)


def hashed(key: str | bytes, message: bytes, digest: str = "sha256") -> bytes:
    return hmac.digest(key if isinstance(key, bytes) else key.encode(), message, digest)


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


# Published examples of HubSpot and of Standard Webhooks: secret and body as they stand there.
HUBSPOT_KEY = "yyyyyyyy-yyyy-yyyy-yyyy-yyyyyyyyyyyy"
EXAMPLE_URL = "https://www.example.com/webhook_uri"
EVENT = (
    b'[{"eventId":1,"subscriptionId":12345,"portalId":62515,"occurredAt":1564113600000,"subscriptionType":"contact.creation",'
    b'"attemptNumber":0,"objectId":123,"changeSource":"CRM","changeFlag":"NEW","appId":54321}]'
)
PUBLISHED: dict[str, tuple[str, str, int, Arrival]] = {
    "hubspot v1": (
        "hubspot", HUBSPOT_KEY, NOON,
        call(CRM, EVENT, x_hubspot_signature="232db2615f3d666fe21a8ec971ac7b5402d33b9a925784df3ca654d05f4817de"),
    ),
    "hubspot v1, another body": (
        "hubspot", HUBSPOT_KEY, NOON,
        call(CRM, b"{'example_field':'example_value'}", x_hubspot_signature_version="v1",
             x_hubspot_signature="69fc6631a867edd4f9e9e627fc5c1148e3fbdd8b21837b6d2b8901c1fa57f750"),
    ),
    "hubspot v2, GET": (
        "hubspot", HUBSPOT_KEY, NOON,
        call(CRM, b"", url=EXAMPLE_URL, method="GET", x_hubspot_signature_version="v2",
             x_hubspot_signature="eee2dddcc73c94d699f5e395f4b9d454a069a6855fbfa152e91e88823087200e"),
    ),
    "hubspot v2, POST": (
        "hubspot", HUBSPOT_KEY, NOON,
        call(CRM, b'{"example_field":"example_value"}', url=EXAMPLE_URL, x_hubspot_signature_version="v2",
             x_hubspot_signature="9569219f8ba981ffa6f6f16aa0f48637d35d728c7e4d93d0d52efaa512af7900"),
    ),
    "hubspot v2, another body": (
        "hubspot", HUBSPOT_KEY, NOON,
        call(CRM, b"{'example_field':'example_value'}", url=EXAMPLE_URL, x_hubspot_signature_version="v2",
             x_hubspot_signature="4fe4e3a7d3cf09db53be39d0a58130e2aaba074ec123a9e355b876a689a1c383"),
    ),
    "hubspot v3": (
        "hubspot", HUBSPOT_KEY, 15_000_000 * 1000,
        call(CRM, b"{'example_field':'example_value'}", url=EXAMPLE_URL, x_hubspot_request_timestamp="15000000",
             x_hubspot_signature_v3="HPW73RUtKmcYoEDADG0s6MmGFWUzWJKAW07r8RDgcQw="),
    ),
    "standard webhooks": (
        "folk", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", 1_614_265_330 * SECOND,
        call(CRM, b'{"test": 2432232314}', webhook_id="msg_p5jXN8AQM9LWM0D4loKWxJek", webhook_timestamp="1614265330",
             webhook_signature="v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_example__is_verified(name: str) -> None:
    tool, secret, now, arrival = PUBLISHED[name]

    decided = {"allow_v1_signatures": True} if "v1" in name else {}

    assert verify_signature(arrival, tool, secret, now=now, **decided)
    assert not verify_signature(arrival, tool, secret[:-1] + "z", now=now, **decided)
    assert not verify_signature(replace(arrival, body=arrival.body + b" "), tool, secret, now=now, **decided)


@pytest.mark.parametrize("name", [name for name in PUBLISHED if "v1" in name])
def test_hubspots_first_version__is_no_proof_unless_the_connection_allows_it(name: str) -> None:
    tool, secret, now, arrival = PUBLISHED[name]

    assert not verify_signature(arrival, tool, secret, now=now)


def close_key() -> str:
    return sha256(b"close").hexdigest()


def espo(digest: bytes) -> str:
    return b64(b"5f3a1b2c3d4e5f6a7:" + digest)


def token(claims: dict[str, Any], key: str = SECRET, alg: str = "HS256") -> str:
    parts = [json.dumps(part).encode() for part in ({"alg": alg, "typ": "JWT"}, claims)]
    signed = ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts)
    return f"{signed}.{base64.urlsafe_b64encode(hashed(key, signed.encode())).decode().rstrip('=')}"


def standard(prefix: str, key: bytes, at: str = STAMP) -> dict[str, str]:
    signature = b64(hashed(key, f"m1.{at}.".encode() + BODY))
    return {f"{prefix}id": "m1", f"{prefix}timestamp": at, f"{prefix}signature": f"v1,{b64(b'x' * 32)} v1a,other v1,{signature}"}


def mandrill() -> Arrival:
    fields = {"mandrill_events": '[{"event": "send", "msg": {"email": "zoë@example.com"}}]', "a": ""}
    message = URL + "".join(name + value for name, value in sorted(fields.items()))
    return call(EMAIL_CAMPAIGN, urlencode(fields).encode(), x_mandrill_signature=b64(hashed(SECRET, message.encode(), "sha1")))


def mailgun(**more: str) -> dict[str, str]:
    return {"timestamp": STAMP, "token": "t" * 50, "signature": hashed(SECRET, STAMP.encode() + b"t" * 50).hex(), **more}


def sendpilot(at: str) -> Arrival:
    return call(EMAIL_CAMPAIGN, webhook_signature=f"t={at},s={hashed(SECRET, at.encode() + b'.' + BODY).hex()}")


SIGNED: dict[str, tuple[str, str, Arrival]] = {
    "hubspot": ("hubspot", SECRET, call(
        CRM, query="a=%3Ab%2Fc&d=%20e", x_hubspot_request_timestamp=MILLIS,
        x_hubspot_signature_v3=b64(hashed(SECRET, f"POST{URL}?a=:b/c&d=%20e".encode() + BODY + MILLIS.encode())),
    )),
    "attio": ("attio", SECRET, call(CRM, attio_signature=hashed(SECRET, BODY).hex())),
    "attio, its other header": ("attio", SECRET, call(CRM, x_attio_signature=hashed(SECRET, BODY).hex())),
    "close": ("close", close_key(), call(
        CRM, close_sig_timestamp=STAMP, close_sig_hash=hashed(bytes.fromhex(close_key()), STAMP.encode() + BODY).hex()
    )),
    "twenty": ("twenty", SECRET, call(
        CRM, x_twenty_webhook_timestamp=MILLIS, x_twenty_webhook_signature=hashed(SECRET, MILLIS.encode() + b":" + BODY).hex()
    )),
    "folk": ("folk", f"whsec_{b64(b'k' * 24)}", replace(call(CRM), headers=standard("webhook-", b"k" * 24))),
    "resend": ("resend", f"whsec_{b64(b'k' * 24)}", replace(call(EMAIL_CAMPAIGN), headers=standard("svix-", b"k" * 24))),
    "notion": ("notion", SECRET, call(CRM, x_notion_signature=f"sha256={hashed(SECRET, BODY).hex()}")),
    "intercom": ("intercom", SECRET, call(CRM, x_hub_signature=f"sha1={hmac.new(SECRET.encode(), BODY, sha1).hexdigest()}")),
    "espocrm": ("espocrm", SECRET, call(CRM, signature=espo(hashed(SECRET, BODY).hex().encode()))),
    "frappe": ("frappe", SECRET, call(CRM, x_frappe_webhook_signature=b64(hashed(SECRET, BODY)))),
    "espocrm, older": ("espocrm", SECRET, call(CRM, x_signature=espo(hashed(SECRET, BODY)))),
    "outreach": ("outreach", SECRET, call(CRM, outreach_webhook_signature=hashed(SECRET, BODY).hex())),
    "outreach, mails": ("outreach", SECRET, call(EMAIL_CAMPAIGN, outreach_webhook_signature=hashed(SECRET, BODY).hex())),
    "salesloft": ("salesloft", SECRET, call(EMAIL_CAMPAIGN, x_salesloft_signature=hashed(SECRET, BODY, "sha1").hex())),
    "outlix": ("outlix", SECRET, call(EMAIL_CAMPAIGN, x_webhook_signature=f"sha256={hashed(SECRET, BODY).hex()}")),
    "smartlead": ("smartlead", SECRET, call(EMAIL_CAMPAIGN, x_smartlead_signature=f"sha256={hashed(SECRET, BODY).hex()}")),
    "mandrill": ("mandrill", SECRET, mandrill()),
    "mailersend": ("mailersend", SECRET, call(EMAIL_CAMPAIGN, signature=hashed(SECRET, BODY).hex())),
    "replyify": ("replyify", SECRET, call(EMAIL_CAMPAIGN, x_replyify_signature=f"sha256={hashed(SECRET, BODY).hex()}")),
    "replyify, as its guide has it": ("replyify", SECRET, call(EMAIL_CAMPAIGN, x_replyify_signature=hashed(SECRET, BODY).hex())),
    "sendpilot": ("sendpilot", SECRET, sendpilot(STAMP)),
    "calendly": ("calendly", SECRET, call(
        EMAIL_CAMPAIGN, calendly_webhook_signature=f"t={STAMP},v1={hashed(SECRET, STAMP.encode() + b'.' + BODY).hex()}"
    )),
    "unipile": ("unipile", SECRET, call(
        EMAIL_CAMPAIGN, unipile_signature=f"t={STAMP},v0={hashed(SECRET, STAMP.encode() + b'.' + BODY).hex()}"
    )),
    "mautic": ("mautic", SECRET, call(EMAIL_CAMPAIGN, webhook_signature=b64(hashed(SECRET, BODY)))),
    "customer_io": ("customer_io", SECRET, call(
        EMAIL_CAMPAIGN, x_cio_timestamp=STAMP, x_cio_signature=hashed(SECRET, b"v0:" + STAMP.encode() + b":" + BODY).hex()
    )),
    "klaviyo": ("klaviyo", SECRET, call(
        EMAIL_CAMPAIGN, klaviyo_timestamp=STAMP, klaviyo_signature=hashed(SECRET, BODY + STAMP.encode()).hex()
    )),
    "loops": ("loops", f"whsec_{b64(b'k' * 24)}", replace(call(EMAIL_CAMPAIGN), headers=standard("webhook-", b"k" * 24))),
    "mailerlite": ("mailerlite", SECRET, call(EMAIL_CAMPAIGN, signature=hashed(SECRET, BODY).hex())),
    "mailerlite classic": ("mailerlite", SECRET, call(EMAIL_CAMPAIGN, x_mailerlite_signature=b64(hashed(SECRET, BODY)))),
    "mailtrap": ("mailtrap", SECRET, call(EMAIL_CAMPAIGN, mailtrap_signature=hashed(SECRET, BODY).hex())),
    "typeform": ("typeform", SECRET, call(CRM, typeform_signature=f"sha256={b64(hashed(SECRET, BODY))}")),
    "tally": ("tally", SECRET, call(CRM, tally_signature=b64(hashed(SECRET, BODY)))),
    "webflow": ("webflow", SECRET, call(
        CRM, x_webflow_timestamp=MILLIS, x_webflow_signature=hashed(SECRET, MILLIS.encode() + b":" + BODY).hex()
    )),
    "chatwoot": ("chatwoot", SECRET, call(
        CRM, x_chatwoot_timestamp=STAMP, x_chatwoot_signature=f"sha256={hashed(SECRET, STAMP.encode() + b'.' + BODY).hex()}"
    )),
    "woocommerce": ("woocommerce", SECRET, call(CRM, x_wc_webhook_signature=b64(hashed(SECRET, BODY)))),
    "shopify": ("shopify", SECRET, call(CRM, x_shopify_hmac_sha256=b64(hashed(SECRET, BODY)))),
    "follow_up_boss": ("follow_up_boss", SECRET, call(CRM, fub_signature=hashed(SECRET, b64(BODY).encode()).hex())),
    "cal_com": ("cal_com", SECRET, call(EMAIL_CAMPAIGN, x_cal_signature_256=hashed(SECRET, BODY).hex())),
    "cal_com, at the other address": ("cal_com", SECRET, call(CRM, x_cal_signature_256=hashed(SECRET, BODY).hex())),
    "savvycal": ("savvycal", SECRET, call(EMAIL_CAMPAIGN, x_savvycal_signature=f"sha256={hashed(SECRET, BODY).hex().upper()}")),
    "acuity": ("acuity", SECRET, call(CRM, x_acuity_signature=b64(hashed(SECRET, BODY)))),
    "sendpilot, in milliseconds": ("sendpilot", SECRET, sendpilot(MILLIS)),
}  # fmt: skip


@pytest.mark.parametrize("name", SIGNED)
def test_signature__verifies_only_its_secret_and_body(name: str) -> None:
    tool, secret, arrival = SIGNED[name]

    assert verify_signature(arrival, tool, secret)
    assert not verify_signature(arrival, tool, f"{secret[:-8]}{secret[-8:][::-1]}")
    assert not verify_signature(replace(arrival, body=arrival.body.replace(b"7", b"8").replace(b"send", b"open")), tool, secret)
    assert not verify_signature(replace(arrival, headers={}), tool, secret)


@pytest.mark.parametrize(
    "name",
    ["hubspot", "close", "twenty", "folk", "resend", "calendly", "unipile", "customer_io", "klaviyo", "loops", "webflow", "chatwoot"],
)
def test_timed_signature__expires_after_five_minutes(name: str) -> None:
    tool, secret, arrival = SIGNED[name]

    assert verify_signature(arrival, tool, secret, now=NOON + WINDOW)
    assert not verify_signature(arrival, tool, secret, now=NOON + WINDOW + SECOND)
    assert not verify_signature(arrival, tool, secret, now=NOON - WINDOW - SECOND)


@pytest.mark.parametrize("name", SIGNED)
def test_secret_rotation__verifies_with_either_secret(name: str) -> None:
    tool, secret, arrival = SIGNED[name]

    assert verify_signature(arrival, tool, "the-one-that-comes-next", secret)
    assert verify_signature(arrival, tool, secret, "the-one-that-comes-next")


def test_hubspot_stale_v3_signature__does_not_fall_back_to_an_older_one() -> None:
    tool, secret, arrival = SIGNED["hubspot"]
    first = sha256(secret.encode() + BODY).hexdigest()

    both = replace(arrival, headers={**arrival.headers, "x-hubspot-signature": first})

    assert verify_signature(both, tool, secret)
    assert not verify_signature(both, tool, secret, now=NOON + 2 * WINDOW)


def test_hubspot_signature__covers_the_address() -> None:
    tool, secret, arrival = SIGNED["hubspot"]

    assert not verify_signature(replace(arrival, url=arrival.url.replace("hooks", "other")), tool, secret)


def test_sendpilot_signature__outlasts_the_last_retry_and_then_expires() -> None:
    arrival = sendpilot(STAMP)

    assert verify_signature(arrival, "sendpilot", SECRET, now=NOON + 4_700 * SECOND)
    assert not verify_signature(arrival, "sendpilot", SECRET, now=NOON + 7_201 * SECOND)
    assert not verify_signature(arrival, "sendpilot", SECRET, now=NOON - WINDOW - SECOND)


@pytest.mark.parametrize("header", ["", "t=,s=", "s=00", f"t={STAMP}", f"t={STAMP},s=", "t=²,s=00", ",,=,t"])
def test_sendpilot_signature__is_rejected_when_malformed(header: str) -> None:
    assert not verify_signature(call(EMAIL_CAMPAIGN, webhook_signature=header), "sendpilot", SECRET)


def is_test_webhook(body: bytes, secret: str) -> bool:
    arrival = call(EMAIL_CAMPAIGN, body, signature=hashed(secret, body).hex())
    assert not verify_signature(arrival, "mailersend", SECRET)
    return ADAPTERS.is_test_webhook(connected(arrival, "mailersend", SECRET), arrival, NOON)


def test_mailersend_test_secret__verifies_only_the_test_webhook() -> None:
    printed = "test_Am3L1GuOIc4blLUuHqAPxxwkZaJyEk8G"
    ping = b'{"type":"webhook.test","message":"This is a ping test message"}'
    mail = b'{"type":"activity.hard_bounced","data":{"type":"webhook.test"}}'

    assert is_test_webhook(ping, printed)
    assert not is_test_webhook(ping, "another")
    assert not is_test_webhook(mail, printed)
    assert not is_test_webhook(ping + b" " * 1000, printed)
    assert is_test_webhook(b"[%b, %b]" % (ping, mail), printed), "it is dropped as a whole"


# Public keys.


def spki(key: Any) -> str:
    return b64(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo))


def test_sendgrid_signature__covers_time_and_body() -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    signature = b64(key.sign(STAMP.encode() + BODY, ec.ECDSA(SHA256())))
    headers = {"x_twilio_email_event_webhook_signature": signature, "x_twilio_email_event_webhook_timestamp": STAMP}
    arrival, public = call(EMAIL_CAMPAIGN, **headers), spki(key.public_key())

    assert verify_signature(arrival, "sendgrid", public)
    assert verify_signature(arrival, "sendgrid", key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode())
    assert verify_signature(arrival, "sendgrid", public, now=NOON + 24 * 3600 * SECOND)
    assert not verify_signature(arrival, "sendgrid", public, now=NOON + 25 * 3600 * SECOND)
    assert verify_signature(arrival, "sendgrid", public, now=NOON + 25 * 3600 * SECOND, signature_max_age=90_000)
    assert not verify_signature(arrival, "sendgrid", public, now=NOON + 61 * SECOND, signature_max_age=60)
    assert not verify_signature(arrival, "sendgrid", public, now=NOON - WINDOW - SECOND)
    assert not verify_signature(replace(arrival, body=BODY + b" "), "sendgrid", public)
    assert not verify_signature(arrival, "sendgrid", spki(ec.generate_private_key(ec.SECP256R1()).public_key()))


HERE = {"location_id": "l1"}
OF_L1 = b'{"type": "ContactCreate", "locationId": "l1", "id": "7"}'


def raw(key: Any) -> bytes:
    return bytes(key.public_bytes(Encoding.Raw, PublicFormat.Raw))


@pytest.mark.parametrize("written", [b64, bytes.hex])
def test_gohighlevel_signature__verifies_the_body_with_ed25519(written: Any) -> None:
    key = ed25519.Ed25519PrivateKey.generate()
    arrival, public = call(CRM, OF_L1, x_ghl_signature=written(key.sign(OF_L1))), key.public_key()

    assert verify_signature(arrival, "gohighlevel", spki(public), **HERE)
    assert verify_signature(arrival, "gohighlevel", written(raw(public)), **HERE), "the key's 32 bytes will do"
    assert not verify_signature(replace(arrival, body=OF_L1 + b" "), "gohighlevel", spki(public), **HERE)
    assert not verify_signature(arrival, "gohighlevel", spki(ed25519.Ed25519PrivateKey.generate().public_key()), **HERE)


def test_gohighlevel_signature__is_accepted_in_its_older_form() -> None:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    arrival = call(CRM, OF_L1, x_wh_signature=b64(key.sign(OF_L1, padding.PKCS1v15(), SHA256())))

    assert verify_signature(arrival, "gohighlevel", spki(key.public_key()), **HERE)
    assert not verify_signature(replace(arrival, body=OF_L1 + b" "), "gohighlevel", spki(key.public_key()), **HERE)


@pytest.mark.parametrize(
    ("body", "is_ours"),
    [
        (OF_L1, True), (b'{"location": {"id": "l1"}, "email": "a@example.com"}', True),
        (b'[{"locationId": "l1"}, {"locationId": "l1"}]', True),
        (b'{"locationId": "l2"}', False), (b'{"locationId": "l2", "customData": {"locationId": "l1"}}', False),
        (b'{"locationId": "l1", "location": {"id": "l2"}}', False), (b'[{"locationId": "l1"}, {"locationId": "l2"}]', False),
        (b'[{"locationId": "l1"}, {"id": "7"}]', False), (b'{"type": "INSTALL"}', False), (b"locationId", False), (b"", False),
    ],
)  # fmt: skip
def test_a_signature_of_gohighlevel__is_proof_for_the_connections_location_only(body: bytes, is_ours: bool) -> None:
    key = ed25519.Ed25519PrivateKey.generate()
    arrival, public = call(CRM, body, x_ghl_signature=b64(key.sign(body))), spki(key.public_key())

    assert verify_signature(arrival, "gohighlevel", public, **HERE) is is_ours
    assert not verify_signature(arrival, "gohighlevel", public)


def test_public_key__does_not_verify_as_a_secret() -> None:
    public = spki(ed25519.Ed25519PrivateKey.generate().public_key())

    for known in (public, b64(b"k" * 32), b"k".hex() * 32):
        assert not verify_signature(call(CRM, query=urlencode({"token": known}), x_token=known), "gohighlevel", known)
        assert verify_signature(call(CRM, x_token=known), "attio", known) is (known != public), "for other tools 32 bytes are a secret"


# A secret for each webhook.


def test_espocrm__takes_fifty_secrets_and_one_that_names_its_webhook_counts_for_it_only() -> None:
    arrival = call(CRM, x_signature=espo(hashed("key-number-17", BODY)))
    keys = [f"key-number-{number}" for number in range(50)]

    assert ADAPTERS.most_secrets(CRM, "espocrm") == 50
    assert ADAPTERS.most_secrets(CRM, "attio") == 2
    assert verify_signature(arrival, "espocrm", *keys)
    assert verify_signature(arrival, "espocrm", "5f3a1b2c3d4e5f6a7:key-number-17")
    assert not verify_signature(arrival, "espocrm", "6b0607cc8da6731c4:key-number-17")
    assert verify_signature(call(CRM, query="token=key-number-17"), "espocrm", "6b0607cc8da6731c4:key-number-17")


# Secrets that could never fit.

FITTING = {
    "sendgrid": (EMAIL_CAMPAIGN, spki(ec.generate_private_key(ec.SECP256R1()).public_key()), "PEM"),
    "gohighlevel": (CRM, raw(ed25519.Ed25519PrivateKey.generate().public_key()).hex(), "32 bytes"),
    "close": (CRM, close_key(), "hex"),
    "folk": (CRM, f"whsec_{b64(b'k' * 24)}", "base64"),
    "resend": (EMAIL_CAMPAIGN, f"whsec_{b64(b'k' * 24)}", "base64"),
    "loops": (EMAIL_CAMPAIGN, f"whsec_{b64(b'k' * 24)}", "base64"),
    "airtable": (CRM, b64(b"k" * 32), "base64"),
    "postal": (EMAIL_CAMPAIGN, spki(rsa.generate_private_key(65537, 2048).public_key()), "PEM"),
    "amazon_ses": (EMAIL_CAMPAIGN, "arn:aws:sns:x\n-----BEGIN CERTIFICATE-----", "ARN"),
}


@pytest.mark.parametrize("tool", FITTING)
def test_a_secret__has_the_form_that_its_tools_signatures_need(tool: str) -> None:
    channel, secret, form = FITTING[tool]

    assert ADAPTERS.why_not_secret(channel, tool, secret) is None
    assert ADAPTERS.why_not_secret(channel, tool, "tbs_what-we-have-made-goes-into-the-address") is None
    assert form in (ADAPTERS.why_not_secret(channel, tool, "no such secret!") or "")


def test_a_secret__of_a_tool_that_takes_any_text_always_fits() -> None:
    formless = [(channel, tool) for channel in CHANNELS for tool in ADAPTERS.tools(channel) if tool not in FITTING]

    assert [tool for channel, tool in formless if ADAPTERS.why_not_secret(channel, tool, "no such secret!") is not None] == []


def sns(key: rsa.RSAPrivateKey, version: str, kind: str = "Notification", **more: str) -> dict[str, str]:
    envelope = {
        "Type": kind,
        "MessageId": "m",
        "TopicArn": TOPIC,
        "Message": "{}",
        "Timestamp": to_text(NOON),
        "SignatureVersion": version,
    } | more
    names = sorted(envelope.keys() - {"SignatureVersion"})
    message = "".join(f"{name}\n{envelope[name]}\n" for name in names).encode()
    signature = key.sign(message, padding.PKCS1v15(), SHA256() if version == "2" else SHA1())
    return {**envelope, "Signature": b64(signature), "SigningCertURL": "https://sns.eu-west-1.amazonaws.com/x.pem"}


TOPIC = "arn:aws:sns:eu-west-1:1:ses"


def test_sns_signature__verifies_the_envelopes_of_one_topic() -> None:
    key = rsa.generate_private_key(65537, 2048)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "sns.amazonaws.com")])
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    built = x509.CertificateBuilder(name, name, key.public_key(), 1, begin, begin + timedelta(days=400))
    certificate = built.sign(key, SHA256()).public_bytes(Encoding.PEM).decode()

    def holds(envelope: dict[str, str], topic: str = TOPIC, now: int = NOON) -> bool:
        return verify_signature(call(EMAIL_CAMPAIGN, json.dumps(envelope).encode()), "amazon_ses", f"{topic}\n{certificate}", now=now)

    for envelope in (sns(key, "1"), sns(key, "2", Subject="Hello"), sns(key, "1", "SubscriptionConfirmation", Token="t", SubscribeURL="u")):
        assert holds(envelope)
        assert not holds({**envelope, "Message": "{ }"})
        assert not holds(envelope, now=NOON + 3601 * SECOND)
    assert not holds(sns(key, "1"), topic="arn:aws:sns:eu-west-1:2:another")
    assert not holds(sns(key, "1", TopicArn="arn:aws:sns:eu-west-1:2:another"))
    assert not holds(sns(rsa.generate_private_key(65537, 2048), "1"))


def test_postal_signature__covers_the_body() -> None:
    key = rsa.generate_private_key(65537, 2048)
    arrival = call(EMAIL_CAMPAIGN, x_postal_signature=b64(key.sign(BODY, padding.PKCS1v15(), SHA1())))

    assert verify_signature(arrival, "postal", spki(key.public_key()))
    assert not verify_signature(replace(arrival, body=b"{}"), "postal", spki(key.public_key()))
    assert not verify_signature(arrival, "postal", spki(rsa.generate_private_key(65537, 2048).public_key()))


def test_unisender_signature__covers_the_body() -> None:
    def signed(body: bytes, key: str = SECRET) -> Arrival:
        auth = md5(body.replace(b"AUTH", key.encode()), usedforsecurity=False).hexdigest()
        return call(EMAIL_CAMPAIGN, body.replace(b"AUTH", auth.encode()))

    body = b'{"auth":"AUTH","events_by_user":[]}'

    assert verify_signature(signed(body), "unisender_go", SECRET)
    assert not verify_signature(signed(body, "another-secret"), "unisender_go", SECRET)
    assert not verify_signature(replace(signed(body), body=signed(body).body + b" "), "unisender_go", SECRET)


# Secrets in the body.


@pytest.mark.parametrize(
    ("channel", "tool", "name"),
    [(EMAIL_CAMPAIGN, "smartlead", "secret_key"), (EMAIL_CAMPAIGN, "lemlist", "secret"), (CRM, "zoho", "token")],
)
def test_body_secret__verifies_only_in_its_own_field(channel: str, tool: str, name: str) -> None:
    assert verify_signature(call(channel, json.dumps({"a": 1, name: SECRET}).encode()), tool, SECRET)
    assert not verify_signature(call(channel, json.dumps({"a": 1, name: SECRET + "x"}).encode()), tool, SECRET)
    assert not verify_signature(call(channel, json.dumps({"a": SECRET}).encode()), tool, SECRET)


def test_bitrix24_token__verifies_only_below_auth() -> None:
    form = "event=ONCRMCONTACTADD&data%5BFIELDS%5D%5BID%5D=1&auth%5Bapplication_token%5D={}"

    assert verify_signature(call(CRM, form.format(SECRET).encode()), "bitrix24", SECRET)
    assert not verify_signature(call(CRM, form.format(SECRET + "x").encode()), "bitrix24", SECRET)
    assert not verify_signature(call(CRM, f"application_token={SECRET}".encode()), "bitrix24", SECRET)


def test_body_secret__of_digits_may_be_a_number() -> None:
    assert verify_signature(call(CRM, b'{"token": 12345678}'), "zoho", "12345678")
    assert not verify_signature(call(CRM, b'{"token": 1234567}'), "zoho", "12345678")


def test_smartlead_test_webhook__is_not_verified() -> None:
    assert not verify_signature(call(EMAIL_CAMPAIGN, b'{"event_type": "EMAIL_SENT", "secret_key": "secretkey"}'), "smartlead", SECRET)


def test_copper_secret__verifies_in_any_top_level_field() -> None:
    assert verify_signature(call(CRM, json.dumps({"ids": [1], "event": "new", "ours": SECRET}).encode()), "copper", SECRET)
    assert not verify_signature(call(CRM, json.dumps({"ids": [1], "deeper": {"ours": SECRET}}).encode()), "copper", SECRET)


@pytest.mark.parametrize(
    "body",
    [
        json.dumps({"signature": mailgun(), "event-data": {"event": "opened"}}).encode(),
        json.dumps({"signature": {**mailgun(signature="0" * 64), "parent-signature": mailgun()["signature"]}}).encode(),
        urlencode({"event": "opened", **mailgun()}).encode(),
    ],
)
def test_mailgun_signature__is_read_from_the_body_and_outlasts_the_last_retry(body: bytes) -> None:
    arrival = call(EMAIL_CAMPAIGN, body)

    assert verify_signature(arrival, "mailgun", SECRET)
    assert verify_signature(arrival, "mailgun", SECRET, now=NOON + 8 * 3600 * SECOND + 900 * SECOND)
    assert not verify_signature(arrival, "mailgun", SECRET[::-1])
    assert not verify_signature(arrival, "mailgun", SECRET, now=NOON + 12 * 3600 * SECOND + SECOND)
    assert not verify_signature(arrival, "mailgun", SECRET, now=NOON - WINDOW - SECOND)


# monday's token.


def test_monday_token__verifies_until_it_expires() -> None:
    arrival = call(CRM, authorization=token({"exp": NOON // SECOND, "aud": URL}))

    assert verify_signature(arrival, "monday", SECRET)
    assert not verify_signature(arrival, "monday", SECRET, now=NOON + WINDOW + SECOND)


@pytest.mark.parametrize(
    "given",
    [
        token({"exp": NOON // SECOND}, key="somebody-elses"),
        token({"exp": NOON // SECOND}, alg="none"),
        token({}),
        token({"exp": "soon"}),
        token({"exp": NOON // SECOND}).rpartition(".")[0] + ".",
        "a.b.c",
        "",
    ],
)
def test_monday_token__is_rejected_when_invalid(given: str) -> None:
    assert not verify_signature(call(CRM, authorization=given), "monday", SECRET)


# The secret itself.


@pytest.mark.parametrize(
    "arrival",
    [
        call(CRM, x_any_header=SECRET),
        call(CRM, authorization=f"Bearer {SECRET}"),
        call(CRM, authorization=SECRET),
        call(CRM, query=f"a=b&token={SECRET}"),
        call(CRM, query=f"code={SECRET}"),
    ],
)
@pytest.mark.parametrize("tool", ["dynamics365", "salesforce", "odoo", "hubspot", "generic"])
def test_plain_secret__verifies_for_every_tool(arrival: Arrival, tool: str) -> None:
    assert verify_signature(arrival, tool, SECRET)
    assert not verify_signature(arrival, tool, SECRET.upper())


@pytest.mark.parametrize(("channel", "tool"), [(CRM, "pipedrive"), (CRM, "insightly"), (EMAIL_CAMPAIGN, "postmark")])
def test_basic_auth__verifies_the_user_and_password(channel: str, tool: str) -> None:
    basic = call(channel, authorization=f"Basic {b64('hook:pass:wörd'.encode())}")

    assert verify_signature(basic, tool, "hook:pass:wörd")
    assert not verify_signature(basic, tool, "hook:pass:word")
    assert not verify_signature(call(channel, authorization="Basic !!!"), tool, "hook:pass:wörd")


def test_connection__without_secrets_verifies_nothing() -> None:
    assert not verify_signature(call(CRM, x_a=""), "hubspot")


def test_compressed_body__may_be_signed_before_or_after_compression() -> None:
    packed = gzip.compress(BODY, mtime=0)

    assert verify_signature(call(CRM, packed, content_encoding="gzip", attio_signature=hashed(SECRET, BODY).hex()), "attio", SECRET)
    assert verify_signature(call(CRM, packed, content_encoding="gzip", attio_signature=hashed(SECRET, packed).hex()), "attio", SECRET)
    assert not verify_signature(call(CRM, b"broken", content_encoding="gzip", attio_signature=hashed(SECRET, BODY).hex()), "attio", SECRET)


NAMES = sorted({name for _, _, arrival in SIGNED.values() for name in arrival.headers} | {"authorization", "x-ghl-signature", "x-any"})
GUESSES = st.one_of(st.text(max_size=40), st.sampled_from([STAMP, MILLIS, "v1,", "sha1=", "Basic ", "Bearer x", "a.b.c", b64(b"5f:xx")]))


@given(body=st.binary(max_size=200), query=st.text(max_size=40), headers=st.dictionaries(st.sampled_from(NAMES), GUESSES))
@settings(max_examples=examples(150), deadline=None)
def test_signature_schemes__reject_any_request_made_without_the_secret(body: bytes, query: str, headers: dict[str, str]) -> None:
    for channel in CHANNELS:
        for tool in ADAPTERS.tools(channel):
            arrival = Arrival(channel, "POST", URL, headers, query, body)
            assert not verify_signature(arrival, tool, SECRET, close_key(), f"whsec_{b64(b'k' * 24)}")


# Bounds for callers who have proved nothing.


@pytest.mark.parametrize(
    "body",
    [
        b'{"token": "%b", "pad": "%b"}' % (SECRET.encode(), b"x" * 256 * 1024), b"[" * 2_001, b'{"token":' * 65 + b"1" + b"}" * 65,
        b'{"token": "%b", "list": [%b]}' % (SECRET.encode(), b"{}," * 2_000 + b"{}"), b"token=%b" % SECRET.encode() + b"&a=1" * 2_001,
        b'"' + rb"\u007b" * 2_001 + b'"',
    ],
)  # fmt: skip
def test_a_body_beyond_the_bounds__is_not_parsed_for_a_caller_who_has_proved_nothing(body: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("touchbase.adapters.kit.signatures_body.parse", lambda request: pytest.fail("it was parsed"))

    arrival = call(CRM, body)

    assert not verify_signature(arrival, "zoho", SECRET)
    assert ADAPTERS.guess_tool(arrival, {"zoho"}) == (None, False)


def test_a_body__is_parsed_once_however_many_connections_and_secrets_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[bytes] = []
    monkeypatch.setattr("touchbase.adapters.kit.signatures_body.parse", lambda request: parsed.append(request.body) or parse(request))
    arrival = call(CRM, b'{"a": 1}')

    for tool in ("zoho", "copper", "zoho"):
        assert not verify_signature(arrival, tool, "one-secret", "another-secret")
    ADAPTERS.guess_tool(arrival, {"zoho", "copper"})

    assert parsed == [b'{"a": 1}']
