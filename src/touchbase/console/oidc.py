"""An OpenID provider: the code flow with PKCE, state and nonce, up to the checked claims of a person.

Sources: https://openid.net/specs/openid-connect-core-1_0.html, https://www.rfc-editor.org/rfc/rfc9700 (security of OAuth 2.0),
https://www.rfc-editor.org/rfc/rfc9207 (the issuer in the response).
"""

from __future__ import annotations

import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from hmac import compare_digest
from secrets import token_urlsafe
from typing import Any, TypeVar
from urllib.parse import quote, urlencode, urlsplit

import msgspec

from touchbase.auth.identities import Identity
from touchbase.auth.users import ROLE_SCOPES
from touchbase.common.field_limits import why_not_storable
from touchbase.common.normalize import find_email_key
from touchbase.common.timestamps import DAY, SECOND, Clock, Micros
from touchbase.config import OidcSettings
from touchbase.connections.tools import ApiRequest, ApiResponse, FetchFailed, SendRequest
from touchbase.http.dependencies import AppKey

S = TypeVar("S", bound=msgspec.Struct)
T = TypeVar("T")
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "Ed25519", "EdDSA")
"""Signatures by a public key; neither `none` nor those by a shared secret."""
LEEWAY = 60
"""Seconds by which the provider's clock may be wrong."""
FRESH: Micros = DAY // 24
"""How long the provider's addresses and keys are cached."""
KEYS_AGAIN: Micros = 10 * SECOND
"""After which keys are read again for a token with an unknown one: anybody can send such tokens."""
LONGEST_RESPONSE = 1_048_576
"""Bytes of a response of the provider: the event loop decodes it."""
MOST_KEYS = 200
"""Keys of the provider, which are imported on the event loop."""
LONGEST_NAME, LONGEST_SUBJECT = 200, 255
_FLOW = re.compile(r"([\w-]{43})\.([0-9a-f]{64})?\.(/console/[\w.~/%?=&;,+:@!$'()*-]*)?", re.ASCII)


OIDC: AppKey[Provider | None] = AppKey()
"""The provider of the installation; None: there is none."""


class SignInRefused(Exception):
    """An account at the provider signs nobody in. `code`: a text of the page to sign in; the detail is for the log."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code


@dataclass(frozen=True, slots=True)
class SignInFlow:
    """One attempt to sign in, bound to a browser by a cookie: state, nonce and verifier come from its secret, so none is stored."""

    secret: str
    link: str = ""
    """The secret of an invitation."""
    path: str = ""
    """The page to return to."""

    @classmethod
    def begin(cls, link: str, path: str) -> SignInFlow:
        """Return a new attempt; a path that is none of the console's is left out."""
        flow = cls(token_urlsafe(32), link, quote(path, safe="/?=&;,+:@!$'()*%"))
        return flow if _FLOW.fullmatch(flow.text) else cls(flow.secret, link if re.fullmatch("[0-9a-f]{64}", link) else "")

    @classmethod
    def read(cls, text: str) -> SignInFlow | None:
        """Return the attempt in a cookie; None for another text."""
        match = _FLOW.fullmatch(text)
        return None if match is None else cls(match[1], match[2] or "", match[3] or "")

    @property
    def text(self) -> str:
        """The cookie's text."""
        return f"{self.secret}.{self.link}.{self.path}"

    @property
    def state(self) -> str:
        """Binds the provider's response to the browser."""
        return self._derived("state")

    @property
    def nonce(self) -> str:
        """Binds the ID token to the attempt."""
        return self._derived("nonce")

    @property
    def verifier(self) -> str:
        """Binds the code to the attempt (PKCE)."""
        return self._derived("verifier")

    def _derived(self, purpose: str) -> str:
        return _encoded(sha256(f"{purpose} {self.secret}".encode()).digest())


class Discovery(msgspec.Struct):
    """The provider's addresses."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str = ""
    token_endpoint_auth_methods_supported: Sequence[str] = ("client_secret_basic",)
    authorization_response_iss_parameter_supported: bool = False

    @property
    def endpoints(self) -> list[str]:
        """All addresses that it has."""
        return [address for address in (self.authorization_endpoint, self.token_endpoint, self.jwks_uri, self.userinfo_endpoint) if address]


class Tokens(msgspec.Struct):
    """A successful response of the token endpoint."""

    id_token: str
    access_token: str = ""


class Provider:
    """The provider of the settings; its addresses and keys are read when they are first needed."""

    def __init__(self, settings: OidcSettings, send: SendRequest, clock: Clock, public_url: str) -> None:
        self.settings = settings
        self.redirect_uri = f"{public_url}/console/oidc"
        self._send = send
        self._clock = clock
        self._discovery: tuple[Discovery, Micros] | None = None
        self._keys: tuple[Any, Micros] | None = None
        self._issuer = settings.issuer.rstrip("/")

    async def address(self, flow: SignInFlow) -> str:
        """Return the provider's address to sign in at; raise `SignInRefused`."""
        discovery = await self._addresses()
        parameters = {
            "response_type": "code", "client_id": self.settings.client_id, "redirect_uri": self.redirect_uri,
            "scope": "openid email profile", "state": flow.state, "nonce": flow.nonce, "code_challenge_method": "S256",
            "code_challenge": _encoded(sha256(flow.verifier.encode()).digest()),
        }  # fmt: skip
        return f"{discovery.authorization_endpoint}{'&' if '?' in discovery.authorization_endpoint else '?'}{urlencode(parameters)}"

    async def identity(self, flow: SignInFlow, response: Mapping[str, str]) -> Identity:
        """Return the account that the provider's response, the parameters of its redirect, stands for; raise `SignInRefused`."""
        discovery = await self._addresses()
        if not compare_digest(response.get("state", "").encode(), flow.state.encode()):
            raise SignInRefused("expired", "the state belongs to no attempt of this browser")
        issuer = response.get("iss")
        if issuer != discovery.issuer and (issuer is not None or discovery.authorization_response_iss_parameter_supported):
            raise SignInRefused("provider", f"the response is of another issuer: {issuer}")
        if "error" in response:
            code = "declined" if response["error"] in ("access_denied", "login_required", "interaction_required") else "provider"
            raise SignInRefused(code, f"the provider answered {response['error']}: {response.get('error_description', '')}"[:300])
        tokens = await self._exchange(discovery, flow, response.get("code", ""))
        claims = await self._checked(discovery, tokens.id_token, flow.nonce)
        wanted = ("email", self.settings.role_claim)
        if discovery.userinfo_endpoint and tokens.access_token and any(name and name not in claims for name in wanted):
            claims = await self._with_userinfo(discovery, tokens.access_token, claims)
        return self._identity(claims)

    def _identity(self, claims: Mapping[str, Any]) -> Identity:
        """Return the account of checked claims; raise `SignInRefused` for an address of a domain that is not allowed."""
        address = claims.get("email")
        email = find_email_key(address) if isinstance(address, str) else None
        is_verified = email is not None and claims.get("email_verified") in (True, "true")  # text: Amazon Cognito
        domains = self.settings.domains
        if domains and "*" not in domains and not (is_verified and email is not None and email.rpartition("@")[2] in domains):
            raise SignInRefused("domain" if is_verified else "unverified", "the account has no verified address of an allowed domain")
        subject, name = claims["sub"], claims.get("name")
        if not 0 < len(subject) <= LONGEST_SUBJECT or why_not_storable(subject) is not None:
            raise SignInRefused("provider", f"the subject must have 1 to {LONGEST_SUBJECT} characters, and none that no store can contain")
        if not isinstance(name, str) or why_not_storable(name) is not None:
            name = ""
        return Identity(self.settings.issuer, subject, email, is_verified, name.strip()[:LONGEST_NAME], self._role(claims))

    def _role(self, claims: Mapping[str, Any]) -> str | None:
        """Return the greatest role that the groups stand for; blank for none, None if groups do not decide."""
        if not self.settings.role_claim:
            return None
        groups = claims.get(self.settings.role_claim)
        listed = groups if isinstance(groups, list) else [groups]
        roles = {self.settings.roles[group] for group in listed if isinstance(group, str) and group in self.settings.roles}
        return next((role for role in (*ROLE_SCOPES,)[::-1] if role in roles), "")

    async def _exchange(self, discovery: Discovery, flow: SignInFlow, code: str) -> Tokens:
        """Exchange the code for tokens."""
        form = {"grant_type": "authorization_code", "code": code, "redirect_uri": self.redirect_uri, "code_verifier": flow.verifier}
        headers = {"content-type": "application/x-www-form-urlencoded", "accept": "application/json"}
        client, secret = self.settings.client_id, self.settings.client_secret
        methods = discovery.token_endpoint_auth_methods_supported
        if secret and ("client_secret_basic" in methods or "client_secret_post" not in methods):
            pair = f"{quote(client, safe='')}:{quote(secret, safe='')}"
            headers["authorization"] = f"Basic {b64encode(pair.encode()).decode()}"
        else:
            form |= {"client_id": client, "client_secret": secret} if secret else {"client_id": client}
        response = await self._request("POST", discovery.token_endpoint, headers, urlencode(form).encode())
        if response.status != 200:
            raise SignInRefused("provider", f"the token endpoint answered {response.status}: {_error_in(response)}")
        return self._decoded(response, Tokens, "the token endpoint")

    async def _checked(self, discovery: Discovery, id_token: str, nonce: str) -> dict[str, Any]:
        """Return the claims of an ID token whose signature, issuer, audience, times and nonce are right."""
        from joserfc import jwt
        from joserfc.errors import InvalidKeyIdError, JoseError
        from joserfc.jws import JWSRegistry

        registry = JWSRegistry(algorithms=ALGORITHMS, strict_check_header=False)
        try:
            try:
                token = jwt.decode(id_token, await self._key_set(discovery), algorithms=ALGORITHMS, registry=registry)
            except InvalidKeyIdError:  # the provider may have changed its keys
                token = jwt.decode(id_token, await self._key_set(discovery, again=True), algorithms=ALGORITHMS, registry=registry)
            claims = jwt.JWTClaimsRegistry(
                now=self._clock() // SECOND,
                leeway=LEEWAY,
                iss={"essential": True, "value": discovery.issuer},
                sub={"essential": True},
                aud={"essential": True, "value": self.settings.client_id},
                exp={"essential": True},
                iat={"essential": True},
                nonce={"essential": True, "value": nonce},
            )
            claims.validate(token.claims)
        except (JoseError, ValueError, TypeError) as error:  # joserfc has no check of the type of `crit`
            raise SignInRefused("provider", f"the ID token is not valid: {error}"[:300]) from error
        authorized = token.claims.get("azp", self.settings.client_id)
        audience = token.claims["aud"]
        if authorized != self.settings.client_id or (isinstance(audience, list) and len(audience) > 1 and "azp" not in token.claims):
            raise SignInRefused("provider", "the ID token is for another client than TOUCHBASE_OIDC_CLIENT_ID")
        return dict(token.claims)

    async def _with_userinfo(self, discovery: Discovery, access_token: str, claims: dict[str, Any]) -> dict[str, Any]:
        """Add the claims that only the endpoint for them has."""
        response = await self._request("GET", discovery.userinfo_endpoint, {"authorization": f"Bearer {access_token}"})
        try:
            more = _decoded(response, dict[str, Any]) if response.status == 200 else {}
        except ValueError:
            more = {}  # a signed response, or none
        if more.get("sub") != claims["sub"]:  # a token of somebody else, put in the place of this one
            return claims
        if "email" in claims:  # an address is verified only where it stands
            more.pop("email_verified", None)
        else:
            claims.pop("email_verified", None)
        return {**more, **claims}

    async def problem(self) -> str | None:
        """Return why the provider can sign nobody in; None if its configuration was read within the hour."""
        try:
            await self._addresses()
        except SignInRefused as error:
            return str(error)
        return None

    async def _addresses(self) -> Discovery:
        if self._discovery is None or self._discovery[1] <= self._clock():
            response = await self._request("GET", f"{self._issuer}/.well-known/openid-configuration", {"accept": "application/json"})
            if response.status != 200:
                raise SignInRefused("provider", f"{self._issuer}/.well-known/openid-configuration answered {response.status}")
            discovery = self._decoded(response, Discovery, "the provider's configuration")
            if discovery.issuer != self.settings.issuer:
                raise SignInRefused("provider", f"TOUCHBASE_OIDC_ISSUER must be {discovery.issuer} exactly, as the provider names itself")
            schemes = ("https://",) if self._issuer.startswith("https:") else ("https://", "http://")
            if not all(endpoint.startswith(schemes) for endpoint in discovery.endpoints):  # the browser goes to one: never `javascript:`
                raise SignInRefused("provider", "an address in the provider's configuration is not https")
            self._discovery = discovery, self._clock() + FRESH
        return self._discovery[0]

    async def _key_set(self, discovery: Discovery, *, again: bool = False) -> Any:
        """Return the provider's keys; `again`: fetch them unless they are a few seconds old."""
        from joserfc.errors import JoseError
        from joserfc.jwk import KeySet

        now = self._clock()
        if self._keys is None or now >= self._keys[1] + (KEYS_AGAIN if again else FRESH):
            response = await self._request("GET", discovery.jwks_uri, {"accept": "application/json"})
            try:
                if response.status != 200:
                    raise ValueError(f"status {response.status}")
                keys: Any = _decoded(response, dict[str, Any])
                if len(keys["keys"]) > MOST_KEYS:
                    raise ValueError(f"it has more than {MOST_KEYS} keys")
                self._keys = KeySet.import_key_set(keys), now
            except (JoseError, ValueError, KeyError, TypeError) as error:
                raise SignInRefused("provider", f"{discovery.jwks_uri} has no usable keys: {error}"[:300]) from error
        return self._keys[0]

    async def _request(self, method: str, url: str, headers: Mapping[str, str], body: bytes = b"") -> ApiResponse:
        try:
            parts = urlsplit(url)
            path = f"{parts.path}?{parts.query}" if parts.query else parts.path
            return await self._send(f"{parts.scheme}://{parts.netloc}", ApiRequest(method, path, headers, body))
        except (FetchFailed, ValueError) as error:
            raise SignInRefused("provider", str(error)[:300]) from error

    @staticmethod
    def _decoded(response: ApiResponse, kind: type[S], source: str) -> S:
        try:
            return _decoded(response, kind)
        except ValueError as error:
            raise SignInRefused("provider", f"{source} is not as expected: {error}"[:300]) from error


def _decoded(response: ApiResponse, kind: type[T]) -> T:
    """Decode a response. Raises `ValueError`, also for one that is nested too deeply."""
    if len(response.body) > LONGEST_RESPONSE:
        raise ValueError(f"it has more than {LONGEST_RESPONSE:,} bytes")
    try:
        return msgspec.json.decode(response.body, type=kind)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _encoded(digest: bytes) -> str:
    return urlsafe_b64encode(digest).rstrip(b"=").decode()


def _error_in(response: ApiResponse) -> str:
    """Return the error in a refusal: a code and a description by the standard, else nothing."""
    try:
        body = _decoded(response, dict[str, Any])
    except ValueError:
        return "no reason"
    return f"{body.get('error', 'no reason')} {body.get('error_description', '')}".strip()[:200]
