"""Comparing responses with the model, and the store that a search of programs uses."""

from __future__ import annotations

import asyncio
import re
from datetime import datetime

from hypothesis import currently_in_test_context, note
from tests.asgi_client import ApiClient, Clock
from tests.conftest import ENCRYPTION_KEYS
from tests.house import House
from tests.records.model import CUSTOM, NOON, Record, Refused, text
from tests.records.model_fold import Values
from tests.records.model_more import WholeModel

from touchbase.stores import open_store
from touchbase.web import Dependencies


class World:
    """A store of one engine; each program gets two new clients in it."""

    def __init__(self, url: str) -> None:
        self.runner = asyncio.Runner()
        self.store = self.runner.run(open_store(url, encryption_keys=ENCRYPTION_KEYS))
        self.created = 0

    def two(self) -> list[House]:
        """Two new clients of one application."""
        self.created += 1
        clock = Clock()
        call = ApiClient(Dependencies(store=self.store, clock=clock, version="1"), clock)
        return [self.runner.run(House.of(call, f"program-{self.created}-{n}")) for n in range(2)]

    def close(self) -> None:
        self.runner.run(self.store.close())
        self.runner.close()


def say(text: str) -> None:
    """Print a line about the program that fails, if hypothesis has found it."""
    if currently_in_test_context():
        note(text)


def flat(body: Values) -> Values:
    """A record with its custom fields as `cf.NAME`."""
    named = {name: value for name, value in body.items() if name not in CUSTOM.values()}
    return named | {f"cf.{name}": value for inner in CUSTOM.values() for name, value in body.get(inner, {}).items()}


def same(model: WholeModel, record: Record, body: Values, *, loose: bool = False) -> None:
    """Compare a record of a response with the model."""
    result = plain(body)
    updated, result["status_changed_at"] = to_second(result.pop("updated_time")), to_second(result["status_changed_at"])
    expected = plain(model.shown(record))
    if loose:
        for item in (result, expected):
            item.pop("status_changed_at")
    assert result == expected, different(result, expected)
    if record.updated is None:
        record.updated = int((datetime.fromisoformat(updated or "") - NOON).total_seconds())
    assert loose or updated == text(record.updated), f"updated {updated}, not {text(record.updated)}"


def plain(body: Values) -> Values:
    """Return a body with all addresses in lower case: which spelling of a further one is shown, the documentation does not say."""
    return body | ({"emails": [email.lower() for email in body["emails"]]} if body.get("emails") else {})


def to_second(time: str | None) -> str | None:
    """A time without the microseconds by which the writes of one batch to a record are apart."""
    return time and re.sub(r"\.\d+", "", time)


def different(values: Values, expected: Values) -> Values:
    """The members that differ: what the service says, and the model."""
    return {name: (values.get(name), expected.get(name)) for name in values | expected if values.get(name) != expected.get(name)}


def refused(status: int, problem: Values, answers: list[Refused]) -> None:
    """Check that a refusal is one of those that are right; a record made in the same batch has no id yet in the model."""
    result = (status, problem.get("code"), problem.get("existing_id"))
    assert any(
        result[:2] == (answer.status, answer.code) and (answer.existing in (None, result[2]) or (answer.existing or 0) < 0)
        for answer in answers
    ), (status, problem, answers)
