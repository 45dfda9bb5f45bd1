"""Settings: where they come from, and which cannot be."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchbase.cli.store import without_password
from touchbase.config import BadSettings, Settings
from touchbase.fleet import body_limits
from touchbase.http.dependencies import RequestLimits


def test_settings__default_to_open_mode_on_loopback() -> None:
    settings = Settings.read({})

    assert (settings.database, settings.host, settings.port) == ("sqlite:///touchbase.db", "127.0.0.1", 8000)
    assert settings.open_mode
    settings.check_serving()


def test_settings__prefer_options_over_environment_over_defaults() -> None:
    environment = {"TOUCHBASE_PORT": "9000", "TOUCHBASE_HOST": "::1"}

    settings = Settings.read(environment, port=9001, host=None)

    assert (settings.port, settings.host, settings.workers) == (9001, "::1", 1)


@pytest.mark.parametrize(("text", "value"), [("on", True), ("YES", True), ("1", True), ("off", False), ("False", False), ("0", False)])
def test_boolean_setting__accepts_plain_words(text: str, value: bool) -> None:
    assert Settings.read({"TOUCHBASE_ACCESS_LOG": text}).access_log is value


def test_list_setting__is_separated_by_commas_or_spaces() -> None:
    settings = Settings.read(
        {
            "TOUCHBASE_TRUSTED_PROXIES": "10.0.0.0/8, ::1",
            "TOUCHBASE_CORS_ORIGINS": "https://a.example http://b.example:81",
            "TOUCHBASE_FETCH_ALLOWED_ORIGINS": "https://a.example http://b.example:81/, https://[::1]:8443",
        }
    )

    assert settings.proxies == ("10.0.0.0/8", "::1")
    assert settings.origins == ("https://a.example", "http://b.example:81")
    assert settings.fetch_allowed == ("https://a.example", "http://b.example:81/", "https://[::1]:8443")


def test_provider__has_roles_of_groups_whose_names_have_spaces() -> None:
    pair = {"TOUCHBASE_OIDC_ROLE_CLAIM": "groups", "TOUCHBASE_OIDC_ROLES": "Rev Ops = admin, a=b=viewer,"}
    named = {"TOUCHBASE_OIDC_ISSUER": "https://a.example", "TOUCHBASE_OIDC_CLIENT_ID": "x", "TOUCHBASE_PUBLIC_URL": "https://b.example"}

    oidc = Settings.read({**named, **pair, "TOUCHBASE_OIDC_DOMAINS": "Example.com, sub.example.com"}).oidc

    assert oidc is not None
    assert (oidc.roles, oidc.name, oidc.domains) == ({"Rev Ops": "admin", "a=b": "viewer"}, "a.example", ("example.com", "sub.example.com"))


def test_empty_variable__is_ignored() -> None:
    assert Settings.read({"TOUCHBASE_PORT": "", "TOUCHBASE_DATABASE": ""}) == Settings.read({})


def test_secret_setting__may_come_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("postgresql://user:secret@db/touchbase\n")

    settings = Settings.read({"TOUCHBASE_DATABASE_FILE": str(tmp_path / "secret")})

    assert settings.database == "postgresql://user:secret@db/touchbase"


@pytest.mark.parametrize(
    ("environment", "says"),
    [
        ({"TOUCHBASE_PORT": "eighty"}, "TOUCHBASE_PORT must be a whole number"),
        ({"TOUCHBASE_PORT": "-1"}, "TOUCHBASE_PORT must be at least 0"),
        ({"TOUCHBASE_WORKERS": "0"}, "TOUCHBASE_WORKERS must be at least 1"),
        ({"TOUCHBASE_MAX_WEBHOOK_BODY_BYTES": "0"}, "TOUCHBASE_MAX_WEBHOOK_BODY_BYTES must be at least 1"),
        ({"TOUCHBASE_KEEP_ALIVE": "nan"}, "TOUCHBASE_KEEP_ALIVE must be at least"),
        ({"TOUCHBASE_ACCESS_LOG": "perhaps"}, "TOUCHBASE_ACCESS_LOG must be on or off"),
        ({"TOUCHBASE_LOG_LEVEL": "loud"}, "TOUCHBASE_LOG_LEVEL must be one of debug, info, warning, error"),
        ({"TOUCHBASE_PUBLIC_URL": "hooks.example.com"}, "TOUCHBASE_PUBLIC_URL must be an address such as https://hooks.example.com"),
        ({"TOUCHBASE_PUBLIC_URL": "https://hooks.example.com/?a=b"}, "TOUCHBASE_PUBLIC_URL must be an address"),
        ({"TOUCHBASE_PUBLIC_URL": "https://[hooks"}, "TOUCHBASE_PUBLIC_URL must be an address"),
        ({"TOUCHBASE_OIDC_ISSUER": "http://login.example.com"}, "TOUCHBASE_OIDC_ISSUER must be the https address"),
        ({"TOUCHBASE_OIDC_ISSUER": "https://login.example.com"}, "TOUCHBASE_OIDC_ISSUER and TOUCHBASE_OIDC_CLIENT_ID belong together"),
        (
            {"TOUCHBASE_OIDC_ISSUER": "https://a.example", "TOUCHBASE_OIDC_CLIENT_ID": "x"},
            "TOUCHBASE_OIDC_ISSUER needs TOUCHBASE_PUBLIC_URL",
        ),
        ({"TOUCHBASE_OIDC_ROLES": "RevOps=boss"}, "TOUCHBASE_OIDC_ROLES must be values with roles"),
        ({"TOUCHBASE_OIDC_ROLES": "RevOps=admin"}, "TOUCHBASE_OIDC_ROLE_CLAIM and TOUCHBASE_OIDC_ROLES belong together"),
        ({"TOUCHBASE_OIDC_SIGN_UP": "groups"}, "TOUCHBASE_OIDC_SIGN_UP=groups needs TOUCHBASE_OIDC_ROLE_CLAIM"),
        ({"TOUCHBASE_OIDC_SIGN_UP": "viewer"}, "TOUCHBASE_OIDC_SIGN_UP=viewer needs TOUCHBASE_OIDC_DOMAINS"),
        ({"TOUCHBASE_OIDC_ONLY": "on"}, "TOUCHBASE_OIDC_ONLY needs TOUCHBASE_OIDC_ISSUER"),
        ({"TOUCHBASE_TRUSTED_PROXIES": "0.0.0.0/0"}, "TOUCHBASE_TRUSTED_PROXIES must list addresses or networks"),
        ({"TOUCHBASE_TRUSTED_PROXIES": "10.0.0.0/8, *"}, "TOUCHBASE_TRUSTED_PROXIES must list addresses or networks"),
        ({"TOUCHBASE_TRUSTED_PROXIES": "10.0.0.1/8"}, "TOUCHBASE_TRUSTED_PROXIES must list addresses or networks"),
        ({"TOUCHBASE_CORS_ORIGINS": "*"}, "TOUCHBASE_CORS_ORIGINS must list origins"),
        ({"TOUCHBASE_CORS_ORIGINS": "null"}, "TOUCHBASE_CORS_ORIGINS must list origins"),
        ({"TOUCHBASE_CORS_ORIGINS": "https://app.example.com/"}, "TOUCHBASE_CORS_ORIGINS must list origins"),
        ({"TOUCHBASE_CORS_ORIGINS": "https://app.example.com:443"}, "TOUCHBASE_CORS_ORIGINS must list origins"),
        ({"TOUCHBASE_CORS_ORIGINS": "https://*.example.com"}, "TOUCHBASE_CORS_ORIGINS must list origins"),
        ({"TOUCHBASE_CORS_ORIGINS": "https://ok.example https://App.example.com"}, "TOUCHBASE_CORS_ORIGINS must list origins"),
        ({"TOUCHBASE_FETCH_ALLOWED_ORIGINS": "https://crm.internal:99999"}, "TOUCHBASE_FETCH_ALLOWED_ORIGINS must list origins"),
        ({"TOUCHBASE_FETCH_ALLOWED_ORIGINS": "https://u:p@crm.internal"}, "TOUCHBASE_FETCH_ALLOWED_ORIGINS must list origins"),
        ({"TOUCHBASE_FETCH_ALLOWED_ORIGINS": "https://a.example crm.internal"}, "TOUCHBASE_FETCH_ALLOWED_ORIGINS must list origins"),
        ({"TOUCHBASE_FETCH_ALLOWED_ORIGINS": "https://crm.internal/api"}, "TOUCHBASE_FETCH_ALLOWED_ORIGINS must list origins"),
        ({"TOUCHBASE_DATABASE_FILE": "no-such-file"}, "TOUCHBASE_DATABASE_FILE names a file that cannot be read"),
        ({"TOUCHBASE_DATABASE": "sqlite://", "TOUCHBASE_DATABASE_FILE": "x"}, "keep one of them"),
    ],
)
def test_invalid_setting__is_named_in_the_error(environment: dict[str, str], says: str) -> None:
    with pytest.raises(BadSettings, match=says):
        Settings.read(environment)


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("example.com", False),
    ],
)
def test_open_mode__is_the_default_only_on_loopback(host: str, loopback: bool) -> None:
    assert Settings.read({}, host=host).open_mode is loopback


@pytest.mark.parametrize(
    "host", ["::ffff:127.0.0.1", "127.1", "0x7f.1", "localhost.", "[::1]", "2130706433", "127.0.0.1.example.com", " 127.0.0.1"]
)
def test_loopback_lookalike__requires_api_keys(host: str) -> None:
    assert not Settings.read({}, host=host).open_mode


@pytest.mark.parametrize("address", ["10.0.0.5", "0.0.0.0", "::", "192.168.1.7", "fe80::1%eth0"])
def test_open_mode__rejects_a_host_name_that_resolves_outside_loopback(address: str) -> None:
    settings = Settings.read({}, host="localhost")

    with pytest.raises(BadSettings, match=address):
        settings.check_listening(address)
    settings.check_listening("127.0.0.1")
    settings.check_listening("::1")
    Settings.read({}, host="localhost", auth="api-key").check_listening(address)
    Settings.read({}, host="localhost", allow_unauthenticated=True).check_listening(address)


def test_origin_guard__is_needed_only_in_default_open_mode() -> None:
    assert Settings.read({}).needs_origin_guard
    assert "hooks.example.com" in Settings.read({}, public_url="https://Hooks.example.com/x").own_names
    for second in (
        {"auth": "api-key"},
        {"allow_unauthenticated": True},
        {"host": "0.0.0.0", "auth": "none", "allow_unauthenticated": True},
    ):
        assert not Settings.read({}, **second).needs_origin_guard


@pytest.mark.parametrize(
    ("options", "is_open"),
    [
        ({"public_url": "http://127.0.0.1:8000"}, True),
        ({"public_url": "http://[::1]:8000/touchbase"}, True),
        ({"public_url": "http://LOCALHOST:8000"}, True),
        ({"public_url": "https://app.localhost"}, True),
        ({"public_url": "https://hooks.example.com"}, False),
        ({"public_url": "http://192.168.1.7:8000"}, False),
        ({"public_url": "https://localhost.example.com"}, False),
        ({"trusted_proxies": "127.0.0.1"}, False),
        ({"public_url": "http://localhost", "trusted_proxies": "10.0.0.0/8"}, False),
    ],
)
def test_public_url_elsewhere_or_trusted_proxies__require_api_keys(options: dict[str, str], is_open: bool) -> None:
    assert Settings.read({}, **options).open_mode is is_open
    reported = Settings.read({}, auth="none", allow_unauthenticated=True, **options)
    reported.check_serving()
    assert reported.open_mode
    if not is_open:
        with pytest.raises(BadSettings, match="--auth api-key"):
            Settings.read({}, auth="none", **options).check_serving()


@pytest.mark.parametrize(("old", "auth"), [("open", "none"), ("keys", "api-key")])
def test_auth_setting__accepts_its_old_values(old: str, auth: str) -> None:
    assert Settings.read({"TOUCHBASE_AUTH": old}) == Settings.read({}, auth=old) == Settings.read({}, auth=auth)


def test_body_limits__come_from_the_settings() -> None:
    reported = body_limits(Settings.read({"TOUCHBASE_MAX_API_BODY_BYTES": "10"}, max_webhook_body_bytes=20))

    assert (reported.api_body_bytes, reported.webhook_body_bytes) == (10, 20)
    assert body_limits(Settings()) == RequestLimits()


@given(st.text(min_size=1).map(lambda text: quote(text, safe="")))
def test_without_password__masks_any_password(password: str) -> None:
    shown = without_password(f"postgresql://user:{password}@db.example:5432/name?password={password}")

    assert shown == "postgresql://user:***@db.example:5432/name"


@pytest.mark.parametrize("password", ["swordfish/", "swordfish#x", "swordfish?x", "sword/fish", "1234/swordfish", "sword@swordfish"])
@pytest.mark.parametrize("slashes", ["//", "/"])
def test_without_password__masks_a_password_that_breaks_its_url(password: str, slashes: str) -> None:
    assert "swordfish" not in without_password(f"postgresql:{slashes}user:{password}@db.example:5432/name")


def test_without_password__hides_a_libpq_connection_string() -> None:
    assert without_password("host=db user=t password=swordfish") == "(not a URL)"


def test_without_password__masks_the_password_of_several_hosts() -> None:
    shown = without_password("postgresql://user:swordfish@one.example:5432,two.example:5433/name?target_session_attrs=read-write")

    assert shown == "postgresql://user:***@one.example:5432,two.example:5433/name"


@pytest.mark.parametrize("url", ["sqlite:///a@b.db", "sqlite:///touchbase.db", "sqlite://", "postgresql://db/name"])
def test_without_password__leaves_a_url_without_a_password_unchanged(url: str) -> None:
    assert without_password(url) == url


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("TOUCHBASE_DATABSE", "TOUCHBASE_DATABASE"),
        ("TOUCHBASE_CORS_ORIGIN", "TOUCHBASE_CORS_ORIGINS"),
        ("TOUCHBASE_HOST_FILE", "TOUCHBASE_HOST"),
        ("TOUCHBASE_XYZ", "TOUCHBASE_"),
        ("TOUCHBASE_STORE", "TOUCHBASE_DATABASE;"),
        ("TOUCHBASE_DB", "TOUCHBASE_DATABASE;"),
        ("TOUCHBASE_DATABASE_URL", "TOUCHBASE_DATABASE;"),
        ("TOUCHBASE_URL", "TOUCHBASE_PUBLIC_URL;"),
        ("TOUCHBASE_PROXIES", "TOUCHBASE_TRUSTED_PROXIES;"),
        ("TOUCHBASE_LOG_LVL", "TOUCHBASE_LOG_LEVEL;"),
        ("TOUCHBASE_MAIL_DOMAIN", "TOUCHBASE_MAIL_DOMAINS;"),
        ("TOUCHBASE_EMAIL_DOMAINS", "TOUCHBASE_MAIL_DOMAINS;"),
        ("TOUCHBASE_MAIL_FROM", "TOUCHBASE_SMTP_FROM;"),
        ("TOUCHBASE_MAX_WAIT", "TOUCHBASE_MAX_WAITING;"),
        ("TOUCHBASE_ALLOW_OPEN", "TOUCHBASE_ALLOW_UNAUTHENTICATED;"),
        ("TOUCHBASE_FETCH_ALLOW", "TOUCHBASE_FETCH_ALLOWED_ORIGINS;"),
        ("TOUCHBASE_MASTER_KEY", "TOUCHBASE_ENCRYPTION_KEY;"),
        ("TOUCHBASE_MASTER_KEY_FILE", "TOUCHBASE_ENCRYPTION_KEY_FILE;"),
        ("TOUCHBASE_MASTER_KEY_OLD", "TOUCHBASE_ENCRYPTION_KEY_OLD;"),
        ("TOUCHBASE_MASTER_KEY_OLD_FILE", "TOUCHBASE_ENCRYPTION_KEY_OLD_FILE;"),
        ("TOUCHBASE_LIMIT_REQUESTS", "TOUCHBASE_RATE_LIMIT_REQUESTS;"),
        ("TOUCHBASE_LIMIT_KEY_REQUESTS", "TOUCHBASE_RATE_LIMIT_KEY_REQUESTS;"),
        ("TOUCHBASE_LIMIT_ROWS", "TOUCHBASE_RATE_LIMIT_ROWS;"),
        ("TOUCHBASE_LIMIT_BYTES", "TOUCHBASE_RATE_LIMIT_BYTES;"),
        ("TOUCHBASE_LIMIT_WEBHOOKS", "TOUCHBASE_RATE_LIMIT_WEBHOOKS;"),
        ("TOUCHBASE_LIMIT_WEBHOOK_BYTES", "TOUCHBASE_RATE_LIMIT_WEBHOOK_BYTES;"),
        ("TOUCHBASE_LIMIT_BURST", "TOUCHBASE_RATE_LIMIT_BURST;"),
        ("TOUCHBASE_LIMIT_FAILED_KEYS", "TOUCHBASE_RATE_LIMIT_FAILED_KEYS;"),
        ("TOUCHBASE_LIMIT_FAILED_CALLS", "TOUCHBASE_RATE_LIMIT_FAILED_CALLS;"),
    ],
)
def test_unknown_setting__is_rejected_with_the_nearest_name(name: str, nearest: str) -> None:
    with pytest.raises(BadSettings, match=f"{name} is no setting: the nearest is {nearest}"):
        Settings.read({name: "x"})


def test_unknown_setting_with_the_address_of_a_store__is_taken_for_the_database() -> None:
    with pytest.raises(BadSettings, match="TOUCHBASE_URL is no setting: the nearest is TOUCHBASE_DATABASE;"):
        Settings.read({"TOUCHBASE_URL": "postgresql:///touchbase"})


@pytest.mark.parametrize(
    "url",
    ["smtp://u:hidden@@bad host", "smtp://u:hidden@@mail.example.com", "smtp://u:hidden@bad host", "smtp://u:hidden@bad_host:25",
     "smtp://u:hid/den@mail.example.com", "smtps://u:hidden@mail.example.com:70000", "smtp://u:hidden@"],
)  # fmt: skip
def test_address_of_a_mail_server__that_cannot_be_read_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(BadSettings, match=r"TOUCHBASE_SMTP_URL must be the address .* write %40 for @") as refused:
        Settings.read({"TOUCHBASE_SMTP_URL": url, "TOUCHBASE_SMTP_FROM": "touchbase@example.com"})

    assert "hid" not in str(refused.value)


@pytest.mark.parametrize("name", ["TOUCHBASE_FETCH_ALLOWED_ORIGINS", "TOUCHBASE_CORS_ORIGINS"])
def test_address_with_a_password__is_refused_without_it(name: str) -> None:
    with pytest.raises(BadSettings, match=name) as refused:
        Settings.read({name: "https://someone:hidden@hooks.example.com"})

    assert "hidden" not in str(refused.value)


@pytest.mark.parametrize(
    "name",
    ["TOUCHBASE_KEY", "TOUCHBASE_TEST_POSTGRES", "TOUCHBASE_SERVICE_HOST", "TOUCHBASE_SERVICE_PORT_HTTP", "TOUCHBASE_PORT_8000_TCP_ADDR",
     "TOUCHBASES", "touchbase_x", "_TOUCHBASE_COMPLETE"],
)  # fmt: skip
def test_unrelated_variable__is_ignored(name: str) -> None:
    Settings.read({name: "x"})
