"""Views: who saves, sees, changes and removes them, what they may have, and with which one a person's list begins."""

from __future__ import annotations

import json
from typing import Any

from tests.auth.test_people import Browser, Office, PersonalKey, grants, office, quick_passwords

from touchbase.views.plans import MOST_CONTENT, MOST_VIEWS

__all__ = ["office", "quick_passwords"]
OURS, ALL = "/team/v1/views/ours", "/team/v1/views/all"
VIEW: dict[str, Any] = {"name": "Hot leads", "kind": "contact", "where": {"all": [{"contact_status[in]": ["replied"]}]}}
COLUMNS = [{"field": "name", "width": 320, "pinned": True}, {"field": "email", "width": None, "pinned": False}]

Caller = Browser | PersonalKey | Office


async def save(by: Caller, path: str = OURS, **members: Any) -> Any:
    reply = await by("POST", path, VIEW | members)
    assert reply.status == 201, reply.body
    return reply.json()


async def named(by: Caller, path: str = OURS) -> list[str]:
    return [view["name"] for view in (await by("GET", path)).json()["data"]]


async def test_shared_view__is_seen_by_colleagues_with_its_columns(office: Office) -> None:
    mira, ben = [await office.join(f"{name}@example.com", role="operator") for name in ("mira", "ben")]
    saved = await save(mira, visibility="shared", columns=COLUMNS, sort="-last_reply_received", q="bank", layout="board")
    await save(mira, name="Mine")

    (seen,) = (await ben("GET", OURS)).json()["data"]

    assert seen == saved | {"is_default": False}
    assert (seen["columns"], seen["sort"], seen["q"], seen["layout"]) == (COLUMNS, "-last_reply_received", "bank", "board")
    assert (seen["author"]["id"], seen["client_id"], seen["where"]) == (mira.user["id"], "ours", VIEW["where"])
    assert (await named(mira), await named(await PersonalKey.of(mira))) == (["Hot leads", "Mine"], ["Hot leads", "Mine"])
    assert (await named(ben, "/team/v1/views/theirs"), await named(ben, ALL)) == ([], [])


async def test_view__is_changed_and_removed_by_its_author_or_an_administrator(office: Office) -> None:
    mira, ben = [await office.join(f"{name}@example.com", role="operator") for name in ("mira", "ben")]
    shared, private = await save(mira, visibility="shared"), await save(mira, name="Mine")
    path = f"{OURS}/{shared['id']}"

    refused = [(await ben(method, path, body)).status for method, body in (("PATCH", {"name": "x"}), ("DELETE", None))]
    mine = f"{OURS}/{private['id']}"
    hidden = [(await ben("PATCH", mine, {"name": "x"})).status, (await office("DELETE", mine)).status]
    changed = await office("PATCH", path, {"name": "Warm leads", "columns": COLUMNS}, if_match=f'"{shared["version"]}"')
    late = await mira("PATCH", path, {"name": "Cold"}, if_match=f'"{shared["version"]}"')
    late_removal = await mira("DELETE", path, if_match=f'"{shared["version"]}"')

    assert (refused, hidden, changed.status) == ([403, 403], [404, 404], 200)
    assert changed.json() == shared | {"name": "Warm leads", "columns": COLUMNS, "version": "2"}
    assert (late.status, late.problem["present"]["name"], late_removal.status) == (412, "Warm leads", 412)
    assert (await mira("DELETE", path, if_match='"2"')).status == 204
    assert await named(mira) == ["Mine"]


async def test_view_of_all_clients__is_in_every_clients_list(office: Office) -> None:
    mira = await office.join("mira@example.com", role="operator")
    eve = await office.join("eve@example.com", grants=grants(ours="admin", theirs="operator"))
    await save(mira, ALL, name="Everywhere", visibility="shared")
    await save(eve, ALL, name="Mine everywhere")
    shared = await eve("POST", ALL, VIEW | {"visibility": "shared"})

    assert (shared.status, shared.problem["detail"][:25]) == (403, "a view of all clients is ")
    assert (await named(eve), await named(eve, "/team/v1/views/theirs")) == (["Everywhere", "Mine everywhere"],) * 2
    assert (await named(mira, "/team/v1/views/yours"), (await eve("GET", "/team/v1/views/yours")).status) == (["Everywhere"], 404)
    everywhere = (await eve("GET", ALL)).json()["data"][0]
    assert (everywhere["client_id"], (await eve("DELETE", f"{ALL}/{everywhere['id']}")).status) == (None, 403)


async def test_key_of_a_client__sees_no_view_of_all_clients(office: Office) -> None:
    mira = await office.join("mira@example.com", role="operator")
    await save(mira, ALL, name="Churn risk: theirs", visibility="shared")
    await save(mira, name="Hot leads", visibility="shared")
    body = {"name": "ours", "client_id": "ours", "scopes": ["records:read"]}
    key = (await office("POST", "/admin/v1/keys", body)).json()["key"]

    async def get(path: str) -> Any:
        return await office.call("GET", path, authorization=f"Bearer {key}")

    assert [view["name"] for view in (await get(OURS)).json()["data"]] == ["Hot leads"]
    refused = await get(ALL)
    assert (refused.status, refused.problem["detail"]) == (
        403,
        "views of all clients are the team's: name the key's client in place of `all`",
    )


async def test_default_view__is_each_persons_and_goes_with_the_view(office: Office) -> None:
    mira, ben = [await office.join(f"{name}@example.com", role=role) for name, role in (("mira", "operator"), ("ben", "viewer"))]
    first, second = [await save(mira, name=name, visibility="shared") for name in ("First", "Second")]
    companies = await save(mira, kind="company", where={}, visibility="shared")

    async def defaults(by: Browser) -> list[str]:
        return [view["name"] for view in (await by("GET", OURS)).json()["data"] if view["is_default"]]

    for by, view in ((ben, first), (mira, first), (ben, second), (ben, companies)):
        assert (await by("PUT", f"{OURS}/{view['id']}/default")).status == 204

    assert (await defaults(mira), await defaults(ben)) == (["First"], ["Second", "Hot leads"])
    assert (await ben("DELETE", f"{OURS}/{companies['id']}/default")).status == 204
    assert (await mira("DELETE", f"{OURS}/{first['id']}")).status == 204
    assert (await defaults(mira), await defaults(ben)) == ([], ["Second"])
    assert (await ben("POST", OURS, VIEW)).status == 403


async def test_view__names_what_it_cannot_have(office: Office) -> None:
    mira = await office.join("mira@example.com", role="operator")
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"name": "\u200b"}, "/name"),
        ({"kind": "deal"}, "/kind"),
        ({"where": {"contact_statu": "new"}}, "/where/contact_statu"),
        ({"sort": "shoe_size"}, "/sort"),
        ({"columns": [{"field": "email"}, {"field": "email"}]}, "/columns/1/field"),
        ({"columns": [{"field": "email", "width": 2}]}, "/columns/0/width"),
        ({"layout": "map"}, "/layout"),
        ({"where": {"all": [{"first_name[in]": ["x" * 999] * 70}]}}, "/where"),
    ]
    for members, pointer in wrong:
        reply = await mira("POST", OURS, VIEW | members)
        assert (reply.status, reply.problem["errors"][0]["pointer"]) == (422, pointer), reply.body
    view = await save(mira)
    reply = await mira("PATCH", f"{OURS}/{view['id']}", {"where": {"nothing": 1}})
    assert (reply.status, reply.problem["errors"][0]["pointer"]) == (422, "/where/nothing")
    assert [(await mira("PATCH", f"{OURS}/{wrong_id}", {"name": "x"})).status for wrong_id in ("0", "x", "999")] == [404] * 3


async def test_views__that_a_person_sees_are_limited_together(office: Office) -> None:
    """One answer lists them all: those of the person, and what colleagues share."""
    mira, ben, eve = [await office.join(f"{name}@example.com", role="operator") for name in ("mira", "ben", "eve")]
    large = {"where": {"any": [{"first_name[in]": [f"{name}{'x' * 950}" for name in range(60)]}]}}
    text = len(json.dumps(large["where"], separators=(",", ":")))
    fitting = MOST_CONTENT // (text + 200)
    for number in range(fitting):
        await save(mira, name=f"Large {number}", visibility="shared", **large)

    refused = [await by("POST", OURS, VIEW | large | {"visibility": shown}) for by, shown in ((mira, "shared"), (ben, "private"))]
    small = await save(ben)
    grown = await ben("PATCH", f"{OURS}/{small['id']}", large)
    mine = await eve("GET", OURS)

    assert [reply.status for reply in (*refused, grown)] == [409] * 3
    assert all("1,000,000 characters" in reply.problem["detail"] for reply in (*refused, grown))
    assert len(mine.json()["data"]) == fitting
    assert len(mine.body) < 2 * MOST_CONTENT
    await save(ben, ALL, **large)
    assert (await ben("PATCH", f"{OURS}/{small['id']}", {"name": "Small"})).status == 200


async def test_views__are_limited_for_each_person(office: Office) -> None:
    mira, ben = [await office.join(f"{name}@example.com", role="operator") for name in ("mira", "ben")]
    for number in range(MOST_VIEWS):
        await save(mira, name=f"View {number}")

    refused = await mira("POST", OURS, VIEW)

    assert (refused.status, str(MOST_VIEWS) in refused.problem["detail"]) == (409, True)
    await save(ben)
    await save(mira, ALL)
