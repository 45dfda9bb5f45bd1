"""Proofs that stand in the body: a secret that the tool sends along. Only these are judged after parsing."""

from __future__ import annotations

from touchbase.adapters.kit.parse import parse, unwrap
from touchbase.adapters.kit.proof import Scheme, one_of, same
from touchbase.adapters.kit.reading import objects, text
from touchbase.domain.connection import Arrival
from touchbase.domain.delivery import WebhookRequest
from touchbase.domain.times import Micros


def field_of(name: str) -> Scheme:
    """The body's field of this name holds the secret."""

    def check(arrival: Arrival, secret: str, now: Micros) -> bool:
        given = fields(arrival).get(name)
        return same(given if isinstance(given, str) else text(given), secret)

    return Scheme(f"field `{name}` of the body: the secret itself", check)


def _any_field(arrival: Arrival, secret: str, now: Micros) -> bool:
    return one_of([given for given in fields(arrival).values() if isinstance(given, str)], secret)


ANY_FIELD = Scheme("any field at the top of the body: the secret itself", _any_field)


def fields(arrival: Arrival) -> dict[str, object]:
    """The fields at the top of a body, of a list's first object."""
    data = unwrap(parse(WebhookRequest(arrival.channel, arrival.headers, arrival.query, arrival.body))).data
    return next(iter(objects(data)), {})
