"""UniSender Go: webhooks. Events stand in a list inside a list, the kind of event in `status`; times have no zone and are UTC.

Signature: `auth` is the MD5 of the body with the API key in place of `auth`.
"""

from __future__ import annotations

from hashlib import md5

from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit import event_types as m
from touchbase.adapters.kit.declarative import DetectionRule, Item, TableAdapter
from touchbase.adapters.kit.extract import text
from touchbase.adapters.kit.signatures import Scheme, constant_time_equal
from touchbase.adapters.kit.signatures_body import fields
from touchbase.common.timestamps import Micros
from touchbase.connections.models import Arrival
from touchbase.history.events import Event


def _check(arrival: Arrival, secret: str, now: Micros) -> bool:
    auth = text(fields(arrival).get("auth"))
    if auth is None or len(auth) != 32 or not auth.isascii():
        return False
    body = arrival.body.replace(auth.encode(), secret.encode(), 1)
    return constant_time_equal(auth.lower(), md5(body, usedforsecurity=False).hexdigest())


UNISENDER = Scheme("field `auth` of the body: MD5 of the body with the secret in place of `auth`", _check, reads_body=True)


class UnisenderGo(TableAdapter):
    """Reads UniSender Go's webhooks."""

    def read(self, item: Item, webhook: ParsedWebhook) -> Event:
        """Return one event; its time is UTC, whatever the client's zone is."""
        event = super().read(item, webhook)
        event.occurred_us = None if event.occurred_us is None else int(event.occurred_us)
        return event


ADAPTER = UnisenderGo(
    tool="unisender_go",
    signature_schemes=(UNISENDER,),
    shapes=(DetectionRule("events_by_user auth", 95), DetectionRule("events_by_user", 92)),
    plain_names="sent delivered opened clicked hard_bounced soft_bounced unsubscribed subscribed spam",
    names={"transactional_spam_block": m.OTHER},
    other_names=m.OTHER,
    lists="events_by_user events",
    name="event_data.status event_name",
    email="event_data.email",
    time="event_data.event_time",
    campaign="event_data.metadata.campaign_id",
    link="event_data.url",
    message="event_data.job_id",
    bounce="event_data.delivery_info.delivery_status",
    usual_messages=False,
)
