"""Upgrades as operators make them: an older revision is installed and filled, the newer one takes its place, and serves what is there.

The older revision comes from the repository's history, which a shallow clone and a source distribution do not have: then the store
comes from `tests/storage/old_stores`, which that revision wrote.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from supply.lock import ROOT
from tests.cli.test_serve import Server
from tests.storage.old_store import KEY, make_old_sqlite

pytestmark = pytest.mark.slow

OLD = "81a25171"
"""The oldest revision whose stores are upgraded."""
TREE = (
    "Makefile", "README.md", "LICENSE", "pyproject.toml", "requirements.lock", "openapi.json", "src", "sdk", "deploy", "docs", "console",
)  # fmt: skip
ACME = {"X-Client-Id": "default"}


@dataclass
class Installation:
    """A folder with sources and the environment that `make install` makes there, or with an environment alone."""

    folder: Path
    dependencies: Path
    servers: list[Server] = field(default_factory=list)

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("TOUCHBASE_", "MAKE", "PYTHONPATH"))}
        return subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False)

    def touchbase(self, *arguments: str) -> str:
        done = self.run(str(self.folder / ".venv/bin/touchbase"), *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def make_install(self, tree: Path) -> None:
        """Let a tree take the sources' place, and run `make install`; the packages that it downloads come from the tests' environment."""
        for name in TREE:
            shutil.rmtree(self.folder / name, ignore_errors=True)
            source = tree / name
            if source.is_dir():
                shutil.copytree(source, self.folder / name, ignore=shutil.ignore_patterns("node_modules", "__pycache__"))
            elif source.exists():  # not each revision has all
                shutil.copyfile(source, self.folder / name)
        (self.folder / "deploy/requirements.lock").write_text("# nothing to download\n")
        done = self.run("make", "install", f"PYTHON={sys.executable}")
        assert done.returncode == 0, done.stderr
        self.link_dependencies()

    def install_wheel(self, tree: Path) -> None:
        """Build the wheels of a tree, and install them over those that are there."""
        built = self.folder / f"wheels-of-{tree.name}"
        built.mkdir()
        for source in (tree, tree / "sdk" / "python"):
            if source.exists():  # older revisions have no client of its own
                command = [sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", str(built), str(source)]
                subprocess.run(command, check=True, capture_output=True)
        if not (self.folder / ".venv").exists():
            subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(self.folder / ".venv")], check=True)
        pip = [sys.executable, "-m", "pip", "--python", str(self.folder / ".venv/bin/python"), "install", "--quiet"]
        # Both say that they are of the same version: between releases it does not change.
        subprocess.run([*pip, "--no-deps", "--no-index", "--force-reinstall", *map(str, built.iterdir())], check=True, capture_output=True)
        self.link_dependencies()

    def link_dependencies(self) -> None:
        [packages] = self.folder.glob(".venv/lib/python*/site-packages")
        (packages / "dependencies.pth").write_text(f"{self.dependencies}\n")

    def serve(self, *arguments: str) -> Server:
        self.servers.append(Server(self.folder, arguments, (str(self.folder / ".venv/bin/touchbase"),)))
        return self.servers[-1]


@pytest.fixture(scope="module")
def dependencies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packages of the tests' environment but Touchbase itself, whose metadata no `make install` writes."""
    folder = tmp_path_factory.mktemp("dependencies")
    for package in Path(sysconfig.get_path("purelib")).iterdir():
        if "touchbase" not in package.name and package.suffix != ".pth":
            (folder / package.name).symlink_to(package)
    return folder


@pytest.fixture
def installation(tmp_path: Path, dependencies: Path) -> Iterator[Installation]:
    folder = tmp_path / "installation"
    folder.mkdir()
    new_installation = Installation(folder, dependencies)
    yield new_installation
    for server in new_installation.servers:
        server.clean_up()


@pytest.fixture(scope="module")
def old_tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the older revision."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("NOT TRIED: the upgrade from an older revision needs git and the repository's history")
    packed = subprocess.run(["git", "archive", "--format=tar", OLD], cwd=ROOT, capture_output=True, check=False)
    if packed.returncode:
        pytest.skip(f"NOT TRIED: the upgrade from an older revision needs {OLD}, which a shallow clone does not have")
    folder = tmp_path_factory.mktemp("old")
    subprocess.run(["tar", "-x", "-C", str(folder)], input=packed.stdout, check=True)
    return folder


def webhook(number: int) -> dict[str, str]:
    return {
        "event_type": "reply_received", "timestamp": "2026-11-20T14:05:00.000Z", "workspace": "w1", "campaign_id": "c1",
        "campaign_name": "Autumn", "lead_email": f"ann{number}@example.com", "email_account": "you@example.net",
    }  # fmt: skip


def wait_until_applied(server: Server) -> None:
    end = time.monotonic() + 60
    while '"data":[]' not in server.get("/admin/v1/deliveries?state=received")[1]:
        assert time.monotonic() < end, server.log()


def fill(installation: Installation, database: str) -> None:
    """Store what people and tools send; the last webhooks stay for the newer revision to apply."""
    server = installation.serve("--database", database)
    assert server.post("/public/v2/companies", {"domain": "northlight.example"}, **ACME)[0] == 201
    assert server.post("/public/v2/contacts", {"email": "jane@northlight.example", "first_name": "Jane"}, **ACME)[0] == 201
    for number in range(5):
        assert server.post("/public/emailcampaign-webhook/default", webhook(number))[0] < 300
    wait_until_applied(server)
    assert server.stop() == 0
    server = installation.serve("--database", database, "--no-inbox-worker")
    for number in range(5, 8):
        assert server.post("/public/emailcampaign-webhook/default", webhook(number))[0] < 300
    assert server.stop() == 0


def check(installation: Installation, database: str) -> None:
    """Serve, read what was stored, and write."""
    server = installation.serve("--database", database)
    wait_until_applied(server)
    for number in range(8):
        status, text = server.get(f"/public/v2/contacts?email=ann{number}@example.com", **ACME)
        assert (status, '"contact_status":"replied"' in text) == (200, True)
    assert '"Jane"' in server.get("/public/v2/contacts?email=jane@northlight.example", **ACME)[1]
    assert server.post("/public/v2/contacts", {"email": "new@example.com"}, **ACME)[0] == 201
    assert server.post("/public/emailcampaign-webhook/default", webhook(9))[0] < 300
    wait_until_applied(server)
    assert "no differences" in installation.touchbase("verify", "--database", database)
    assert server.stop() == 0


def test_upgrade_with_make__serves_what_an_older_revision_stored(
    installation: Installation, old_tree: Path, empty_sqlite_url: str, empty_postgres_url: str, subtests: pytest.Subtests
) -> None:
    stores = {"sqlite": empty_sqlite_url, "postgresql": empty_postgres_url}
    installation.make_install(old_tree)
    for database in stores.values():
        fill(installation, database)

    installation.make_install(ROOT)

    for engine, database in stores.items():
        with subtests.test(engine):
            if engine == "postgresql":
                refused = installation.run(str(installation.folder / ".venv/bin/touchbase"), "serve", "--port", "0", "--database", database)
                assert (refused.returncode, "run touchbase migrate" in refused.stderr) == (1, True)
                installation.touchbase("migrate", "--database", database)
            check(installation, database)
    assert len(list(Path(empty_sqlite_url.removeprefix("sqlite:///")).parent.glob("touchbase.db.before-*Z"))) == 1


@pytest.mark.weekly  # `test_distribution` installs a wheel; the upgrade is that of `make install`
def test_upgrade_of_a_wheel__serves_what_an_older_revision_stored(
    installation: Installation, old_tree: Path, empty_sqlite_url: str
) -> None:
    installation.install_wheel(old_tree)
    fill(installation, empty_sqlite_url)

    installation.install_wheel(ROOT)

    check(installation, empty_sqlite_url)


def test_server_from_make_install__serves_an_old_store_and_says_its_version(
    installation: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOUCHBASE_ENCRYPTION_KEY", KEY)
    database = make_old_sqlite(tmp_path / "old.db")
    installation.make_install(ROOT)

    server = installation.serve("--database", database)

    assert '"Ann@example.com"' in server.get("/public/v2/contacts?email=ann@example.com", **{"X-Client-Id": "acme"})[1]
    assert server.stop() == 0
    assert len(list(tmp_path.glob("old.db.before-*Z"))) == 1
    assert installation.touchbase("--version").startswith("touchbase ")
    assert not list(installation.folder.glob(".venv/lib/python*/site-packages/touchbase*info"))  # no metadata of a package
