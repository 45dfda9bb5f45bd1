"""The settings, read once into one frozen dataclass.

A setting is a field here and a line in `docs/reference/settings.md`. Its environment variable is `TOUCHBASE_` and the
field's name in capitals; a secret may come from a file instead, named by the variable with `_FILE`. A
command-line option overrides the environment, which overrides the default. Secrets that must not show in a process list have no option.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import Field, dataclass, field, fields
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from touchbase.common.misspelt import suggest
from touchbase.config_values import LISTS, TEXTS, is_loopback, sender_domain

PREFIX = "TOUCHBASE_"
LOG_FORMATS, LOG_LEVELS = ("auto", "json", "text"), ("debug", "info", "warning", "error")
TRUE, FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off")
OF_RELAY = ("TOUCHBASE_RELAY_KEY", "TOUCHBASE_RELAY_SECRET", "TOUCHBASE_RELAY_TO")
NO_SETTINGS = ("TOUCHBASE_KEY", *OF_RELAY, "TOUCHBASE_REVYOPS_KEY", "TOUCHBASE_TEST_POSTGRES")
"""Variables that are not settings: keys, of examples in the documentation and of the import from RevyOps, what `touchbase relay` keeps
off the command line, and the server for tests."""
_OF_CONTAINERS = re.compile(r"TOUCHBASE_(?:SERVICE_HOST|SERVICE_PORT(?:_[A-Z0-9_]+)?|PORT_[0-9]+_(?:TCP|UDP)(?:_(?:PROTO|PORT|ADDR))?)")
"""Variables that Kubernetes and Docker set for a service or container called touchbase."""


SIGN_UPS = ("invited", "viewer", "operator", "groups")


class BadSettings(Exception):
    """A setting has an invalid value; the text names the setting and the cure."""


def _setting(
    default: object, about: str, *, choices: tuple[str, ...] = (), secret: bool = False, least: float = 0, option: bool = True
) -> Any:
    about_it = {"about": about, "choices": choices, "secret": secret, "least": least, "option": option}
    return field(default=default, metadata=about_it, repr=not secret)


@dataclass(frozen=True, slots=True, kw_only=True)
class OidcSettings:
    """The OpenID provider of an installation."""

    issuer: str
    client_id: str
    client_secret: str = field(default="", repr=False)
    name: str = ""
    domains: tuple[str, ...] = ()
    sign_up: str = "invited"
    role_claim: str = ""
    roles: Mapping[str, str] = field(default_factory=dict)
    """The roles of the claim's values."""
    only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectSettings:
    """The bucket for bodies of webhooks, and files of events."""

    url: str
    """Address of the bucket, perhaps with a folder, path-style."""
    access_key: str
    secret_key: str = field(repr=False)
    region: str = "us-east-1"
    after_days: int = 30
    min_bytes: int = 65_536
    events_after_days: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of a process; with the defaults, a server works on this machine only."""

    database: str = _setting("sqlite:///touchbase.db", "Where records are stored: sqlite:///FILE or postgresql://...", secret=True)
    read_database: str = _setting(
        "",
        "A streaming standby of a PostgreSQL database, postgresql://...: it answers exports, reports and searches, the primary while it "
        "is down or more than a second behind.",
        secret=True,
        option=False,
    )
    host: str = _setting("127.0.0.1", "Address to listen on.")
    port: int = _setting(8000, "Port to listen on; 0 picks a free one.")
    workers: int = _setting(1, "Server processes that share the port; more than one needs PostgreSQL.", least=1)
    auth: str = _setting(
        "auto",
        "none: no keys. api-key: every request except webhooks needs one. auto: none on a loopback address without a public URL or "
        "proxies, else api-key.",
        choices=("auto", "none", "api-key"),
    )
    public_url: str = _setting(
        "",
        "Address at which tools reach this server, such as https://hooks.example.com or https://example.com/touchbase; empty: the "
        "request's Host header. Some tools sign it.",
    )
    trusted_proxies: str = _setting("", "Addresses or networks of proxies, such as 10.0.0.0/8, whose X-Forwarded headers are trusted.")
    cors_origins: str = _setting("", "Origins, such as https://app.example.com, whose pages may send requests from a browser.")
    allow_unauthenticated: bool = _setting(
        False,
        "Allow open mode where other machines can reach the server, under any name: something in front authenticates requests. By the "
        "public URL's name and through trusted proxies, only webhook addresses respond.",
    )
    migration_copy: bool = _setting(True, "Copy a SQLite store to a file in the same folder before its schema is migrated.")
    inbox_worker: bool = _setting(
        True, "Apply deliveries, and fetch records, in the server's own process; off when `touchbase worker` runs elsewhere."
    )
    fetch_allowed_origins: str = _setting(
        "", "Origins from which records may be fetched although they are not public or not https, such as https://crm.internal:8443."
    )
    webhook_allowed_origins: str = _setting(
        "", "Origins to which outgoing webhooks may be sent although they are not public or not https, such as http://127.0.0.1:9000."
    )
    smtp_url: str = _setting(
        "",
        "Mail server for endpoints of the kind email: smtp://USER:PASSWORD@HOST:587 (STARTTLS) or smtps://...; smtp://HOST:25?tls=off "
        "without encryption. Empty: no e-mail can be sent.",
        secret=True,
        option=False,
    )
    smtp_from: str = _setting("", "Sender of these e-mails, such as Touchbase <touchbase@example.com>.")
    slack_token: str = _setting(
        "",
        "Bot token (xoxb-...) of a Slack app with the scopes users:read.email and chat:write, which tells people what they choose in "
        "direct messages. Empty: nobody is told in Slack; endpoints of the kind slack need none.",
        secret=True,
        option=False,
    )
    mail_domains: str = _setting(
        "",
        "Domains of recipients to which these e-mails may be sent, such as example.com, each with its subdomains; *: any. Empty: the "
        "domain of TOUCHBASE_SMTP_FROM.",
    )
    oidc_issuer: str = _setting(
        "",
        "OpenID provider with which people sign in to the console, as it names itself: https://login.example.com/realms/team. Needs "
        "TOUCHBASE_PUBLIC_URL. Empty: none.",
    )
    oidc_client_id: str = _setting("", "The client id that this server has at the provider.")
    oidc_client_secret: str = _setting("", "The secret of that client; empty: it is a public client.", secret=True, option=False)
    oidc_name: str = _setting("", "The provider's name on the button; empty: the host of its address.")
    oidc_domains: str = _setting(
        "",
        "Domains, such as example.com, of verified addresses with which people may sign in by the provider; *: any. Empty: whatever "
        "address invited people have.",
    )
    oidc_sign_up: str = _setting(
        "invited",
        "Who may sign in for the first time: invited people; or everybody with a verified address of TOUCHBASE_OIDC_DOMAINS, as a viewer "
        "or operator of all clients, or (groups) with a role by TOUCHBASE_OIDC_ROLES.",
        choices=SIGN_UPS,
    )
    oidc_role_claim: str = _setting(
        "", "Claim, such as groups, that gives people their role for all clients at every sign-in; empty: roles are given here."
    )
    oidc_roles: str = _setting("", "Values of that claim with their roles, separated by commas: RevOps=admin, Sales=operator.")
    oidc_only: bool = _setting(
        False, "Refuse passwords and links by e-mail where there is a provider; API keys, and links that administrators make, still work."
    )
    log_level: str = _setting("info", "Least important log line that is written.", choices=LOG_LEVELS)
    log_format: str = _setting(
        "auto",
        "json: log lines are JSON objects. text: lines for people. auto: text where standard error is a terminal, else JSON.",
        choices=LOG_FORMATS,
    )
    access_log: bool = _setting(True, "Write one line for every request.")
    tracing: bool = _setting(False, "Send traces by OTLP as the OTEL_* variables say; needs the extra touchbase[otel].")
    header_timeout: float = _setting(10.0, "Seconds from a request's first byte to the end of its headers.", least=0.05)
    body_timeout: float = _setting(10.0, "Seconds from the end of a request's headers to the end of its body.", least=0.05)
    body_idle_timeout: float = _setting(5.0, "Seconds without a byte of an incomplete body.", least=0.05)
    import_timeout: float = _setting(600.0, "Seconds from the end of a request's headers to the end of an imported file.", least=0.05)
    keep_alive: float = _setting(75.0, "Seconds that a connection may stay open with nothing to do.", least=0.05)
    send_timeout: float = _setting(30.0, "Seconds that the peer may take to read more of a response.", least=0.05)
    shutdown_timeout: float = _setting(8.0, "Seconds that requests in progress get to finish when the server stops.", least=0)
    max_headers: int = _setting(100, "Most header fields in a request.", least=1)
    max_header_bytes: int = _setting(32_768, "Most bytes of a request's line and headers.", least=256)
    max_api_body_bytes: int = _setting(1_048_576, "Most bytes in the body of an API request, also decompressed; more get a 413.", least=1)
    max_batch_body_bytes: int = _setting(
        16_777_216, "Most bytes in the body of an API request with many records, also decompressed; more get a 413.", least=1
    )
    page_bytes: int = _setting(
        8_388_608,
        "Bytes after which a page of a list ends with a cursor, however many records it may have; one record is always in it.",
        least=1,
    )
    max_import_bytes: int = _setting(268_435_456, "Most bytes in an imported file; more get a 413.", least=1)
    max_import_previews: int = _setting(20, "Most imports of one client that wait for their start; more get a 409; 0: no limit.")
    max_webhook_body_bytes: int = _setting(4_194_304, "Most bytes in the body of a webhook; more get a 413.", least=1)
    spool: str = _setting("", "Folder for webhooks that come while their store cannot be used; blank: they get a 503.")
    max_spool_bytes: int = _setting(1_073_741_824, "Most bytes in the spool for one database; then webhooks get a 503.", least=1)
    max_requests: int = _setting(1024, "Most requests in progress at once in one process; more get a 503 at once.", least=1)
    max_waiting: int = _setting(256, "Most requests of one process that wait for events; more get a 503 at once.", least=1)
    max_body_memory: int = _setting(134_217_728, "Most bytes of request bodies in the memory of one process; more get a 503; 0: no limit.")
    max_unread_bytes: int = _setting(
        67_108_864, "Most bytes of responses that their receivers have not read yet, in one process; more get a 503; 0: no limit."
    )
    max_connections: int = _setting(
        4096, "Most open connections of one process; for more an idle one is closed, and if there is none they get a 503.", least=1
    )

    max_stored_bytes: int = _setting(
        0, "Most bytes that one client may store, without a `max_stored_bytes` of its own; more get a 507; 0: no limit."
    )

    encryption_key: str = _setting(
        "",
        "The key that encrypts secrets in the store, 32 bytes in base64: `touchbase encryption-keys generate` makes one. Empty: on SQLite "
        "a key file next to the store, made with the first secret; on PostgreSQL no connection can have a secret.",
        secret=True,
        option=False,
    )
    encryption_key_old: str = _setting(
        "", "Old keys, separated by spaces, that only decrypt, during a key rotation.", secret=True, option=False
    )

    objects_url: str = _setting(
        "",
        "Bucket of an object storage with S3's interface, to which bodies of webhooks are moved, encrypted: s3://BUCKET/FOLDER, or "
        "https://HOST/BUCKET/FOLDER. Needs TOUCHBASE_ENCRYPTION_KEY. Empty: they stay in the database.",
        option=False,
    )
    objects_access_key: str = _setting("", "Access key id of the bucket.", option=False)
    objects_secret_key: str = _setting("", "Secret access key of the bucket.", secret=True, option=False)
    objects_region: str = _setting("us-east-1", "Region of the bucket, which is part of the signature.", option=False)
    objects_min_bytes: int = _setting(65_536, "Bytes of a body from which on it is moved once it is applied.", least=1, option=False)
    objects_after_days: int = _setting(30, "Days after which bodies of any size are moved; 0: never.", least=0, option=False)
    objects_events_after_days: int = _setting(
        0,
        "Days after the end of a month (UTC) when each client's events of it are written to the bucket as Parquet; until then none of them "
        "is removed from the log; 0: never.",
        least=0,
        option=False,
    )

    max_connections_per_address: int = _setting(
        512, "Most open connections of one address (IPv6: one /64); more get a 503 and are closed; 0: no limit."
    )
    rate_limit_requests: int = _setting(50_000, "Requests a second for one client, except webhooks; more get a 429; 0: no limit.")
    rate_limit_key_requests: int = _setting(50_000, "Requests a second with one key; more get a 429; 0: no limit.")
    rate_limit_rows: int = _setting(150_000, "Rows a second that API requests may store for one client; 0: no limit.")
    rate_limit_bytes: int = _setting(
        16_777_216,
        "Bytes a second in bodies of API requests for one client, decompressed, and in imported files; more get a 429; 0: no limit.",
    )
    rate_limit_webhooks: int = _setting(50_000, "Webhooks a second for one client; more get a 503; 0: no limit.")
    rate_limit_webhook_bytes: int = _setting(
        16_777_216, "Bytes a second in bodies of webhooks for one client, decompressed; more get a 503; 0: no limit."
    )
    rate_limit_burst: int = _setting(10, "Seconds' worth of each of these limits that may come at once after a pause.", least=1)
    rate_limit_failed_keys: int = _setting(20, "Failed keys from one address in a minute; then only known keys work there; 0: no limit.")
    rate_limit_failed_calls: int = _setting(
        20,
        "Webhooks from one address in a minute to no client, or (for each client) with a wrong secret; then only senders that "
        "succeeded there before are accepted, and others get a 503; 0: no limit.",
    )

    keep_unrecognised_days: int = _setting(
        90, "Days after which the body of a webhook is removed that is neither recognised nor verified; 0: never."
    )
    keep_unrecognised_bytes: int = _setting(
        1_073_741_824,
        "Most bytes of such bodies and of refused ones that are stored for one client; above, refused ones are removed first, "
        "then the oldest; 0: no limit.",
    )
    keep_refused_days: int = _setting(
        7,
        "Days after which the body of a webhook is removed that was refused for its signature; 0: when there is no room for it.",
    )

    keep_webhook_attempts_days: int = _setting(
        30, "Days after which attempts of outgoing webhooks are removed; what is not delivered still waits. 0: never.", least=0
    )
    keep_events_days: int = _setting(
        30, "Days for which events of the log are stored; a reader that was away for longer gets a 410; 0: permanent."
    )
    keep_audit_days: int = _setting(400, "Days for which entries of the audit log are stored; 0: permanent.", least=0)
    keep_job_files_days: int = _setting(
        7, "Days after which the files of imports and exports are removed; 0: an hour after the job has ended."
    )

    @classmethod
    def read(cls, environ: Mapping[str, str], **options: object) -> Settings:
        """Read the settings from command-line options (None: not given), the environment and the defaults."""
        check_names(environ)
        values = {name: value for name, value in options.items() if value is not None}
        for setting in fields(cls):
            text = None if setting.name in values else _from_environment(setting, environ)
            if text is not None:
                values[setting.name] = _parsed(setting, text)
        if values.get("auth") in RENAMED_AUTH:
            values["auth"] = RENAMED_AUTH[str(values["auth"])]
        settings = cls(**values)  # type: ignore[arg-type]
        for setting in fields(cls):
            _check(setting, getattr(settings, setting.name))
        if bool(settings.smtp_url) != bool(settings.smtp_from):
            raise BadSettings("TOUCHBASE_SMTP_URL and TOUCHBASE_SMTP_FROM belong together: set both, or none")
        settings._check_oidc()
        settings._check_objects()
        return settings

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach the listening address."""
        return self.host == "localhost" or is_loopback(self.host)

    @property
    def needs_origin_guard(self) -> bool:
        """Whether requests of other sites' pages must be refused: without keys, only the loopback address protects the data."""
        return self.open_mode and self.is_loopback and not self.allow_unauthenticated

    @property
    def fetch_allowed(self) -> tuple[str, ...]:
        """The origins in `fetch_allowed_origins`."""
        return _listed(self.fetch_allowed_origins)

    @property
    def webhook_allowed(self) -> tuple[str, ...]:
        """The origins in `webhook_allowed_origins`."""
        return _listed(self.webhook_allowed_origins)

    @property
    def recipient_domains(self) -> tuple[str, ...]:
        """Domains of mail recipients, in normal form: `mail_domains`, else the sender's."""
        domains = tuple(filter(None, map(_mail_domain, _listed(self.mail_domains))))
        return domains or tuple(filter(None, [sender_domain(self.smtp_from)]))

    @property
    def oidc(self) -> OidcSettings | None:
        """The OpenID provider; None: there is none."""
        if not self.oidc_issuer:
            return None
        return OidcSettings(
            issuer=self.oidc_issuer,
            client_id=self.oidc_client_id,
            client_secret=self.oidc_client_secret,
            name=self.oidc_name or urlsplit(self.oidc_issuer).hostname or "",
            domains=tuple(filter(None, map(_mail_domain, _listed(self.oidc_domains)))),
            sign_up=self.oidc_sign_up,
            role_claim=self.oidc_role_claim,
            roles={
                value.strip(): role.strip()
                for value, _, role in (entry.rpartition("=") for entry in self.oidc_roles.split(",") if entry.strip())
            },
            only=self.oidc_only,
        )

    @property
    def objects(self) -> ObjectSettings | None:
        """The bucket for bodies; None: there is none."""
        if not self.objects_url:
            return None
        url = self.objects_url.rstrip("/")
        if url.startswith("s3://"):
            url = f"https://s3.{self.objects_region}.amazonaws.com/{url.removeprefix('s3://')}"
        return ObjectSettings(
            url=url,
            access_key=self.objects_access_key,
            secret_key=self.objects_secret_key,
            region=self.objects_region,
            after_days=self.objects_after_days,
            min_bytes=self.objects_min_bytes,
            events_after_days=self.objects_events_after_days,
        )

    def _check_objects(self) -> None:
        """Raise `BadSettings` for a bucket without keys, or keys without a bucket."""
        names = ("TOUCHBASE_OBJECTS_URL", "TOUCHBASE_OBJECTS_ACCESS_KEY", "TOUCHBASE_OBJECTS_SECRET_KEY")
        values = (self.objects_url, self.objects_access_key, self.objects_secret_key)
        if any(values) and not all(values):
            missing = " and ".join(name for name, value in zip(names, values, strict=True) if not value)
            raise BadSettings(f"{', '.join(names)} belong together: set {missing} too, or none")
        if self.objects_url and not self.encryption_key:
            raise BadSettings(
                "TOUCHBASE_OBJECTS_URL needs TOUCHBASE_ENCRYPTION_KEY, because bodies are encrypted before they are moved: "
                "`touchbase encryption-keys generate` makes one"
            )
        if self.objects_events_after_days and not self.objects_url:
            raise BadSettings("TOUCHBASE_OBJECTS_EVENTS_AFTER_DAYS needs a bucket: set TOUCHBASE_OBJECTS_URL and its keys too")
        if not re.fullmatch(r"[a-z0-9-]+", self.objects_region):
            raise BadSettings(f"TOUCHBASE_OBJECTS_REGION must be the name of a region such as eu-central-1, not {self.objects_region!r}")

    def _check_oidc(self) -> None:
        """Raise `BadSettings` for settings of a provider that lack others."""
        if bool(self.oidc_issuer) != bool(self.oidc_client_id):
            raise BadSettings("TOUCHBASE_OIDC_ISSUER and TOUCHBASE_OIDC_CLIENT_ID belong together: set both, or none")
        if self.oidc_issuer and not self.public_url:
            raise BadSettings("TOUCHBASE_OIDC_ISSUER needs TOUCHBASE_PUBLIC_URL: the provider sends people back to that address")
        if bool(self.oidc_role_claim) != bool(self.oidc_roles):
            raise BadSettings("TOUCHBASE_OIDC_ROLE_CLAIM and TOUCHBASE_OIDC_ROLES belong together: set both, or none")
        if self.oidc_sign_up == "groups" and not self.oidc_role_claim:
            raise BadSettings("TOUCHBASE_OIDC_SIGN_UP=groups needs TOUCHBASE_OIDC_ROLE_CLAIM and TOUCHBASE_OIDC_ROLES")
        if self.oidc_sign_up != "invited" and not self.oidc_domains:
            raise BadSettings(
                f"TOUCHBASE_OIDC_SIGN_UP={self.oidc_sign_up} needs TOUCHBASE_OIDC_DOMAINS: your domains, or * for everybody there"
            )
        if self.oidc_only and not self.oidc_issuer:
            raise BadSettings("TOUCHBASE_OIDC_ONLY needs TOUCHBASE_OIDC_ISSUER: without a provider nobody could sign in")

    @property
    def open_mode(self) -> bool:
        """Whether requests need no key."""
        return self.auth == "none" or (self.auth == "auto" and self.is_loopback and not self.is_public)

    @property
    def public_names(self) -> tuple[str, ...]:
        """The name in the public URL, unless it means this machine itself."""
        name = urlsplit(self.public_url).hostname or ""
        is_here = name == "localhost" or name.endswith(".localhost") or is_loopback(name)
        return (name,) if name and not is_here else ()

    @property
    def is_public(self) -> bool:
        """Whether other machines reach the server: the public URL names another machine, or proxies are listed."""
        return bool(self.public_names or self.proxies)

    @property
    def on_sqlite(self) -> bool:
        """Whether the store is a SQLite file, which one process serves."""
        return self.database.startswith("sqlite")

    def check_listening(self, address: str) -> None:
        """Raise `BadSettings` if open mode would serve other machines: a name such as localhost may resolve to any address."""
        if self.open_mode and not self.allow_unauthenticated and not is_loopback(address):
            raise BadSettings(
                f"open mode needs no key, and {self.host} stands for {address}, which can be reached from other machines: "
                "use --host 127.0.0.1, or --auth api-key"
            )

    @property
    def proxies(self) -> tuple[str, ...]:
        """The networks of trusted proxies."""
        return _listed(self.trusted_proxies)

    @property
    def origins(self) -> tuple[str, ...]:
        """The origins whose pages may send requests from a browser."""
        return _listed(self.cors_origins)

    @property
    def own_names(self) -> tuple[str, ...]:
        """The server's own host names, in addition to localhost and IP addresses."""
        return tuple(name for name in (self.host, urlsplit(self.public_url).hostname) if name)

    def check_serving(self) -> None:
        """Raise `BadSettings` for unsafe or impossible combinations."""
        if self.open_mode and self.is_public and not self.allow_unauthenticated:
            reason = f"{self.public_names[0]} is not this machine" if self.public_names else "requests come through trusted proxies"
            raise BadSettings(
                f"open mode needs no key, and {reason}: use --auth api-key, or add --allow-unauthenticated to serve webhook addresses "
                "there and everything else without keys on this machine's own address"
            )
        if self.open_mode and not self.is_loopback and not self.allow_unauthenticated:
            raise BadSettings(
                f"open mode needs no key, and {self.host} can be reached from other machines: use --auth api-key, "
                "or add --allow-unauthenticated if something in front of Touchbase authenticates requests"
            )
        if self.read_database and self.on_sqlite:
            raise BadSettings("TOUCHBASE_READ_DATABASE is a standby of a PostgreSQL database: unset it, SQLite has none")
        if self.workers > 1 and self.on_sqlite:
            raise BadSettings(f"SQLite is served by one process: use --workers 1, or a postgresql:// database for {self.workers}")


def environment_name(setting: str) -> str:
    """Return the environment variable of a setting."""
    return PREFIX + setting.upper()


RENAMED = {
    "allow_open": "allow_unauthenticated",
    "fetch_allow": "fetch_allowed_origins",
    "master_key": "encryption_key",
    "master_key_old": "encryption_key_old",
    **{setting.name.removeprefix("rate_"): setting.name for setting in fields(Settings) if setting.name.startswith("rate_limit_")},
}
"""Old names of settings: in the environment an error that names the new one, as options of `serve` accepted."""
OTHER_WORDS = {
    **dict.fromkeys(("store", "db", "dsn", "db_url", "sqlite", "postgres", "postgresql"), "database"),
    **dict.fromkeys(("url", "base_url", "domain", "hostname"), "public_url"),
    **dict.fromkeys(("bind", "listen", "address", "ip"), "host"),
    **dict.fromkeys(("proxies", "proxy", "forwarded_allow_ips"), "trusted_proxies"),
    **dict.fromkeys(("processes", "threads"), "workers"),
    **dict.fromkeys(("mail", "email", "mail_url", "mail_server", "mail_host"), "smtp_url"),
    **dict.fromkeys(("mail_from", "mail_sender", "email_from"), "smtp_from"),
    **dict.fromkeys(("email_domains", "smtp_domains", "recipient_domains", "allowed_domains"), "mail_domains"),
    **dict.fromkeys(("sso", "openid", "oidc", "oidc_url", "oidc_provider"), "oidc_issuer"),
    **dict.fromkeys(("s3", "s3_url", "bucket", "objects", "object_storage", "objects_bucket"), "objects_url"),
    "debug": "log_level",
    "secret_key": "encryption_key",
}
"""Words that other programs use for a setting."""
RENAMED_AUTH = {"open": "none", "keys": "api-key"}
"""Old values of `auth`, still accepted."""


def check_names(environ: Mapping[str, str]) -> None:
    """Raise `BadSettings` for an unknown variable with the prefix of settings, because a typing error would have no visible effect."""
    for _, why in unknown_names(environ):
        raise BadSettings(why)


def unknown_names(environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield unknown variables with the prefix of settings, each with a sentence that names the nearest setting."""
    names = [environment_name(setting.name) for setting in fields(Settings)]
    names += [f"{environment_name(setting.name)}_FILE" for setting in fields(Settings) if setting.metadata["secret"]]
    for name in sorted(environ):
        if name.startswith(PREFIX) and name not in names and name not in NO_SETTINGS and not _OF_CONTAINERS.fullmatch(name):
            yield name, f"{name} is no setting: the nearest is {_nearest(name, environ[name], names)}; correct the name, or unset it"


def _nearest(name: str, value: str, names: list[str]) -> str:
    """Return the setting that an unknown variable means: by another word for it, else of the same first word, else by its letters."""
    word = name.removeprefix(PREFIX).removesuffix("_FILE").lower()
    setting = "database" if value.startswith(("sqlite:", "postgres")) else RENAMED.get(word) or OTHER_WORDS.get(word)
    if setting is not None:
        exact = environment_name(setting)
        return f"{exact}_FILE" if name.endswith("_FILE") and f"{exact}_FILE" in names else exact
    first = environment_name(word.split("_")[0]) + "_"
    same_beginning = [candidate for candidate in names if f"{candidate}_".startswith(first)]
    return suggest(name, same_beginning or names, cutoff=0.0) or names[0]


def _listed(text: str) -> tuple[str, ...]:
    """Split a setting that is a list, at commas or white space."""
    return tuple(text.replace(",", " ").split())


def _mail_domain(text: str) -> str | None:
    """Return a domain of recipients as addresses have it in normal form, or `*`; None for other text."""
    from touchbase.common.normalize import find_email_key  # slow to import, and rarely needed by a command

    key = text if text == "*" else find_email_key(f"x@{text}")
    return key and key.rpartition("@")[2]


_LISTS: dict[str, tuple[Callable[[str], object], str]] = {
    **LISTS,
    "mail_domains": (_mail_domain, "domains such as example.com, without @, which include their subdomains, or * for any"),
    "oidc_domains": (_mail_domain, "domains such as example.com, without @, or * for any"),
}


def _from_environment(setting: Field[Any], environ: Mapping[str, str]) -> str | None:
    name = environment_name(setting.name)
    path = environ.get(f"{name}_FILE") if setting.metadata["secret"] else None
    if not path:
        return environ.get(name) or None
    if environ.get(name):
        raise BadSettings(f"both {name} and {name}_FILE are set: keep one of them")
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise BadSettings(f"{name}_FILE names a file that cannot be read: {error}") from None


def _parsed(setting: Field[Any], text: str) -> object:
    kind: Any = type(setting.default)
    try:
        if kind is bool:
            return _flag(text)
        return text if kind is str else kind(text)
    except ValueError:
        wanted = {bool: "on or off", int: "a whole number", float: "a number"}[kind]
        raise BadSettings(f"{environment_name(setting.name)} must be {wanted}, not {text!r}") from None


def _flag(text: str) -> bool:
    word = text.strip().casefold()
    if word not in TRUE + FALSE:
        raise ValueError(text)
    return word in TRUE


def _check(setting: Field[Any], value: Any) -> None:
    choices, least = setting.metadata["choices"], setting.metadata["least"]
    if choices and value not in choices:
        raise BadSettings(f"{environment_name(setting.name)} must be one of {', '.join(choices)}, not {value!r}")
    if isinstance(value, (int, float)) and not value >= least:
        raise BadSettings(f"{environment_name(setting.name)} must be at least {least:g}, not {value:g}")
    if setting.name in TEXTS and value and not TEXTS[setting.name][0](value):
        text = "" if setting.metadata["secret"] or "@" in value else f", not {value!r}"  # an @ ends a password
        raise BadSettings(f"{environment_name(setting.name)} must be {TEXTS[setting.name][1]}{text}")
    if setting.name == "port" and value > 65_535:
        raise BadSettings(f"{environment_name(setting.name)} must be at most 65535, not {value}")
    if setting.name in _LISTS:
        is_entry, wanted = _LISTS[setting.name]
        for entry in _listed(value):
            if not is_entry(entry):
                raise BadSettings(
                    f"{environment_name(setting.name)} must list {wanted}; {'one of them' if '@' in entry else repr(entry)} is none"
                )
