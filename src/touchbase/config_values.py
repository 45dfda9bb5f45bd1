"""Values of settings: addresses, networks and origins, as they may be given."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from email.utils import parseaddr
from urllib.parse import unquote, urlsplit

_ORIGIN = re.compile(r"https?://(?:[a-z0-9.\-]+|\[[0-9a-f:]+\])(?::[0-9]{1,5})?")
_DEFAULT_PORTS = {"http": ":80", "https": ":443"}

# Python versions differ on whether an IPv4-mapped IPv6 address is a loopback address.
_LOOPBACK = (ipaddress.ip_network("127.0.0.0/8"), ipaddress.ip_network("::1/128"))


def is_loopback(address: str) -> bool:
    """Return whether a text is an address that only this machine can reach."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return False
    return any(ip in network for network in _LOOPBACK)


def is_address(url: str) -> bool:
    """Return whether a text is an http or https URL without query and fragment."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and not parts.query and not parts.fragment
    except ValueError:
        return False


def is_network(text: str) -> bool:
    """Return whether a text is an address or a network, but not the whole internet."""
    try:
        return ipaddress.ip_network(text).prefixlen > 0
    except ValueError:
        return False


def is_origin(text: str) -> bool:
    """Return whether a text is an origin as browsers write it: scheme, host in lower case, port only if it is not the default."""
    return _ORIGIN.fullmatch(text) is not None and not text.endswith(_DEFAULT_PORTS[text.partition(":")[0]])


def is_api_origin(text: str) -> bool:
    """Return whether a text is an origin of a tool's API: a URL without password, path, query and fragment."""
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError:
        return False
    return text.isascii() and is_address(text) and "@" not in parts.netloc and parts.path in ("", "/")


_MAIL_PORTS = {"smtp": 587, "smtps": 465}
_MAIL_HOST = re.compile(r"[A-Za-z0-9.-]+|[0-9A-Fa-f:.]+")
_SENDER = re.compile(r"[!-?A-~]+@[A-Za-z0-9.-]+")


@dataclass(frozen=True, slots=True)
class MailServer:
    """Where e-mails are handed in."""

    host: str
    port: int
    user: str = ""
    password: str = field(default="", repr=False)
    tls: bool = False
    """TLS from the first byte."""
    starttls: bool = True
    """Whether the connection must become encrypted before anything is sent."""


def mail_server(url: str) -> MailServer:
    """Return the server of a URL such as `smtp://user:password@mail.example.com:587`; raises `ValueError` for others."""
    parts = urlsplit(url)
    if parts.scheme not in _MAIL_PORTS or not parts.hostname or parts.path not in ("", "/") or parts.fragment:
        raise ValueError("not the address of a mail server")
    if "@" in parts.netloc.rpartition("@")[0] or not _MAIL_HOST.fullmatch(parts.hostname):
        raise ValueError("a password with an @ that is not written %40, or a host with a character that no name has")
    if parts.query not in ("", "tls=off") or bool(parts.username) != bool(parts.password):
        raise ValueError("an unknown option, or a user without a password")
    host, tls = parts.hostname, parts.scheme == "smtps"
    plain = tls or bool(parts.query) or host == "localhost" or is_loopback(host)
    port = parts.port or _MAIL_PORTS[parts.scheme]
    return MailServer(host, port, unquote(parts.username or ""), unquote(parts.password or ""), tls, not plain)


def is_mail_server(url: str) -> bool:
    """Return whether a text is the URL of a mail server."""
    try:
        mail_server(url)
    except ValueError:
        return False
    return True


def is_sender(text: str) -> bool:
    """Return whether a text is one e-mail address in ASCII, with or without a name: `Touchbase <touchbase@example.com>`."""
    return text.isascii() and text.isprintable() and "," not in text and _SENDER.fullmatch(parseaddr(text)[1]) is not None


def sender_domain(text: str) -> str:
    """Return the domain of a sender in lower case; blank if there is none."""
    return parseaddr(text)[1].rpartition("@")[2].lower()


def is_bucket(text: str) -> bool:
    """Return whether a text is the address of a bucket, perhaps with a folder in it."""
    if text.startswith("s3://"):
        return _BUCKET.fullmatch(text.removeprefix("s3:/").rstrip("/")) is not None
    return is_address(text) and "@" not in urlsplit(text).netloc and _BUCKET.fullmatch(urlsplit(text).path.rstrip("/")) is not None


_BUCKET = re.compile(r"(?:/[A-Za-z0-9][A-Za-z0-9._-]*)+")


def is_issuer(text: str) -> bool:
    """Return whether a text is the address of an OpenID provider: https, or on this machine."""
    host = urlsplit(text).hostname or "" if is_address(text) else ""
    return bool(host) and (text.startswith("https:") or host == "localhost" or is_loopback(host))


def is_role_map(text: str) -> bool:
    """Return whether a text lists values with roles: `RevOps=admin, Sales=operator`."""
    pairs = [entry.rpartition("=") for entry in text.split(",") if entry.strip()]
    return bool(pairs) and all(value.strip() and role.strip() in ("viewer", "operator", "admin") for value, _, role in pairs)


TEXTS: dict[str, tuple[Callable[[str], bool], str]] = {
    "read_database": (
        lambda text: text.startswith(("postgresql://", "postgres://")),
        "the address of a PostgreSQL standby: postgresql://...",
    ),
    "public_url": (is_address, "an address such as https://hooks.example.com"),
    "smtp_url": (
        is_mail_server,
        "the address of a mail server such as smtp://user:password@mail.example.com:587; in a password write %40 for @, %2F for /",
    ),
    "objects_url": (is_bucket, "the address of a bucket: s3://BUCKET, or https://HOST/BUCKET for another object storage than Amazon's"),
    "oidc_issuer": (is_issuer, "the https address of an OpenID provider, such as https://login.example.com"),
    "oidc_roles": (is_role_map, "values with roles (viewer, operator, admin) such as RevOps=admin, Sales=operator"),
    "smtp_from": (is_sender, "an e-mail address such as Touchbase <touchbase@example.com>"),
}
"""Settings whose text has a form, with the form in words."""
LISTS: dict[str, tuple[Callable[[str], bool], str]] = {
    "trusted_proxies": (is_network, "addresses or networks such as 10.0.0.0/8, not the whole internet"),
    "cors_origins": (is_origin, "origins such as https://app.example.com, each in full"),
    "webhook_allowed_origins": (is_api_origin, "origins such as http://127.0.0.1:9000, without password or path"),
    "fetch_allowed_origins": (is_api_origin, "origins such as https://crm.internal:8443, without password or path"),
}
"""Settings that are lists, with the form of each entry in words."""
