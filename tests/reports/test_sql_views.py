"""The SQL views: their columns are those of their page, on both engines, and their rows those of the API."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import apsw
import asyncpg
import pytest
from tests.conftest import Databases, ExecuteSql
from tests.house import House
from tests.reports.test_campaigns import mail

from touchbase.common.timestamps import from_text

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "sql-views.md"


def documented() -> dict[str, list[str]]:
    """The columns of each view, as its page lists them."""
    sections = re.split(r"^## (touchbase_\w+)$", PAGE.read_text(), flags=re.MULTILINE)[1:]
    lists = [re.search(r"^Columns: (.+)$", text, re.MULTILINE) for text in sections[1::2]]
    return {name: re.findall(r"`(\w+)`", result[1]) for name, result in zip(sections[::2], lists, strict=True) if result}


async def columns(execute_sql: ExecuteSql, engine_url: str, view: str) -> list[str]:
    """The columns that the engine has."""
    if engine_url.startswith("sqlite"):
        return [row[0] for row in await execute_sql(f"SELECT name FROM pragma_table_info('{view}')")]
    result = "SELECT column_name FROM information_schema.columns WHERE table_name = ? ORDER BY ordinal_position"
    return [row[0] for row in await execute_sql(result, view)]


async def views_of(execute_sql: ExecuteSql, engine_url: str) -> list[str]:
    """All views of the store."""
    sqlite, postgres = "SELECT name FROM sqlite_schema WHERE type = 'view'", "SELECT viewname FROM pg_views WHERE schemaname = 'public'"
    return sorted(row[0] for row in await execute_sql(sqlite if engine_url.startswith("sqlite") else postgres))


async def test_page__lists_every_view_with_its_columns(execute_sql: ExecuteSql, engine_url: str) -> None:
    assert await views_of(execute_sql, engine_url) == sorted(documented())
    for view, listed in documented().items():
        assert await columns(execute_sql, engine_url, view) == listed


async def rows_of(execute_sql: ExecuteSql, view: str) -> list[dict[str, Any]]:
    return [dict(zip(documented()[view], row, strict=True)) for row in await execute_sql(f"SELECT * FROM {view}")]


async def test_views__have_the_values_of_the_api(house: House, execute_sql: ExecuteSql) -> None:
    company = await house.company("example.com", company_status="target")
    ann = await house.contact(
        email="ann@example.com", company_id=company, contact_custom_fields_input=[{"field_name": "Seats", "field_value": "7"}]
    )
    house.call.clock.now += 1  # a time with a fraction
    await house.hook("camp", mail("ann", -60), mail("ann", -30, event="email_replied"))
    shown = await house.get(ann)

    (contact,) = await rows_of(execute_sql, "touchbase_contacts")
    (custom,) = await rows_of(execute_sql, "touchbase_custom_values")

    for name in ("id", "email", "linkedin_url", "first_name", "last_name", "company_id", "origin", "contact_status", "previous_status"):
        assert contact[name] == (shown.get(name) or None), name
    for name in ("updated_time", "status_changed_at", "first_campaign_email_sent", "last_campaign_email_sent", "last_reply_received"):
        assert from_text(contact[name]) == from_text(shown[name]), name
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", contact[name])
    assert contact["client_id"] == "default"
    assert (custom["record"], custom["record_id"], custom["field_name"], custom["field_value"]) == ("contact", ann, "Seats", "7")
    assert [row["company_status"] for row in await rows_of(execute_sql, "touchbase_companies")] == ["target"]
    events = {(row["event"], row["effect"], row["campaign"], row["campaign_id"]) for row in await rows_of(execute_sql, "touchbase_events")}
    assert ("email_replied", "reply", "Autumn", "id-Autumn") in events
    assert [row["state"] for row in await rows_of(execute_sql, "touchbase_deliveries")] == ["applied"]


async def test_views__leave_out_deleted_records_and_their_events(house: House, execute_sql: ExecuteSql) -> None:
    ann = await house.contact(email="ann@example.com")

    await house.delete(ann)

    assert await rows_of(execute_sql, "touchbase_contacts") == []
    assert await rows_of(execute_sql, "touchbase_events") == []


async def test_suppressions_view__has_the_lists_of_client_and_installation(house: House, execute_sql: ExecuteSql) -> None:
    await house.request("POST", "/public/v2/suppressions", {"kind": "email", "value": "ann@example.com", "reason": "manual"})
    await house.hook("camp", mail("bob", -60, event="email_unsubscribed"))

    rows = await rows_of(execute_sql, "touchbase_suppressions")

    assert ("default", "bob@example.com") in {(row["client_id"], row["value"]) for row in rows}


async def test_views__refuse_writes(house: House, execute_sql: ExecuteSql) -> None:
    await house.contact(email="ann@example.com")

    with pytest.raises((apsw.SQLError, asyncpg.PostgresError)):
        await execute_sql("UPDATE touchbase_contacts SET email = 'eve@example.com'")
    with pytest.raises((apsw.SQLError, asyncpg.PostgresError)):
        await execute_sql("DELETE FROM touchbase_deliveries")


@pytest.mark.parametrize("engine_url", ["postgresql"], indirect=True)
async def test_reader__sees_the_views_and_no_table(house: House, engine_url: str, databases: Databases) -> None:
    if databases.ordinary_by_itself:
        pytest.skip("the given server lets us make no roles")
    await house.contact(email="ann@example.com")
    second = await House.of(house.call, "other")
    await second.contact(email="bob@example.com")
    owner = await asyncpg.connect(databases.as_superuser(engine_url))
    role = "touchbase_test_reader"
    try:
        await owner.execute(
            f"DROP ROLE IF EXISTS {role}; CREATE ROLE {role} LOGIN PASSWORD 'reads'; GRANT SELECT ON touchbase_contacts TO {role}; "
            f"SET ROLE {role}; SET touchbase.clients = 'all'"
        )
        everyone = await owner.fetch("SELECT email FROM touchbase_contacts ORDER BY email")
        await owner.execute("SET touchbase.clients = ''")
        none = await owner.fetch("SELECT email FROM touchbase_contacts")
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await owner.fetch("SELECT email FROM contact")

        assert [row["email"] for row in everyone] == ["ann@example.com", "bob@example.com"]
        assert none == []
    finally:
        await owner.execute(f"RESET ROLE; DROP OWNED BY {role}; DROP ROLE {role}")
        await owner.close()


@pytest.mark.parametrize("engine_url", ["postgresql"], indirect=True)
async def test_reader_of_one_client__sees_its_rows_whatever_it_sets(house: House, engine_url: str, databases: Databases) -> None:
    if databases.ordinary_by_itself:
        pytest.skip("the given server lets us make no roles")
    await house.contact(email="ann@example.com")
    second = await House.of(house.call, "other")
    await second.contact(email="bob@example.com")
    server, owner = await asyncpg.connect(engine_url), await asyncpg.connect(databases.as_superuser(engine_url))
    role = "touchbase_test_acme"
    try:
        await server.execute(
            "CREATE SCHEMA acme; CREATE VIEW acme.contacts WITH (security_barrier) AS "
            "SELECT * FROM touchbase_contacts WHERE client_id = 'other'"
        )
        await owner.execute(
            f"DROP ROLE IF EXISTS {role}; CREATE ROLE {role} LOGIN PASSWORD 'reads'; GRANT USAGE ON SCHEMA acme TO {role}; "
            f"GRANT SELECT ON ALL TABLES IN SCHEMA acme TO {role}; SET ROLE {role}; SET touchbase.clients = 'all'"
        )
        rows = await owner.fetch("SELECT email FROM acme.contacts")
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await owner.fetch("SELECT email FROM touchbase_contacts")

        assert [row["email"] for row in rows] == ["bob@example.com"]
    finally:
        await owner.execute(f"RESET ROLE; DROP OWNED BY {role}; DROP ROLE {role}; DROP SCHEMA acme CASCADE")
        await owner.close()
        await server.close()
