"""What was there at the first look and is gone at the second: plans run by hand, their steps answered one by one."""

from __future__ import annotations

from typing import Any

import pytest

from touchbase.clients.sql import removal as clients_sql_removal
from touchbase.clients.sql.clients import ensure_client
from touchbase.clients.sql.removal import CLIENT_TABLES
from touchbase.errors import Overloaded
from touchbase.inbox.sql.commands import store_deliveries, store_delivery
from touchbase.records.models import Company, Contact
from touchbase.records.sql.create import create_companies, create_contacts
from touchbase.records.writes import Creation
from touchbase.sql.ids import Ids
from touchbase.sql.statement import Execute, Select, SerializationConflict

KEEP = store_delivery(1, "crm", b"k" * 16, b"{}", "", b"x", 5)
CONTACT = Creation(Contact(1, 0, 5, 5, email="ann@example.com", email_key="ann@example.com"))
COMPANY = Creation(Company(1, 0, 5, 5, "example.com"))


def ids() -> Ids:
    sample_ids = Ids()
    for name in ("contact", "company", "delivery", "client"):
        sample_ids.fill(name, 1, 10)
    return sample_ids


def finished(plan: Any, *answers: list[Any]) -> Any:
    """What a plan answers when its steps get these rows, and none after them."""
    left = iter(answers)
    try:
        next(plan)
        while True:
            plan.send(next(left, []))
    except StopIteration as stop:
        return stop.value


@pytest.mark.parametrize(
    "plan", [(store_deliveries, KEEP), (create_contacts, CONTACT), (create_companies, COMPANY)], ids=lambda plan: plan[0].__name__
)
def test_creation__asks_for_a_retry_when_its_duplicate_was_just_removed(plan: Any) -> None:
    run, command = plan

    [answer] = finished(run([command], ids()))

    assert isinstance(answer, Overloaded)


def test_ensure_client__is_retried_when_the_client_disappears_during_the_command() -> None:
    with pytest.raises(SerializationConflict):
        finished(ensure_client.operation.plan_of(ensure_client("acme", 5), ids(), None))


def test_ensure_client__of_many_at_once_takes_as_many_statements_as_of_one() -> None:
    calls = [ensure_client(client_id, 5, first_use=True) for client_id in ("b", "a", "b", "c")]
    plan = ensure_client.operation.run(calls, ids(), None)

    any_made, inserted, searched = next(plan), plan.send([]), plan.send([])

    assert isinstance(any_made, Select)
    assert isinstance(inserted, Execute)
    assert isinstance(searched, Execute)
    assert [row[1] for row in inserted.rows] == ["a", "b", "c"]  # one order in all processes, so that no two wait for each other
    assert sorted(searched.rows) == [("a",), ("b",), ("c",)]


def test_remove_client_rows__removes_the_body_of_a_delivery_that_arrived_late(monkeypatch: pytest.MonkeyPatch) -> None:
    [delivery] = [table for table in CLIENT_TABLES if table.children]
    monkeypatch.setattr(clients_sql_removal, "CLIENT_TABLES", (delivery,))
    plan = clients_sql_removal._remove_batch(1, None, 500, None)

    looked = next(plan)
    deleted = plan.send([(3, 10), (9, 10)])
    beside = plan.send([(9,), (3,), (4,)])

    assert isinstance(looked, Select)
    assert isinstance(deleted, Select)
    assert "RETURNING id" in deleted.sql
    assert isinstance(beside, Execute)
    assert beside.rows == [(1, 3), (1, 4), (1, 9)]
