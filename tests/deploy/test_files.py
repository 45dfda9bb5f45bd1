"""The files in deploy/: what can be tried without a container engine or an init system is tried, the rest is read."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import fields
from fnmatch import fnmatch
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml
from bench.pgserver import pgserver
from tests.cli.test_access import called
from tests.cli.test_serve import Serve, serve
from tests.conftest import with_postgres_tools

from touchbase.config import Settings, environment_name
from touchbase.encryption.keys import EncryptionKeys
from touchbase.http.dependencies import RequestLimits
from touchbase.stores import open_store

__all__ = ["serve"]

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
MIB = 1_048_576
KNOWN = {environment_name(field.name) for field in fields(Settings)} | {
    f"{environment_name(field.name)}_FILE" for field in fields(Settings) if field.metadata["secret"]
}
LARGEST_BODY = max(value for field in fields(RequestLimits) if isinstance(value := field.default, int) and field.name.endswith("_bytes"))


def text(name: str) -> str:
    return (DEPLOY / name).read_text(encoding="utf-8")


def instructions() -> list[tuple[str, str]]:
    """The Dockerfile's instructions, each on one line."""
    full_sub = re.sub(r"\\\n", " ", re.sub(r"^#.*\n", "", text("Dockerfile"), flags=re.MULTILINE))
    return [(line.split()[0], line.split(maxsplit=1)[1].strip()) for line in full_sub.splitlines() if line.strip()]


def arguments(name: str, stage: int = -1) -> list[str]:
    """The arguments of an instruction in one stage."""
    starts = [number for number, (item, _) in enumerate(instructions()) if item == "FROM"] + [None]
    places = instructions()[starts[stage - 1] if stage < 0 else starts[stage] :]
    return [remaining for item, remaining in places if item == name]


def test_image__runs_as_a_user_other_than_root() -> None:
    (user,) = arguments("USER")

    assert [int(word) for word in user.split(":")] > [1000, 1000]
    # Nothing that needs root comes after, and nothing is made root again.
    names = [name for name, _ in instructions()]
    assert names[names.index("USER") :].count("RUN") == 0


def test_image__installs_only_locked_packages() -> None:
    installs = [remaining for name, remaining in instructions() if name == "RUN" and "install " in remaining and "pip" in remaining]

    assert len(installs) == 1
    assert {"--require-hashes", "--no-deps", "--only-binary"} <= set(installs[0].split())
    assert [remaining for name, remaining in instructions() if name == "ADD"] == []
    assert not re.search(r"curl|wget|apt-get|apk |:latest|https?://(?!127\.0\.0\.1)", text("Dockerfile"))


def test_image__finds_every_copied_file_in_the_build_context() -> None:
    sources = [
        item for name, remaining in instructions() if name == "COPY" and "--from" not in remaining for item in remaining.split()[:-1]
    ]
    let_in = [line[1:] for line in text("Dockerfile.dockerignore").splitlines() if line.startswith("!")]

    assert text("Dockerfile.dockerignore").splitlines()[0] == "*"
    assert {"src/touchbase", "sdk/python", "openapi.json", "deploy/requirements.lock"} <= set(sources)
    for source in sources:
        assert (ROOT / source).exists(), source
        assert any(fnmatch(source, item) for item in let_in), source


def test_image_settings__are_valid_and_hold_no_secret() -> None:
    pairs = dict(pair.split("=", 1) for remaining_argument in arguments("ENV") for pair in shlex.split(remaining_argument))
    own = {name: value for name, value in pairs.items() if name.startswith("TOUCHBASE_")}

    settings = Settings.read(own)

    assert set(own) <= KNOWN
    assert not settings.open_mode
    assert settings.database == "sqlite:////data/touchbase.db"
    assert arguments("EXPOSE") == [str(settings.port)]
    assert "/data" in arguments("VOLUME")


def test_image_command__starts_touchbase() -> None:
    (entry,), (command,) = arguments("ENTRYPOINT"), arguments("CMD")
    words = [sys.executable if word == "python" else word for word in [*json.loads(entry), *json.loads(command)]]

    done = subprocess.run([*words, "--help"], capture_output=True, text=True, check=True)

    assert "Run the HTTP server" in done.stdout


def test_image_health_check__distinguishes_a_running_server_from_a_stopped_one(serve: Serve) -> None:
    (line,) = arguments("HEALTHCHECK")
    words = [sys.executable if word == "python" else word for word in json.loads(line.partition("CMD ")[2])]
    server = serve()

    def checked() -> int:
        environment = {**os.environ, "TOUCHBASE_PORT": str(server.port)}
        return subprocess.run(words, env=environment, capture_output=True, check=False).returncode

    before = checked()
    server.stop()

    assert (before, checked() != 0) == (0, True)


def composed() -> Mapping[str, Any]:
    safe_load: Mapping[str, Any] = yaml.safe_load(text("compose.yaml"))
    return safe_load


@pytest.mark.parametrize("name", composed()["services"])
def test_container__has_only_the_privileges_it_needs(name: str) -> None:
    service = composed()["services"][name]

    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in service["security_opt"]
    assert "privileged" not in service
    assert not str(service.get("image", "")).endswith(":latest")
    assert {"pids_limit", "mem_limit", "cpus"} <= set(service)
    assert all("size=" in tmpf for tmpf in service["tmpfs"])
    if name == "proxy":  # the one that others reach
        assert (service["cap_add"], service["ports"]) == (["NET_BIND_SERVICE"], ["80:80", "443:443"])
    else:
        assert "cap_add" not in service
        assert int(service["user"].split(":")[0]) > 0
        assert [port for port in service.get("ports", []) if not port.startswith("127.0.0.1:")] == []


def test_image_digests__are_given_by_the_operator_and_not_written_in_the_files() -> None:
    services = composed()["services"]
    build = services["touchbase"]["build"]

    assert services["postgres"]["image"].startswith("${POSTGRES_IMAGE:?")
    assert services["proxy"]["image"].startswith("${CADDY_IMAGE:?")
    assert build["args"]["PYTHON_IMAGE"].startswith("${PYTHON_IMAGE:?")
    assert [remaining for name, remaining in instructions() if name == "FROM"] == ["${PYTHON_IMAGE} AS build", "${PYTHON_IMAGE}"]
    assert not re.search(r"sha256:[0-9a-f]", text("compose.yaml") + text("Dockerfile")), "none was looked up"


def test_trusted_proxies__are_listed_by_address() -> None:
    listed = composed()["services"]["touchbase"]["environment"]["TOUCHBASE_TRUSTED_PROXIES"]
    (unit,) = re.findall(r'TOUCHBASE_TRUSTED_PROXIES=([^"\n]+)', text("touchbase.service"))

    assert [str(ip_address(word)) for word in f"{listed} {unit}".split()] == f"{listed} {unit}".split()


def test_systemd_unit__trusts_one_proxy() -> None:
    assert re.findall(r"TOUCHBASE_TRUSTED_PROXIES=(.*)", text("touchbase.service")) == ["127.0.0.1"]


def test_high_availability_files__have_no_port_without_tls_or_password() -> None:
    patroni = yaml.safe_load(text("high-availability/patroni.yml"))
    etcd = dict(line.split("=", 1) for line in text("high-availability/etcd.env").splitlines() if not line.startswith("#"))

    assert not re.search(r"http://", text("high-availability/etcd.env"))
    assert (etcd["ETCD_CLIENT_CERT_AUTH"], etcd["ETCD_PEER_CLIENT_CERT_AUTH"]) == ("true", "true")
    assert {"certfile", "keyfile", "cafile", "authentication"} <= set(patroni["restapi"])
    assert patroni["restapi"]["verify_client"] == "optional"
    assert patroni["etcd3"]["protocol"] == "https"
    assert {"cacert", "cert", "key"} <= set(patroni["etcd3"])
    assert "check-ssl verify required" in text("high-availability/haproxy.cfg")


def test_caddyfile__limits_headers_and_slow_callers() -> None:
    servers = text("Caddyfile").partition("\tservers {")[2].partition("\n\t}")[0]

    assert re.findall(r"^\t+(\w+) [0-9]", servers, re.MULTILINE) == ["max_header_size", "read_header", "read_body", "idle"]
    assert set(re.findall(r"TOUCHBASE_RATE_\w+|TOUCHBASE_MAX_CONN\w+", text("Caddyfile"))) <= KNOWN


def test_systemd_unit__limits_memory_with_room_for_bodies() -> None:
    (most,) = re.findall(r"^MemoryMax=(\d+)G$", text("touchbase.service"), re.MULTILINE)

    assert int(most) * 1024 * MIB >= 4 * Settings().max_body_memory


def test_compose_file__contains_no_password() -> None:
    created = composed()
    values = [(name, str(value)) for service in created["services"].values() for name, value in service["environment"].items()]

    assert [(name, value) for name, value in values if re.search(r"://.*:.*@", value) or (name.endswith("PASSWORD") and value)] == []
    assert all(secret["file"].startswith("./secrets/") for secret in created["secrets"].values())
    assert created["networks"]["back"]["internal"] is True
    assert created["services"]["postgres"]["networks"] == ["back"]


def test_compose_settings__are_valid(tmp_path: Path) -> None:
    service = composed()["services"]["touchbase"]
    value_item = {name: re.sub(r"\$\{\w+:\?[^}]*\}", "hooks.example.com", value) for name, value in service["environment"].items()}
    assert set(service["environment"]) <= KNOWN
    secrets = made_secrets(tmp_path)
    own = {name: str(secrets / Path(value).name) for name, value in value_item.items() if name.endswith("_FILE")}

    settings = Settings.read({"TOUCHBASE_HOST": "0.0.0.0", **value_item, **own})
    settings.check_serving()

    front = composed()["networks"]["front"]["ipam"]["config"][0]
    proxy = composed()["services"]["proxy"]
    assert settings.proxies == (front["gateway"], proxy["networks"]["front"]["ipv4_address"])
    assert {ip_address(item) in ip_network(front["subnet"]) for item in settings.proxies} == {True}
    assert settings.public_url == "https://hooks.example.com"
    assert proxy["environment"]["TOUCHBASE_UPSTREAM"] == f"touchbase:{settings.port}"
    assert (ROOT / "deploy" / service["build"]["context"] / service["build"]["dockerfile"]).exists()
    grace = int(service["stop_grace_period"].removesuffix("s"))
    assert grace > settings.shutdown_timeout
    # On PostgreSQL no connection can have a secret without an encryption key.
    assert len(EncryptionKeys(settings.encryption_key).read()) == 1


def test_compose_secrets__are_all_made_by_make_secrets(tmp_path: Path) -> None:
    created, services = composed(), composed()["services"]

    assert {f"./secrets/{path.name}" for path in made_secrets(tmp_path).iterdir()} == {
        secret["file"] for secret in created["secrets"].values()
    }
    assert set(services["touchbase"]["secrets"]) == {"database", "encryption_key"}
    for service in services.values():
        named = {Path(value).name for name, value in service["environment"].items() if name.endswith("_FILE")}
        assert named <= set(service.get("secrets", [])) <= created["secrets"].keys()


def test_env_file__has_what_the_composition_asks_for_also_at_upgrades() -> None:
    guide = (ROOT / "docs/how-to/deploy.md").read_text(encoding="utf-8")

    assert re.search(r"^cat >\.env <<END.*\nTOUCHBASE_DOMAIN=hooks\.example\.com\n", guide, re.MULTILINE)
    assert "TOUCHBASE_DOMAIN=hooks.example.com docker compose" not in guide
    matches = set(re.findall(r"\$\{(\w+)", text("compose.yaml")))
    assert matches == set(re.findall(r"^(\w+)=", guide.partition("cat >.env <<END")[2].partition("\nEND")[0], re.MULTILINE))
    assert "/deploy/.env" in (ROOT / ".gitignore").read_text(encoding="utf-8")


def made_secrets(folder: Path) -> Path:
    """The secrets that `make-secrets` makes, in this folder."""
    shutil.copy(DEPLOY / "make-secrets", folder)
    subprocess.run([folder / "make-secrets"], capture_output=True, check=True)
    return folder / "secrets"


def test_make_secrets__runs_once_and_makes_matching_secrets(tmp_path: Path) -> None:
    shutil.copy(DEPLOY / "make-secrets", tmp_path)

    first = subprocess.run([tmp_path / "make-secrets"], capture_output=True, check=False)
    created = {path.name: path.read_text() for path in (tmp_path / "secrets").iterdir()}
    second = subprocess.run([tmp_path / "make-secrets"], capture_output=True, check=False)

    assert (first.returncode, second.returncode) == (0, 1)
    assert len(created["postgres_password"]) == len(created["database_password"]) == 64
    assert urlsplit(created["database"]).password == created["database_password"] != created["postgres_password"]
    assert urlsplit(created["database"]).username != composed()["services"]["postgres"]["environment"]["POSTGRES_USER"]
    assert (tmp_path / "secrets").stat().st_mode & 0o777 == 0o700
    assert [name for name, value in created.items() if value.strip().encode() in first.stdout + second.stderr] == []
    assert {path.name: path.read_text() for path in (tmp_path / "secrets").iterdir()} == created


@pytest.fixture
def initialised(tmp_path: Path) -> Iterator[str]:
    """The composition's database, made by its script on a server of its own, as Touchbase's container comes to it."""
    secrets, script = made_secrets(tmp_path), tmp_path / "init.sql"
    script.write_text(text("init-database.sql").replace("/run/secrets", str(secrets)))
    server = pgserver().get_server(tmp_path / "data", cleanup_mode="delete")
    try:
        words = ["psql", "-v", "ON_ERROR_STOP=1", "--no-psqlrc", "-f", script, server.get_uri()]
        subprocess.run(words, env=with_postgres_tools(), capture_output=True, check=True)
        address, value_item = urlsplit(server.get_uri()), urlsplit((secrets / "database").read_text())
        login = value_item.netloc.rpartition("@")[0]
        yield f"postgresql://{login}@{address.netloc.rpartition('@')[2]}{value_item.path}?{address.query}"
    finally:
        server.cleanup()


async def test_compose_database_role__is_subject_to_row_level_security(initialised: str) -> None:
    store = await open_store(initialised)

    warned = list(store.warnings)
    await store.close()

    assert warned == []
    assert "./init-database.sql:/docker-entrypoint-initdb.d/init-database.sql:ro" in composed()["services"]["postgres"]["volumes"]


def directives() -> list[tuple[str, str]]:
    """The unit's lines, comments left out."""
    return [tuple(line.split("=", 1)) for line in text("touchbase.service").splitlines() if re.match(r"\w+=", line)]  # type: ignore[misc]


@pytest.fixture
def unit(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """The unit's command line with its environment, as systemd would start it, in folders of the test."""
    shlexes = [shlex.split(value)[0] for name, value in directives() if name == "Environment"]
    assert {item.partition("=")[0] for item in shlexes if item.startswith("TOUCHBASE_")} <= KNOWN
    environment = dict(item.replace("%S", str(tmp_path)).split("=", 1) for item in shlexes)
    (command,) = [value for name, value in directives() if name == "ExecStart"]
    program, *remaining_command = command.split()
    assert program == "/opt/touchbase/.venv/bin/touchbase"
    (tmp_path / "touchbase").mkdir(mode=0o700)
    process = subprocess.Popen(
        [Path(sys.executable).parent / "touchbase", *remaining_command],
        cwd=tmp_path / "touchbase", env={**environment, "TOUCHBASE_PORT": "0", "PATH": "/usr/bin:/bin"}, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    yield process
    process.kill()
    process.wait()
    assert process.stdout is not None
    process.stdout.close()


def test_systemd_unit__serves_with_api_keys_from_its_own_folder(unit: subprocess.Popen[str], tmp_path: Path) -> None:
    assert unit.stdout is not None
    banner = ""
    for line in unit.stdout:
        banner += line
        if "try it" in line:
            break
    match = re.search(r"http://127\.0\.0\.1:(\d+)", banner)
    assert match, banner

    class Place:
        port = int(match[1])

    status, _, _ = called(Place, "GET", "/public/v2/contacts")  # type: ignore[arg-type]
    unit.send_signal(signal.SIGTERM)

    assert status == 401
    assert unit.wait(30) == 0
    assert (tmp_path / "touchbase" / "touchbase.db").exists()


def test_systemd_unit__drops_unneeded_privileges() -> None:
    result = dict(directives())
    on = {
        "DynamicUser", "NoNewPrivileges", "ProtectHome", "PrivateTmp", "PrivateDevices", "PrivateUsers", "ProtectClock", "ProtectHostname",
        "ProtectControlGroups", "ProtectKernelLogs", "ProtectKernelModules", "ProtectKernelTunables", "LockPersonality",
        "RestrictNamespaces", "RestrictRealtime", "RestrictSUIDSGID", "MemoryDenyWriteExecute",
    }  # fmt: skip

    assert {name for name in on if result.get(name) != "yes"} == set()
    assert result["ProtectSystem"] == "strict"
    assert (result["CapabilityBoundingSet"], result["AmbientCapabilities"]) == ("", "")
    assert int(result["TimeoutStopSec"]) > Settings.read({}).shutdown_timeout
    assert int(result["LimitNOFILE"]) > Settings.read({}).max_connections


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd-analyze here to check the unit with")
def test_systemd_unit__passes_systemd_analyze(tmp_path: Path) -> None:
    copy = tmp_path / "touchbase.service"
    copy.write_text(text("touchbase.service").replace("/opt/touchbase/.venv/bin/touchbase", "/bin/true").replace("file:/opt", "file:/"))

    def analyzed(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["systemd-analyze", *words, copy], capture_output=True, text=True, check=False)

    verified = analyzed("verify")
    judged = analyzed("security", "--offline=true", "--threshold=20")

    assert (verified.returncode, verified.stderr) == (0, "")
    assert judged.returncode == 0, judged.stdout


def test_caddyfile__excludes_errors_that_quote_requests_from_its_log() -> None:
    """It quotes the request there. What is held is that the file says so; a running Caddy was not tried."""
    options = text("Caddyfile").partition("\n{$TOUCHBASE_DOMAIN:hooks.example.com}")[0]

    match = re.search(r"^\tlog default \{\n\t\texclude (.+)\n\t\}\n\}", options, re.MULTILINE)
    assert match is not None
    assert set(match[1].split()) >= {"http.log.error", "http.handlers.reverse_proxy"}
    assert not re.search(r"^\s+log\b", text("Caddyfile").partition("\n{$TOUCHBASE_DOMAIN:hooks.example.com}")[2], re.MULTILINE)


def test_caddyfile__allows_bodies_larger_than_the_touchbase_limit() -> None:
    match = re.search(r"max_size (\d+)MiB", text("Caddyfile"))

    assert match is not None
    assert int(match[1]) * MIB > LARGEST_BODY
    assert "reverse_proxy {$TOUCHBASE_UPSTREAM:127.0.0.1:8000}" in text("Caddyfile")


@pytest.mark.skipif(shutil.which("caddy") is None, reason="there is no caddy here to check the Caddyfile with")
def test_caddyfile__passes_caddy_validate() -> None:
    done = subprocess.run(
        ["caddy", "validate", "--adapter", "caddyfile", "--config", DEPLOY / "Caddyfile"], capture_output=True, check=False
    )

    assert done.returncode == 0, done.stderr


def test_deploy_files__contain_no_secret() -> None:
    assert [
        path.name
        for path in DEPLOY.rglob("*")
        if path.is_file() and re.search(r"tb_(live|test)_|BEGIN .*PRIVATE", path.read_text(encoding="utf-8"))
    ] == []
    assert "secrets/" in (ROOT / ".gitignore").read_text(encoding="utf-8")
