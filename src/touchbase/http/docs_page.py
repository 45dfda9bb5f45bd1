"""The interactive documentation page, from files in the package; it loads nothing from other sites."""

from __future__ import annotations

from functools import cache
from importlib import resources

from touchbase.errors import NotFound
from touchbase.http.endpoint import Call
from touchbase.http.responses import Response
from touchbase.http.routing import Route

FILES = {
    "docs.css": ("static/docs.css", b"text/css; charset=utf-8"),
    "docs.js": ("static/docs.js", b"text/javascript; charset=utf-8"),
    "swagger-ui-bundle.js": ("static/swagger-ui/swagger-ui-bundle.js", b"text/javascript; charset=utf-8"),
    "swagger-ui.css": ("static/swagger-ui/swagger-ui.css", b"text/css; charset=utf-8"),
    "LICENSE": ("static/swagger-ui/LICENSE", b"text/plain; charset=utf-8"),
}
# The page may load from, send to, and be framed by no other site.
POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; "
    b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
SAFE = [(b"content-security-policy", POLICY)]


async def page(call: Call) -> Response:
    """Handle `GET` of the page."""
    return Response(200, _read("static/docs.html"), b"text/html; charset=utf-8", SAFE)


async def file(call: Call) -> Response:
    """Handle `GET` of a file of the page."""
    known = FILES.get(call.path("name"))
    if known is None:
        raise NotFound("there is no such file")
    path, kind = known
    return Response(200, _read(path), kind, [*SAFE, (b"cache-control", b"public, max-age=3600")])


@cache
def _read(path: str) -> bytes:
    return resources.files("touchbase.http").joinpath(path).read_bytes()


ROUTES = [Route("GET", "/docs", page, scope="")]
