"""An OpenID provider for tests: it signs everybody in as the person of its `claims`, and can be told to break the rules."""

from __future__ import annotations

import contextlib
import hmac
import json
import threading
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterator
from functools import cache
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from secrets import token_urlsafe
from typing import Any
from urllib.parse import parse_qs, parse_qsl, unquote, urlsplit

from joserfc import jwt
from joserfc.jwk import KeySet, OctKey, RSAKey

from touchbase.connections.tools import ApiRequest, ApiResponse

CLIENT_ID, CLIENT_SECRET = "touchbase", "s3cret: for tests"


class OidcServer:
    """The provider. `send` is a request from server to server; `visit` is a browser's visit, which returns the way back."""

    def __init__(self, issuer: str, clock: Callable[[], int]) -> None:
        self.issuer = issuer
        self.clock = clock
        self.secret = CLIENT_SECRET
        self.claims: dict[str, Any] = {"sub": "1", "email": "mira@example.com", "email_verified": True, "name": "Mira Sandoval"}
        self.userinfo: dict[str, Any] | None = None
        """Claims that only the endpoint for them has."""
        self.changes: dict[str, Any] = {}
        """Claims of the next ID tokens that are wrong; None: they are left out."""
        self.key = _first_key()
        self.signing: Any = self.key
        self.algorithm = "RS256"
        self.discovery: dict[str, Any] = {}
        """Changes of the configuration."""
        self.codes: dict[str, dict[str, str]] = {}
        self.requests: list[str] = []
        self.is_down = False
        self.bodies: dict[str, bytes] = {}
        """What is answered with 200 at a path, in place of the right thing."""

    async def send(self, base: str, request: ApiRequest) -> ApiResponse:
        """Answer a request of the server."""
        assert base == self.issuer
        status, body = self.answer(request.method, request.path, dict(request.headers), request.body)
        return ApiResponse(status, {"content-type": "application/json"}, json.dumps(body).encode() if not isinstance(body, bytes) else body)

    def answer(self, method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, Any]:
        """Return the status and the JSON of the response."""
        self.requests.append(path)
        if path in self.bodies:
            return 200, self.bodies[path]
        if self.is_down:
            return 503, b"<h1>Unavailable</h1>"
        if path == "/.well-known/openid-configuration":
            return 200, {
                "issuer": self.issuer, "authorization_endpoint": f"{self.issuer}/authorize", "token_endpoint": f"{self.issuer}/token",
                "jwks_uri": f"{self.issuer}/keys", **({"userinfo_endpoint": f"{self.issuer}/userinfo"} if self.userinfo else {}),
                **self.discovery,
            }  # fmt: skip
        if path == "/keys":
            return 200, KeySet([self.key]).as_dict(private=False)
        if path == "/userinfo":
            return (200, self.userinfo) if headers["authorization"] == "Bearer access" else (401, {})
        assert (method, path) == ("POST", "/token")
        return self._token(dict(parse_qsl(body.decode())), headers)

    def _token(self, form: dict[str, str], headers: dict[str, str]) -> tuple[int, Any]:
        client, _, secret = b64decode(headers.get("authorization", "").removeprefix("Basic ")).decode().partition(":")
        pair = (unquote(client), unquote(secret)) if client else (form.get("client_id", ""), form.get("client_secret", ""))
        if pair != (CLIENT_ID, self.secret):
            return 401, {"error": "invalid_client"}
        code = self.codes.pop(form["code"], None)
        if code is None:
            return 400, {"error": "invalid_grant", "error_description": "the code was used"}
        challenge = _encoded(sha256(form["code_verifier"].encode()).digest())
        if challenge != code["code_challenge"] or form["redirect_uri"] != code["redirect_uri"]:
            return 400, {"error": "invalid_grant", "error_description": "another verifier or address"}
        return 200, {"id_token": self._id_token(code["nonce"]), "access_token": "access", "token_type": "Bearer"}

    def _id_token(self, nonce: str) -> str:
        now = self.clock() // 1_000_000
        usual = {"iss": self.issuer, "aud": CLIENT_ID, "iat": now, "exp": now + 300, "nonce": nonce, **self.claims}
        claims = {name: value for name, value in {**usual, **self.changes}.items() if value is not None}
        if self.algorithm == "none" or isinstance(self.signing, bytes):  # not even the library makes such tokens
            parts = [json.dumps(part).encode() for part in ({"alg": self.algorithm, "kid": "a"}, claims)]
            signed = ".".join(map(_encoded, parts))
            return (
                f"{signed}." if self.algorithm == "none" else f"{signed}.{_encoded(hmac.digest(self.signing, signed.encode(), 'sha256'))}"
            )
        header = {"alg": self.algorithm} if isinstance(self.signing, OctKey) else {"alg": self.algorithm, "kid": self.signing.kid}
        return jwt.encode(header, claims, self.signing, algorithms=[self.algorithm])

    def visit(self, address: str, **changes: str) -> str:
        """Sign in at the address that the server named; return the path and query of the way back."""
        parts = urlsplit(address)
        requested = {name: values[0] for name, values in parse_qs(parts.query, strict_parsing=True).items()}
        assert f"{parts.scheme}://{parts.netloc}{parts.path}" == f"{self.issuer}/authorize"
        assert (requested["response_type"], requested["client_id"], requested["code_challenge_method"]) == ("code", CLIENT_ID, "S256")
        assert set(requested["scope"].split()) >= {"openid", "email"}
        back = {"code": self._code(requested), "state": requested["state"], **changes}
        return f"{urlsplit(requested['redirect_uri']).path}?{'&'.join(f'{name}={value}' for name, value in back.items() if value)}"

    def _code(self, requested: dict[str, str]) -> str:
        code = token_urlsafe(16)
        self.codes[code] = requested
        return code

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Serve over HTTP, also the page to sign in, which at once leads back."""
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                path, _, query = self.path.partition("?")
                if path != "/authorize":
                    return self._respond()
                requested = dict(parse_qsl(query))
                self.send_response(302)
                self.send_header("location", f"{requested['redirect_uri']}?code={provider._code(requested)}&state={requested['state']}")
                return self.end_headers()

            def do_POST(self) -> None:
                self._respond()

            def _respond(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                headers = {name.lower(): value for name, value in self.headers.items()}
                status, answer = provider.answer(self.command, self.path, headers, body)
                self.send_response(status)
                self.end_headers()
                self.wfile.write(answer if isinstance(answer, bytes) else json.dumps(answer).encode())

            def log_message(self, format: str, *arguments: object) -> None:
                """Write nothing."""

        with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            self.issuer = f"http://127.0.0.1:{server.server_port}"
            thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
            thread.start()
            yield
            server.shutdown()
            thread.join()

    def rotate(self) -> None:
        """Sign with another key from now on."""
        self.key = self.signing = RSAKey.generate_key(2048, {"kid": token_urlsafe(4), "use": "sig"})


@cache
def _first_key() -> RSAKey:
    """The key of every provider until it rotates: making one takes a tenth of a second."""
    return RSAKey.generate_key(2048, {"kid": "a", "use": "sig"})


def _encoded(text: bytes) -> str:
    return urlsafe_b64encode(text).rstrip(b"=").decode()
