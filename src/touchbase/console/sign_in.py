"""The ways to sign in, as administrators of all clients see them, without any secret."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from touchbase.auth.sessions import IDLE_DAYS, LONGEST_DAYS
from touchbase.console.oidc import Provider
from touchbase.http.routing import Tag
from touchbase.http.schemas import example

SIGN_IN = Tag("Access", "How people sign in to the console.")


class ProviderOut(Struct):
    """The OpenID provider, by its settings `TOUCHBASE_OIDC_*`."""

    name: Annotated[str, Meta(description="On the button to sign in.")]
    issuer: Annotated[str, Meta(description="Its address, as it names itself.")]
    client_id: Annotated[str, Meta(description="The id that this server has at the provider.")]
    redirect_uri: Annotated[str, Meta(description="The address to allow at the provider.")]
    only: Annotated[bool, Meta(description="Whether it is the only way to sign in.")]
    sign_up: Annotated[str, Meta(description="Who may sign in for the first time: `invited`, `viewer`, `operator` or `groups`.")]
    domains: Annotated[list[str], Meta(description="The domains whose verified addresses may sign in; empty: any.")]
    role_claim: Annotated[str, Meta(description="The claim whose values are roles; blank: none.")]
    roles: Annotated[dict[str, str], Meta(description="Values of that claim with their roles.")]
    problem: Annotated[str | None, Meta(description="Why the provider signs nobody in; null: its configuration was read within the hour.")]


class SignInWays(Struct):
    """How people sign in to this server."""

    keys_needed: Annotated[bool, Meta(description="Whether anybody has to sign in.")]
    passwords: Annotated[bool, Meta(description="Whether people may have passwords.")]
    links: Annotated[bool, Meta(description="Whether links to sign in with are sent by e-mail.")]
    provider: Annotated[ProviderOut | None, Meta(description="null: there is none.")]
    session_idle_days: Annotated[int, Meta(description="After so many days without use a session ends.")]
    session_longest_days: Annotated[int, Meta(description="After so many days every session ends.")]


example(
    SignInWays,
    {
        "keys_needed": True, "passwords": True, "links": False, "session_idle_days": IDLE_DAYS, "session_longest_days": LONGEST_DAYS,
        "provider": {
            "name": "Example", "issuer": "https://id.example.com", "client_id": "touchbase", "only": False, "sign_up": "invited",
            "redirect_uri": "https://touchbase.example.com/console/oidc", "domains": [], "role_claim": "", "roles": {},
            "problem": None,
        },
    },
)  # fmt: skip


async def provider_out(provider: Provider) -> ProviderOut:
    """Return the provider as responses show it."""
    known = provider.settings
    return ProviderOut(
        known.name, known.issuer, known.client_id, provider.redirect_uri, known.only, known.sign_up, [*known.domains], known.role_claim,
        dict(known.roles), await provider.problem(),
    )  # fmt: skip
