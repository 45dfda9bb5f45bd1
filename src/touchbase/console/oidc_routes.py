"""HTTP resources of signing in by the OpenID provider: the way there, and the way back.

The attempt is in a cookie, for ten minutes. It is `Lax`, as the way back is a request from the provider's page.
"""

from __future__ import annotations

import logging
from urllib.parse import parse_qsl, urlsplit

from msgspec import Struct
from msgspec.json import Decoder

from touchbase.auth.identities import Identity, sign_in_identity
from touchbase.auth.users import ACTIVE, ROLE_SCOPES, User, link_digest, new_user_id
from touchbase.common.asgi import peer_of
from touchbase.common.timestamps import Micros
from touchbase.console.oidc import OIDC, Provider, SignInFlow, SignInRefused
from touchbase.errors import NotFound, StoreUnavailable, WrongState
from touchbase.http.endpoint import Call
from touchbase.http.responses import Response
from touchbase.http.routing import Route
from touchbase.http.schemas import encode
from touchbase.http.session_cookie import begin_session, cookie_text, record_refused, unauthenticated_body, with_cookie, with_session

LOG = logging.getLogger("touchbase.team")
PATH = "/console/oidc"
COOKIE = b"touchbase_oidc="
SECONDS = 600
"""For which an attempt to sign in lasts."""
LONGEST_RESPONSE = 8_000
"""Characters of the parameters with which a provider sends people back."""
WHY = {
    "bound": "the account belongs to another person than the link",
    "invitation": "the invitation of the address has expired",
    "link": "the link was used, replaced or has expired",
    "not_invited": "nobody has invited the address of the account",
    "suspended": "the person is suspended",
    "taken": "another account of the provider belongs to the person with this address",
    "unverified": "the provider has not verified the address of the account",
}


class Beginning(Struct, forbid_unknown_fields=True):
    """Where a person comes from."""

    link: str = ""
    """The secret of an invitation."""
    path: str = ""
    """The page to return to, such as `/console/all/replies`."""


class BeginningOut(Struct):
    """Where to go."""

    address: str


_decoder = Decoder(Beginning)


async def begin(call: Call) -> Response:
    """`POST` that begins to sign in: the response has the provider's address, and the attempt as a cookie."""
    request = await unauthenticated_body(call, _decoder, Beginning)
    provider, public_url = _provider(call), call.api.dependencies.public_url
    origin = call.headers.get(b"origin", b"").decode("latin-1")
    if origin and origin.lower() != _origin(public_url):
        raise WrongState(f"the provider sends people back to {public_url}/console: open that address, and sign in there")
    flow = SignInFlow.begin(request.link, request.path)
    try:
        address = await provider.address(flow)
    except SignInRefused as refused:
        LOG.warning("nobody can sign in by %s: %s", provider.settings.name, refused)
        raise StoreUnavailable(
            f"{provider.settings.name} cannot be used now; try again, or ask an administrator to look at this server's log"
        ) from refused
    call.api.authenticator.end_attempt(peer_of(call.scope))
    response = Response(body=encode(BeginningOut(address)), headers=[(b"cache-control", b"no-store")])
    return with_cookie(call, response, COOKIE, flow.text, SECONDS, same_site="Lax")


async def end(call: Call) -> Response:
    """`GET` with which the provider sends a person back: the session is a cookie, and the page to sign in names a refusal by its code."""
    provider, api = _provider(call), call.api
    peer = peer_of(call.scope)
    api.authenticator.begin_attempt(peer)
    flow = SignInFlow.read(cookie_text(call, COOKIE) or "")
    query = call.query[:LONGEST_RESPONSE].decode("latin-1")
    try:
        if flow is None:
            raise SignInRefused("expired", "there is no attempt to sign in in this browser, or it began over ten minutes ago")
        identity = await provider.identity(flow, dict(parse_qsl(query, keep_blank_values=True)))
        user = await _user_of(call, provider, identity, flow)
    except SignInRefused as refused:
        LOG.warning("request %s did not sign in by %s: %s", call.scope["touchbase.request_id"], provider.settings.name, refused)
        await record_refused(call)
        if refused.code != "provider":  # what is wrong between the servers is nobody's guess at a secret
            api.authenticator.end_attempt(peer)
        response = _redirect(call, f"/console/sign-in?problem={refused.code}")
        return with_cookie(call, response, COOKIE, "", 0, same_site="Lax")
    api.authenticator.end_attempt(peer)
    api.authenticator.forget_user(user.id)
    response = _redirect(call, flow.path or "/console/")
    if api.authenticator.keys_needed:
        text, session = await begin_session(call, user.id)
        response = with_session(call, response, text, session)
    return with_cookie(call, response, COOKIE, "", 0, same_site="Lax")


async def _user_of(call: Call, provider: Provider, identity: Identity, flow: SignInFlow) -> User:
    """Return the person of an account; raise `SignInRefused`."""
    parts, now = call.api.dependencies, call.api.dependencies.clock()
    link = link_digest(flow.link) if flow.link else None
    outcome = await parts.store.write(sign_in_identity(identity, now, _newcomer(provider, identity, now), link))
    if outcome.user is None:
        code = outcome.refusal or "not_invited"
        raise SignInRefused(code, WHY[code])
    return outcome.user


def _newcomer(provider: Provider, identity: Identity, now: Micros) -> User | None:
    """Return the person that an unknown account becomes; None: only invited people join."""
    sign_up = provider.settings.sign_up
    role = identity.role or (sign_up if sign_up in ROLE_SCOPES else "")
    if sign_up == "invited" or not role or identity.email is None or not identity.is_verified:
        return None
    return User(new_user_id(), identity.email, identity.name, role, ACTIVE, now)


def _provider(call: Call) -> Provider:
    provider = call.api[OIDC]
    if provider is None:
        raise NotFound("this server has no OpenID provider; sign in with a password, a link or an API key")
    return provider


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}".lower()


def _redirect(call: Call, path: str) -> Response:
    location = (call.api.dependencies.public_url + path).encode("ascii")
    return Response(303, content_type=b"text/plain", headers=[(b"location", location), (b"cache-control", b"no-store")])


ROUTES = [Route("POST", PATH, begin, scope=""), Route("GET", PATH, end, scope="")]
