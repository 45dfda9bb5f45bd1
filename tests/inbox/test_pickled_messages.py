"""What one process hands to another arrives as it was, and without the names of its fields."""

from __future__ import annotations

import pickle

import pytest

from touchbase.deliveries.delivery import Delivery
from touchbase.deliveries.work import ReadResult
from touchbase.history.events import CONTACT, EMAIL_CAMPAIGN, Event, PropertyChange
from touchbase.identity.event_subject import EventSubject
from touchbase.projection.normalization import NormalizedDelivery

NOON = 1_790_000_000_000_000
DELIVERY = Delivery(
    1, "acme", 7, EMAIL_CAMPAIGN, "received", NOON, headers={"a": "b"}, body=b"{}", guarded=True, addresses={("", "email", "a@b.co")}
)
EVENT = Event("email_sent", NOON, "a@b.co", step="2", changed=[PropertyChange("stage", "won")], fields={"name": None}, thin=True)
SIGHTING = EventSubject(EVENT, CONTACT, "test", "a@b.co", None, ("test", "person", "5"), NOON, "key", NOON, None, {}, own_id=True)
SIGHTED = NormalizedDelivery(DELIVERY, "test", subjects=[SIGHTING], own_ids={"key": (CONTACT, "a@b.co")}, may_ask=True)


@pytest.mark.parametrize("value", [DELIVERY, EVENT, SIGHTING, SIGHTED, ReadResult(SIGHTED, why="it broke", for_good=True)])
def test_pickle__preserves_a_value_without_its_field_names(value: object) -> None:
    packed = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)

    assert pickle.loads(packed) == value
    assert not [name for name in ("duplicate_of", "object_id", "own_id", "may_ask", "for_good") if name.encode() in packed]


def test_pickle__preserves_fields_that_comparison_ignores() -> None:
    document = pickle.loads(pickle.dumps(DELIVERY, pickle.HIGHEST_PROTOCOL))

    assert (document.guarded, document.addresses) == (True, {("", "email", "a@b.co")})
