"""Users whom requests name and callers may know of: the person who works on a conversation or task, or owns a record."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from touchbase.auth.authentication import Principal
from touchbase.auth.users import ACTIVE, User, find_user
from touchbase.clients.models import Client
from touchbase.errors import Fault, Invalid
from touchbase.http.endpoint import Call

ME = "me"
NO_PERSON = "a key calls and no person: name a user by the id; GET /team/v1/users lists all"


def sees(principal: Principal, user: User) -> bool:
    """Whether the caller may know of a person: one who may see one of the caller's clients."""
    if principal.client is None and principal.clients is None:
        return True
    is_own = principal.user is not None and principal.user.id == user.id
    return is_own or user.role is not None or not clients_of(principal).isdisjoint(user.grants)


def clients_of(principal: Principal) -> frozenset[int]:
    """Return the clients of a caller who may not see all."""
    if principal.user is not None:
        return frozenset(principal.user.grants)
    return frozenset() if principal.client is None else frozenset((principal.client,))


async def user_named(call: Call, user_id: str | UnsetType | None, caller: Principal, pointer: str) -> User | None:
    """Return the user that a member of a body names, by id or as `me`; raise `Invalid` if there is none who may work."""
    if user_id is UNSET or user_id is None:
        return None
    if user_id == ME and caller.user is None:
        raise Invalid([Fault(pointer, "user", NO_PERSON)])
    number = caller.user.id if user_id == ME and caller.user is not None else str(user_id)
    user = await call.api.dependencies.store.read(find_user(number))
    if user is None or user.state != ACTIVE or not sees(caller, user):
        raise Invalid([Fault(pointer, "user", f"there is no active user {number[:40]!r}; GET /team/v1/users lists all")])
    return user


def unseen(user: User | None, client: Client, pointer: str) -> Fault | None:
    """Return why a user cannot work for a client; None for one who can."""
    if user is None or user.scopes(client.number):
        return None
    # No name or address: the caller may not see this person either.
    return Fault(pointer, "user", f"the user {user.id} may not see this client; give the user a role for it, or name another one")
