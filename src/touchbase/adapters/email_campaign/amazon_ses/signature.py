"""Amazon SNS's signature scheme: RSA over the envelope's fields, with a certificate of Amazon.

Reference: docs.aws.amazon.com/sns, verifying the signatures of messages. Anyone can have a topic that Amazon signs for, so the secret
names the topic too. The certificate is given by the operator: a check sends no requests.
"""

from __future__ import annotations

from touchbase.adapters.kit.extract import objects
from touchbase.adapters.kit.signatures import Scheme, SecretForm, constant_time_equal, window_of
from touchbase.adapters.kit.signatures_body import parsed_webhook
from touchbase.adapters.kit.signatures_public_key import CERTIFICATE, holds
from touchbase.adapters.kit.times import parse_time
from touchbase.common.timestamps import SECOND, Micros
from touchbase.connections.models import Arrival

_HOUR: Micros = 3600 * SECOND
_NOTIFICATION = ("Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type")
_CONFIRMATION = ("Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type")


def _check(arrival: Arrival, secret: str, now: Micros) -> bool:
    topic, mark, certificate = secret.partition(CERTIFICATE)
    webhook = parsed_webhook(arrival)
    bodies = [] if webhook is None else objects(webhook.data)
    envelope = {name: value for body in bodies[:1] for name, value in body.items() if isinstance(value, str)}
    at = parse_time(envelope.get("Timestamp"))
    if at is None or abs(now - at) > window_of(arrival, _HOUR) or not constant_time_equal(envelope.get("TopicArn"), topic.strip()):
        return False
    names = _NOTIFICATION if envelope.get("Type") == "Notification" else _CONFIRMATION
    message = "".join(f"{name}\n{envelope[name]}\n" for name in names if name in envelope)
    digest = "sha256" if envelope.get("SignatureVersion") == "2" else "sha1"
    return bool(mark) and holds(mark + certificate, envelope.get("Signature"), message.encode(), digest)


SNS = Scheme(
    "field `Signature` of Amazon SNS's envelope: RSA over its fields; 1 hour",
    _check,
    form=SecretForm(
        "the topic's ARN, and below it the certificate (PEM) at the envelope's `SigningCertURL`",
        lambda secret: secret.startswith("arn:") and CERTIFICATE in secret,
    ),
    reads_body=True,
    window=_HOUR,
)
