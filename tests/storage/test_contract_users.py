"""What every engine promises about people: invitations, rights, links that work once, sessions, and the last administrator."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from touchbase.auth import users
from touchbase.auth.sessions import IDLE, LONGEST, end_sessions, find_session, list_sessions, new_session, store_session, store_session_uses
from touchbase.auth.users import (
    ACTIVE,
    INVITATION,
    INVITED,
    RESET,
    SIGN_IN,
    SUSPENDED,
    OneTimeLink,
    User,
    UserChange,
    any_user,
    change_user,
    find_password,
    find_user,
    has_link,
    invite_user,
    link_digest,
    list_invitations,
    list_users,
    new_link,
    new_user_id,
    revoke_invitation,
    store_link,
    use_link,
)
from touchbase.clients.models import Removal
from touchbase.clients.sql.clients import begin_deletion, ensure_client
from touchbase.clients.sql.removal import remove_client_rows
from touchbase.common.timestamps import DAY, SECOND
from touchbase.errors import NotFound, PreconditionFailed, WrongState
from touchbase.sql.store import Store

NOW = 1_000 * DAY


async def invited(store: Store, email: str = "mira@example.com", role: str | None = "admin", **more: Any) -> tuple[User, str, OneTimeLink]:
    user = User(new_user_id(), email, "Mira", role, INVITED, NOW, **more)
    secret, link = new_link(user.id, INVITATION, NOW)
    await store.write(invite_user(user, link))
    return user, secret, link


async def joined(store: Store, email: str = "mira@example.com", role: str | None = "admin", **more: Any) -> User:
    _, secret, _ = await invited(store, email, role, **more)
    return await store.write(use_link(link_digest(secret), (INVITATION,), NOW, "stored", ""))


async def test_invited_user__joins_by_the_link_once(store: Store) -> None:
    user, secret, link = await invited(store, grants={7: "viewer", 3: "operator"})
    assert await store.read(find_user(user.id)) == user
    assert await store.read(list_invitations()) == [(link, user)]
    assert await store.read(any_user()) is False

    member = await store.write(use_link(link_digest(secret), (INVITATION,), NOW + 1, "stored", "Mira Sandoval"))

    assert member == replace(user, name="Mira Sandoval", state=ACTIVE, version=2, has_password=True)
    assert await store.read(find_password("mira@example.com")) == (member, "stored")
    assert (await store.read(list_invitations()), await store.read(any_user())) == ([], True)
    with pytest.raises(NotFound):
        await store.write(use_link(link_digest(secret), (INVITATION,), NOW + 1, "other", ""))


async def test_link__is_refused_after_its_time_and_for_another_purpose(store: Store) -> None:
    _, secret, link = await invited(store)

    for kinds, at in (((SIGN_IN,), NOW), ((INVITATION,), link.expires_us)):
        with pytest.raises(NotFound):
            await store.write(use_link(link_digest(secret), kinds, at, None, ""))

    assert (await store.write(use_link(link_digest(secret), (INVITATION,), link.expires_us - 1, "stored"))).state == ACTIVE


async def test_new_link__replaces_the_one_before(store: Store) -> None:
    user = await joined(store)
    (old, first), (new, second) = new_link(user.id, RESET, NOW), new_link(user.id, RESET, NOW)
    await store.write(store_link(first))
    await store.write(store_link(second))

    with pytest.raises(NotFound):
        await store.write(use_link(link_digest(old), (RESET,), NOW, "stored"))
    await store.write(use_link(link_digest(new), (RESET,), NOW, "another"))

    password = await store.read(find_password(user.email))
    assert password is not None
    assert password[1] == "another"


async def test_invite__refuses_a_second_user_with_the_same_address(store: Store) -> None:
    await invited(store)

    with pytest.raises(WrongState, match=r"there is a user mira@example\.com already"):
        await invited(store)


async def test_revoked_invitation__leaves_nothing(store: Store) -> None:
    user, secret, link = await invited(store, grants={7: "viewer"})

    await store.write(revoke_invitation(link.id))

    assert await store.read(find_user(user.id)) is None
    for operation in (revoke_invitation(link.id), use_link(link_digest(secret), (INVITATION,), NOW, "stored")):
        with pytest.raises(NotFound):
            await store.write(operation)
    assert (await invited(store))[0].email == user.email


async def test_revoke_invitation__spares_somebody_who_joined_meanwhile(store: Store) -> None:
    _, secret, link = await invited(store)
    await store.write(use_link(link_digest(secret), (INVITATION,), NOW, "stored"))

    with pytest.raises(NotFound):
        await store.write(revoke_invitation(link.id))

    assert [user.state for user in await store.read(list_users(10))] == [ACTIVE]


async def test_change_user__takes_only_the_version_that_it_names(store: Store) -> None:
    user = await joined(store)

    changed = await store.write(change_user(user.id, UserChange(name="Mia", grants={3: "viewer"}), user.version))

    assert changed == replace(user, name="Mia", grants={3: "viewer"}, version=user.version + 1) == await store.read(find_user(user.id))
    with pytest.raises(PreconditionFailed):
        await store.write(change_user(user.id, UserChange(name="Max"), user.version))
    with pytest.raises(NotFound):
        await store.write(change_user("u00000000000", UserChange(name="Max")))


@pytest.mark.parametrize("change", [UserChange(state=SUSPENDED), UserChange(role="operator"), UserChange(role="")])
async def test_last_administrator__cannot_be_removed(store: Store, change: UserChange) -> None:
    user = await joined(store)
    await joined(store, "ben@example.com", None, grants={3: "admin"})
    await invited(store, "late@example.com")
    suspended = await joined(store, "gone@example.com")
    await store.write(change_user(suspended.id, UserChange(state=SUSPENDED)))

    with pytest.raises(WrongState, match="last administrator"):
        await store.write(change_user(user.id, change))

    await store.write(change_user(suspended.id, UserChange(state=ACTIVE)))
    assert (await store.write(change_user(user.id, change))).version == user.version + 1


async def test_administrators_who_suspend_each_other_at_once__leave_one(engine_url: str, open_with: Any) -> None:
    stores = [await open_with(engine_url, {}) for _ in range(2)]
    people = [await joined(stores[0], f"{name}@example.com") for name in ("ann", "ben")]

    async with asyncio.timeout(60):
        outcomes = await asyncio.gather(
            *(stores[n].write(change_user(user.id, UserChange(state=SUSPENDED))) for n, user in enumerate(people)), return_exceptions=True
        )

    assert sorted(isinstance(outcome, WrongState) for outcome in outcomes) == [False, True]
    assert sorted(user.state for user in await stores[0].read(list_users(10))) == [ACTIVE, SUSPENDED]


async def test_session__is_found_until_it_ends(store: Store) -> None:
    user, (key_text, of_key) = await joined(store), new_session("0123456789ab", NOW, "agent", "::1")
    text, session = new_session(user.id, NOW, "agent", "::1")
    await store.write(store_session(session))
    await store.write(store_session(of_key))

    result, key_session = await store.read(find_session(session.id_hash)), await store.read(find_session(of_key.id_hash))
    assert result is not None
    assert key_session is not None
    assert (result.session, result.user, key_session.session, key_session.user) == (session, user, of_key, None)
    assert text not in repr(session)
    assert key_text.startswith("0123456789ab.")
    assert await store.read(list_sessions(NOW, user.id)) == [session]

    assert await store.write(end_sessions(id_hash=session.id_hash)) == 1
    assert await store.read(find_session(session.id_hash)) is None
    assert await store.read(find_session(of_key.id_hash)) is not None


async def test_session_use__prolongs_it_to_thirty_days_at_most(store: Store) -> None:
    user = await joined(store)
    _, session = new_session(user.id, NOW, "", "")
    await store.write(store_session(session))
    assert session.ends_us == NOW + IDLE

    await store.write(store_session_uses({session.id_hash: NOW + 6 * DAY}, {user.id: NOW + 6 * DAY}))
    await store.write(store_session_uses({session.id_hash: NOW + 5 * DAY}, {user.id: NOW + 5 * DAY}))

    result = await store.read(find_session(session.id_hash))
    assert result is not None
    assert result.user is not None
    assert (result.session.ends_us, result.user.last_seen_us) == (NOW + 6 * DAY + IDLE, NOW + 6 * DAY)
    assert replace(result.session, last_seen_us=NOW + 29 * DAY).ends_us == NOW + LONGEST
    assert await store.read(list_sessions(NOW + 6 * DAY + IDLE, user.id)) == []


async def test_store_session__removes_those_whose_time_is_over(store: Store) -> None:
    user = await joined(store)
    old, idle, used = (new_session(user.id, NOW + n, "", "")[1] for n in range(3))
    for session in (old, idle, used):
        await store.write(store_session(session))
    await store.write(store_session_uses(dict.fromkeys((old.id_hash, used.id_hash), NOW + IDLE), {}))

    await store.write(store_session(new_session(user.id, NOW + 1 + IDLE, "", "")[1]))

    assert [await store.read(find_session(session.id_hash)) is None for session in (old, idle, used)] == [False, True, False]


async def test_suspension_and_another_password__end_sessions_and_links(store: Store) -> None:
    user = await joined(store)
    await joined(store, "ben@example.com")

    async def signed_in() -> str:
        _, session = new_session(user.id, NOW, "", "")
        await store.write(store_session(session))
        return session.id_hash

    first = await signed_in()
    secret, link = new_link(user.id, RESET, NOW)
    await store.write(store_link(link))
    await store.write(use_link(link_digest(secret), (RESET,), NOW, "another"))
    assert await store.read(find_session(first)) is None

    second = await signed_in()
    secret, link = new_link(user.id, SIGN_IN, NOW)
    await store.write(store_link(link))
    await store.write(change_user(user.id, UserChange(state=SUSPENDED)))

    assert await store.read(find_session(second)) is None
    with pytest.raises(NotFound):
        await store.write(use_link(link_digest(secret), (SIGN_IN,), NOW))
    with pytest.raises(WrongState, match="suspended"):
        await store.write(store_link(link))


async def test_end_sessions__leaves_those_of_others_and_the_one_that_asks(store: Store) -> None:
    user, second = await joined(store), await joined(store, "ben@example.com")
    sessions = [new_session(holder, NOW + n, "", "")[1] for n, holder in enumerate((user.id, user.id, second.id))]
    for session in sessions:
        await store.write(store_session(session))

    assert await store.write(end_sessions(user_id=user.id, keep=sessions[1].id_hash)) == 1

    assert [await store.read(find_session(session.id_hash)) is None for session in sessions] == [True, False, False]


async def test_list_users__pages_by_address(store: Store) -> None:
    for name in ("cat", "ann", "ben"):
        await invited(store, f"{name}@example.com", grants={3: "viewer"})
    await joined(store, "dan@example.com", grants={})

    first = await store.read(list_users(2))

    assert [user.email for user in first] == ["ann@example.com", "ben@example.com"]
    assert [user.email for user in await store.read(list_users(9, "ben@example.com"))] == ["cat@example.com", "dan@example.com"]
    assert [user.email for user in await store.read(list_users(9, state=ACTIVE))] == ["dan@example.com"]
    assert [user.grants for user in await store.read(list_users(9, email="ann@example.com"))] == [{3: "viewer"}]


async def test_list_users__of_shared_clients_has_these_people_and_oneself(store: Store) -> None:
    await joined(store, "ann@example.com", role=None, grants={3: "viewer", 4: "viewer"})
    await joined(store, "ben@example.com", role=None, grants={4: "viewer"})
    cat = await joined(store, "cat@example.com", role=None, grants={})
    await joined(store, "dan@example.com", role="viewer")

    async def listed(*clients: int, own: str = "") -> list[str]:
        return [user.email[:3] for user in await store.read(list_users(9, sharing=clients, own=own))]

    assert await listed(3) == ["ann", "dan"]
    assert await listed(3, 4, own=cat.id) == ["ann", "ben", "cat", "dan"]
    assert await listed() == ["dan"]


async def test_list_invitations__has_the_newest(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(users, "MOST_INVITATIONS", 2)
    await joined(store, "zoe@example.com")
    for number, name in enumerate(("ann", "ben", "cat")):
        _, _, link = await invited(store, f"{name}@example.com")
        await store.write(store_link(replace(link, created_us=NOW + number)))

    assert [user.email[:3] for _, user in await store.read(list_invitations())] == ["cat", "ben"]


async def test_another_password__ends_the_links_of_before(store: Store) -> None:
    user = await joined(store)
    links = {kind: new_link(user.id, kind, NOW) for kind in (RESET, SIGN_IN)}
    for _, link in links.values():
        await store.write(store_link(link))
    assert await store.read(has_link(link_digest(links[SIGN_IN][0]), (SIGN_IN,), NOW))
    assert not await store.read(has_link(link_digest(links[SIGN_IN][0]), (RESET,), NOW))

    await store.write(use_link(link_digest(links[RESET][0]), (RESET,), NOW, "another"))

    assert not await store.read(has_link(link_digest(links[SIGN_IN][0]), (SIGN_IN,), NOW))


async def test_removed_client__leaves_no_grants(store: Store) -> None:
    client = (await store.write(ensure_client("acme", NOW))).number
    user = await joined(store, role=None, grants={client: "operator", client + 1: "viewer"})
    await store.write(begin_deletion(client, NOW))

    removal, at = Removal(False), NOW + 3600 * SECOND
    async with asyncio.timeout(60):
        while not removal.done:
            removal = await store.write(remove_client_rows(client, at, 1000))

    result = await store.read(find_user(user.id))
    assert result is not None
    assert result.grants == {client + 1: "viewer"}
