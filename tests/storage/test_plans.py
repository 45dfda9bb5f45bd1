"""No statement of the write path, and no filtered list, walks what a client has: SQLite finds its rows in an index."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.storage.statements import STATEMENTS

from touchbase.company_links.plans import clients_to_link
from touchbase.do_not_contact.models import INSTALLATION
from touchbase.do_not_contact.sql.lookup import list_clear_addresses, list_entries
from touchbase.encryption.cipher import NO_CIPHER
from touchbase.history.events import COMPANY, CONTACT
from touchbase.history.sql import get_history
from touchbase.idempotency.sql import expired_responses
from touchbase.inbox.sql.queries import (
    STUCK,
    busy_clients,
    count_inbox,
    delivery_events,
    group_deliveries,
    list_deliveries,
    old_dedupe_keys,
)
from touchbase.inbox.sql.search import step_through_deliveries
from touchbase.records.record_type import COMPANY_TYPE, CONTACT_TYPE
from touchbase.records.sql.reads import Listing, list_records
from touchbase.retention.sql import clients_above_limits, list_oldest
from touchbase.search.queries import RecordSearch
from touchbase.search.sorting import default_sort
from touchbase.search.sql.plans import find_position
from touchbase.sql.dialect import for_sqlite
from touchbase.sql.migrations import packaged
from touchbase.sql.operation import Query, plan_of_query
from touchbase.sql.statement import Select, Statement
from touchbase.storage.sqlite.connection import open_writer
from touchbase.storage.sqlite.schema import migrate

LISTS: list[Query[Any]] = [
    list_records(Listing(CONTACT_TYPE, 1, 50)),
    list_records(Listing(CONTACT_TYPE, 1, 50, after=(8, 9))),
    list_records(Listing(CONTACT_TYPE, 1, 50, email_key="a")),
    list_records(Listing(CONTACT_TYPE, 1, 50, linkedin_key="a")),
    list_records(Listing(CONTACT_TYPE, 1, 50, status="a")),
    list_records(Listing(CONTACT_TYPE, 1, 50, status="a", after=(8, 9))),
    list_records(Listing(CONTACT_TYPE, 1, 50, company_id=1)),
    list_records(Listing(CONTACT_TYPE, 1, 50, updated_since_us=5)),
    list_records(Listing(CONTACT_TYPE, 1, 50, updated_since_us=5, after=(6, 7))),
    list_records(Listing(CONTACT_TYPE, 1, 50, status="a", updated_since_us=5)),
    list_records(Listing(CONTACT_TYPE, 1, 50, status="a", updated_since_us=5, after=(6, 7))),
    list_records(Listing(COMPANY_TYPE, 1, 50, domain="a")),
    list_records(Listing(COMPANY_TYPE, 1, 50, status="a")),
    list_records(Listing(COMPANY_TYPE, 1, 50, updated_since_us=5)),
    list_records(Listing(COMPANY_TYPE, 1, 50, status="a", updated_since_us=5, after=(6, 7))),
    get_history(1, 1, 1),
    delivery_events(1, 1),
    *[list_deliveries(50, 1, state=state) for state in STUCK],
    *[group_deliveries(state, 50, 1) for state in STUCK],
    list_entries(1, 50, 9, after=(8, 9)),
    list_entries(1, 50, 9, kind="domain", active=True),
    list_entries(1, 50, 9, reason="legal", after=(8, 9)),
    list_entries(INSTALLATION, 50, 9, after=(8, 9)),
    list_clear_addresses(1, 50, ("email", "a")),
    expired_responses(1, 50),
    old_dedupe_keys(1, 50, (1, b"")),
]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> apsw.Cursor:
    path = str(Path(tmp_path_factory.mktemp("plans")) / "store.db")
    connection = open_writer(path, durable=False)
    migrate(connection.cursor(), packaged("sqlite"))
    connection.close()
    return open_writer(path, durable=False).cursor()  # a store is opened with the figures that it holds


def steps(store: apsw.Cursor, sql: str, parameters: int) -> list[str]:
    return [row[3] for row in store.execute(f"EXPLAIN QUERY PLAN {sql}", [None] * parameters).fetchall()]


def walks(plan: list[str]) -> list[str]:
    """Steps that read a whole table, or everything of one client."""
    table = r"SCAN (p|q|r|g|few|\d+ CONSTANT ROWS?|CONSTANT ROW|search_index VIRTUAL TABLE INDEX 0:=)$"  # the last one is a rowid
    full_plans = [step for step in plan if step.startswith("SCAN") and not re.match(table, step)]
    # Whether a client has erased anybody is one look into the index: EXISTS reads one row. Its storage is one row.
    one_row = ("erased_together", "SEARCH storage ")
    return full_plans + [step for step in plan if step.endswith("(client=?)") and not any(part in step for part in one_row)]


def texts(op: Statement) -> list[tuple[str, int]]:
    """What SQLite is asked for an op, and with how many parameters."""
    if op.sqlite:
        return [(op.sqlite, len(op.columns))]
    bodies = [body for body in (op.first_set, op.sqlite_set or op.body, op.inserted_ids) if body]
    requested = [(for_sqlite(op.columns, body, 2), 2 * len(op.columns)) for body in bodies]
    others = (("q", op.more_columns, op.more_set), ("r", op.last_columns, op.last_set))
    return [*requested, *((for_sqlite(columns, text, 2, table), 2 * len(columns)) for table, columns, text in others if text)]


# When a company goes in, SQLite would look for contacts that waited for it; it never does, as none may.
NEVER_RUN = {f"records.sql.statements.{name}" for name in ("CREATE_COMPANY", "INSERT_COMPANY", "UPDATE_COMPANY", "DELETE_COMPANY")}
# Whether a client has erased anybody, deleted a record, has former owners, files of events or listed addresses of a kind: the first entry
# answers it.
FIRST_IS_ENOUGH = {
    "deliveries.claiming.CLAIM",
    "clients.sql.clients.CLIENT_BY_CLIENT_ID",
    "erasure_marks.SECRET_IF_ERASED",
    "projection.deleted_records.ANY_FORMER",
    "event_log.sql.files.ERASE_IN_FILES",
    "do_not_contact.sql.statements.LISTED_KINDS",
}
# A rotation of the encryption key ends with it; there are a handful of keys.
# The second walks the thousand newest of one client, the third the first that wait for the full-text index.
# The third ends the files of all jobs of a client: a few hundred rows, at an erasure.
MAY_WALK = {
    "jobs.sql.EXPIRE_JOB_FILES",
    "encryption.encrypted_columns.FORGET_KEYS",
    "inbox.sql.refused.TRIM_REFUSALS",
    "inbox.sql.refused_bodies.TRIM_BODIES",  # the newest bodies of one client, a bounded number
    "search.sql.index.TAKE_PENDING",
    "event_log.sql.log.LOG_EVENTS",  # one counter for each client
    "event_log.sql.log.NEWEST_OF",
    "event_log.sql.changes.INSERT_CHANGE",  # one counter for each client
    "company_links.plans.STATE_OF",  # one row for each client
    "company_links.plans.DELETE_STATE",
    "clients.sql.clients.COUNT_AGAIN",
    "cells.sql.RAISE",  # one row for each kind of id
    "do_not_contact.sql.copies.EMPTY",  # all of it goes
    "encryption.encrypted_columns._replace_secret.object_key.secret",  # one row for each client
    "clients.sql.removal.OBJECTS_LEFT",  # whether the client has a row
    "conversations.answers.DELAY_ANSWERS",  # those that the people of one client wrote
    "merging.sql.restore._JOBS_SINCE",  # the jobs of one client, when somebody takes a record out of the bin
    "records.sql.distinct_pairs.COPY_PAIRS",  # the pairs of one record
    "company_links.plans.FORGET_PENDING",  # the first rows of a client that links no more
}


def test_statements__find_their_rows_by_index(subtests: pytest.Subtests, store: apsw.Cursor) -> None:
    for name in sorted(STATEMENTS.keys() - MAY_WALK):
        with subtests.test(name):
            results = [walk for sql, parameters in texts(STATEMENTS[name]) for walk in walks(steps(store, sql, parameters))]

            results = [walk for walk in results if not (name in FIRST_IS_ENOUGH and walk.startswith(("SEARCH e ", "SEARCH d ")))]
            assert [walk for walk in results if not (name in NEVER_RUN and walk.startswith("SEARCH contact USING PRIMARY KEY"))] == []


@pytest.mark.parametrize("query", LISTS)
def test_filtered_list__finds_its_page_by_index(store: apsw.Cursor, query: Query[Any]) -> None:
    requested = next(plan_of_query(query, NO_CIPHER))

    assert isinstance(requested, Select)
    plan = steps(store, requested.sql, len(requested.params))
    if query == list_records(Listing(CONTACT_TYPE, 1, 50)):
        plan = []  # all that the client has, in order of id: the primary key is the index
    assert walks(plan) == []


@pytest.mark.parametrize("after", [None, (6, 7)], ids=["first", "later"])
@pytest.mark.parametrize("kind", [CONTACT_TYPE, COMPANY_TYPE], ids=["contacts", "companies"])
def test_list_by_status_and_update_time__starts_at_its_page_in_the_index(store: apsw.Cursor, kind: Any, after: Any) -> None:
    requested = next(plan_of_query(list_records(Listing(kind, 1, 50, status="rare", updated_since_us=5, after=after)), NO_CIPHER))

    assert isinstance(requested, Select)
    (step,) = steps(store, requested.sql, len(requested.params))
    assert "_status_updated (client=? AND status=? AND " in step  # and nothing is sorted, and nothing of other statuses is met


@pytest.mark.parametrize(
    "search", [RecordSearch(CONTACT_TYPE, 1, default_sort(CONTACT), 5), RecordSearch(COMPANY_TYPE, 1, default_sort(COMPANY), 5)]
)
def test_skipped_records__are_read_in_the_index_only(store: apsw.Cursor, search: RecordSearch[Any]) -> None:
    for query in (find_position(1, search, 900), find_position(1, replace(search, after=(6, 7)), 900)):
        requested = next(plan_of_query(query, NO_CIPHER))

        assert isinstance(requested, Select)
        (step,) = steps(store, requested.sql, len(requested.params))
        assert "_created (client=?" in step
        assert "COVERING INDEX" in step


def test_clients_to_link__are_found_by_index(store: apsw.Cursor) -> None:
    requested = next(plan_of_query(clients_to_link(100), NO_CIPHER))

    assert isinstance(requested, Select)
    plan = steps(store, requested.sql, len(requested.params))
    assert any("client_linking (" in step for step in plan)
    assert walks([step for step in plan if "(client=?)" not in step]) == []  # one row each of the state and of the counter


def test_clients_with_old_data__are_found_by_index(store: apsw.Cursor) -> None:
    requested = [next(plan_of_query(query, NO_CIPHER)) for query in (list_oldest(0, 100), clients_above_limits(5, 5, 5))]
    plans = [steps(store, item.sql, len(item.params)) for item in requested if isinstance(item, Select)]
    searches = [[step for step in plan if "(client=?" in step] for plan in plans]

    assert [len(plan) for plan in searches] == [7, 6]
    assert [step for plan in plans for step in plan if step.startswith("SCAN") and step.split()[1] != "c"] == []
    assert [
        step for step in searches[0] if not re.search("_with_body|message_body|_newest|_merge_old|answer USING P|event USING P", step)
    ] == []
    assert not any("TEMP B-TREE" in step for step in plans[0])


def test_count_inbox__counts_by_index(store: apsw.Cursor) -> None:
    counting = plan_of_query(count_inbox(), NO_CIPHER)
    requested = [next(counting), *[counting.send([(0,)]) for _ in range(2 * len(STUCK) - 1)]]

    plans = [steps(store, item.sql, len(item.params)) for item in requested if isinstance(item, Select)]
    assert [plan for plan in plans if plan != ["SEARCH d USING COVERING INDEX delivery_oldest (state=?)"]] == []


@pytest.mark.parametrize(
    "name", ["records.sql.statements.CREATE_CONTACT", "records.sql.statements.CREATE_COMPANY", "deliveries.sql.statements.STORE_DELIVERY"]
)
def test_insert_statements__use_no_temporary_table(store: apsw.Cursor, name: str) -> None:
    """SQLite makes one for each index that holds a row only where a value is in a list of three or more, and fills it each time."""
    explained = [row for sql, many in texts(STATEMENTS[name]) for row in store.execute(f"EXPLAIN {sql}", [None] * many)]
    explaineds = [row for row in explained if row[1] == "OpenEphemeral"]

    assert explaineds == []


def test_busy_clients__reads_single_rows_of_an_index(store: apsw.Cursor) -> None:
    requested = next(plan_of_query(busy_clients(5), NO_CIPHER))

    assert isinstance(requested, Select)
    plan = steps(store, requested.sql, len(requested.params))
    touched = [step for step in plan if "delivery" in step]
    assert [step for step in touched if "USING COVERING INDEX delivery_waiting" not in step] == []
    # Leaps and looks, each for one row; a walk through all that one client has would be "(client=?)".
    assert [step for step in plan if step.startswith("SCAN") and step not in ("SCAN busy", "SCAN b")] == []
    assert [step for step in touched if step.endswith("(client=?)")] == []


SEARCHES = {
    "all": step_through_deliveries(1, 99, 50, event="email_replied"),
    "about_nobody": step_through_deliveries(1, 99, 50, not_of_contacts=[1, 2], bodies=True),
    "parked": step_through_deliveries(1, 99, 50, state="parked", tool="a"),
    "problems": step_through_deliveries(1, 99, 50, problems=True),
    "history": step_through_deliveries(1, 99, 50, of_contacts=[1, 2], event="email_replied"),
}


@pytest.mark.parametrize(
    ("name", "index"),
    [
        ("all", "SEARCH d USING PRIMARY KEY (client=? AND id<?)"),
        ("about_nobody", "SEARCH d USING PRIMARY KEY (client=? AND id<?)"),
        ("parked", "SEARCH d USING INDEX delivery_stuck (client=? AND state=? AND id<?)"),
        ("problems", "SEARCH d USING INDEX delivery_problems (client=? AND id<?)"),
        ("history", "SEARCH e USING PRIMARY KEY (client=? AND record_kind=? AND record_id=?)"),
    ],
)
def test_search_of_deliveries__reads_its_step_in_an_index(store: apsw.Cursor, name: str, index: str) -> None:
    requested = next(plan_of_query(SEARCHES[name], NO_CIPHER))

    assert isinstance(requested, Select)
    plan = steps(store, requested.sql, len(requested.params))
    assert index in plan
    # The step is a list of at most `limit` rows, or a person's deliveries; each row's events are found by the delivery.
    assert [walk for walk in walks(plan) if walk not in ("SCAN w", "SCAN t")] == []
    assert [step for step in plan if "SEARCH e " in step and "delivery_id=?" not in step and step != index] == []
