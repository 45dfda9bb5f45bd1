"""Rows that a former server stored, or somebody changed by hand: a list shows what can be read of them."""

from __future__ import annotations

from typing import Any

import pytest
from tests.asgi_client import ApiClient
from tests.auth.test_people import office, quick_passwords
from tests.conftest import ExecuteSql
from tests.imports.jobs import upload
from tests.notifying.test_notifications import Team, team

__all__ = ["office", "quick_passwords", "team"]
FAR = 2**62
USER_ROWS: tuple[dict[str, Any], ...] = (
    {"notifications": "[]"},
    {"notifications": "{"},
    {"notifications": "[" * 20_000},
    {"notifications": '{"reply": "browser", "quiet_from": 7, "critical": [{}], "assignment": ["pager"], "unknown": ["browser"]}'},
    {"role": "owner", "state": "away", "time_zone": "Nowhere/Land"},
    {"created_us": FAR, "last_seen_us": -FAR},
)
JOB_ROWS: tuple[dict[str, Any], ...] = (
    {"settings": "[]", "progress": "null", "position": "{"},
    {"settings": '{"media_type": 7}', "progress": '{"preview": 7, "rows": {}}', "state": "lost", "kind": ""},
    {"created_us": FAR, "updated_us": -FAR, "finished_us": FAR, "files_until_us": FAR, "made_by": "x"},
)


async def change(execute_sql: ExecuteSql, table: str, row: dict[str, Any], id: object) -> None:
    await execute_sql(f"UPDATE {table} SET {', '.join(f'{name} = ?' for name in row)} WHERE id = ?", *row.values(), id)


@pytest.mark.parametrize("row", USER_ROWS, ids=str)
async def test_person_with_an_odd_row__is_listed_and_stops_nothing(team: Team, execute_sql: ExecuteSql, row: dict[str, Any]) -> None:
    office = team.office
    mira = await office.join("mira@example.com", role="operator")
    await execute_sql("INSERT INTO user_grant (user_id, granted_client, role) VALUES (?, 1, 'owner')", mira.user["id"])
    await change(execute_sql, "user_account", row, mira.user["id"])
    office.call.clock.move(60)

    for path in ("/team/v1/users", f"/team/v1/users/{mira.user['id']}", "/team/v1/invitations"):
        reply = await office("GET", path)
        assert reply.status == 200, reply.body
    for path in ("/team/v1/me", "/console/session", "/team/v1/conversations", "/team/v1/notifications"):
        assert (await mira("GET", path)).status < 500
    await team.worker.drain()
    mended = await office("PATCH", f"/team/v1/users/{mira.user['id']}", {"role": "viewer", "notifications": {"reply": ["browser"]}})
    assert mended.status == 200


@pytest.mark.parametrize("row", JOB_ROWS, ids=str)
async def test_odd_job__is_listed(call: ApiClient, execute_sql: ExecuteSql, row: dict[str, Any]) -> None:
    job = await upload(call, b"E-mail\njane@example.com\n")
    await change(execute_sql, "job", row, job["id"])

    listed = await call.get("/public/v2/jobs")
    assert (listed.status, [shown["id"] for shown in listed.json()["data"]]) == (200, [job["id"]])
    for method, end in (("GET", ""), ("GET", "/result"), ("GET", "/report"), ("POST", "/cancel")):
        assert (await call(method, f"/public/v2/jobs/{job['id']}{end}")).status < 500
    assert (await call.get("/team/v1/attention")).status == 200
