"""The description of the interface is clean to the two usual linters of OpenAPI documents, without a warning.

They come from npm, at the versions and hashes of `linters/package-lock.json`, into `build/npm`. Where that cannot be, the tests are
skipped.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from touchbase.http.openapi import description

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent / "linters"
INSTALLED = Path(__file__).parents[2] / "build" / "npm"
OLDEST_NODE = (20, 19)
"""What the linters ask for."""
QUIET = {"REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true", "NO_COLOR": "1", "npm_config_update_notifier": "false"}
INSTALL = ("ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline", "--fetch-retries=1")
PATIENCE = 180
"""Seconds that npm may take."""


def run(*command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=cwd, env={**os.environ, **QUIET}, capture_output=True, text=True, timeout=PATIENCE, check=False)


def why_no_node() -> str | None:
    if shutil.which("npm") is None or shutil.which("node") is None:
        return "there is no Node.js with npm here"
    version = run("node", "--version", cwd=HERE).stdout.strip()
    found = tuple(int(number) for number in re.findall(r"\d+", version)[:2])
    return None if found >= OLDEST_NODE else f"Node.js {version} is older than the linters take"


def installed() -> Path:
    """The folder of the linters as locked, installed at most once; skips the test where they cannot be had."""
    lock = (HERE / "package-lock.json").read_bytes()
    place = INSTALLED / hashlib.sha256(lock).hexdigest()[:16]
    if place.exists():
        return place
    INSTALLED.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=INSTALLED) as made:
        for name in ("package.json", "package-lock.json"):
            shutil.copy(HERE / name, made)
        try:
            npm = run("npm", *INSTALL, cwd=Path(made))
        except subprocess.TimeoutExpired:
            pytest.skip(f"npm did not bring the linters within {PATIENCE} seconds")
        if npm.returncode:
            pytest.skip(f"npm could not bring the linters: {npm.stderr[-300:]}")
        if not place.exists():  # another run may have been quicker
            shutil.copytree(made, place, symlinks=True)
    return place


@pytest.fixture(scope="module")
def linters() -> Path:
    if (why := why_no_node()) is not None:
        pytest.skip(why)
    return installed() / "node_modules" / ".bin"


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The document in open mode, with keys, and with a public address."""
    folder = tmp_path_factory.mktemp("documents")
    made = {
        "open": description("1", keys_needed=False),
        "keys": description("1", keys_needed=True),
        "public": description("1", keys_needed=True, public_url="https://hooks.acme.test/touchbase"),
    }
    for name, document in made.items():
        (folder / f"{name}.json").write_text(json.dumps(document, indent=1), encoding="utf-8")
    return [str(folder / f"{name}.json") for name in made]


def test_redocly__reports_no_problems(linters: Path, documents: list[str]) -> None:
    config = str(HERE / "redocly.yaml")
    found = [run(str(linters / "redocly"), "lint", "--config", config, "--format", "json", each, cwd=linters) for each in documents]

    assert [json.loads(each.stdout)["problems"] for each in found] == [[] for _ in documents]


def test_spectral__reports_no_problems(linters: Path, documents: list[str]) -> None:
    ruleset = str(HERE / "spectral.yaml")
    found = run(
        str(linters / "spectral"), "lint", "--ruleset", ruleset, "--fail-severity", "hint", "--format", "json", *documents, cwd=linters
    )

    assert found.returncode == 0, found.stdout + found.stderr


def test_linter_lock_file__names_no_registry_and_has_a_hash_for_each_package() -> None:
    packages = json.loads((HERE / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    wanted = json.loads((HERE / "package.json").read_text(encoding="utf-8"))["devDependencies"]

    assert [name for name, package in packages.items() if "resolved" in package] == []
    assert [name for name, package in packages.items() if name and "integrity" not in package] == []
    assert {name: packages[f"node_modules/{name}"]["version"] for name in wanted} == wanted
