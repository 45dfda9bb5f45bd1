"""Encharge: the webhook step of a flow, with the people in a list."""

from __future__ import annotations

from touchbase.adapters.kit import event_types as m
from touchbase.adapters.kit.declarative import DetectionRule, TableAdapter
from touchbase.history.events import CRM, EMAIL_CAMPAIGN

ADAPTER = TableAdapter(
    tool="encharge",
    channels=(EMAIL_CAMPAIGN, CRM),
    shapes=(DetectionRule("eventType endUserData", 95),),
    names={"newuser": m.SAVED, "updateduser": m.SAVED, "unsubscribeduser": m.UNSUBSCRIBED},
    lists="endUserData",
    name="eventType",
    email="email",
    time="updatedAt createdAt",
    first_name="firstName",
    last_name="lastName",
    full_name="name",
    usual_messages=False,
)
