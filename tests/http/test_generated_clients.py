"""Four generators make clients of the OpenAPI document, and each client works against a running server.

The generators come from PyPI and npm at the versions and hashes of the lock files in `generators`, into `build`. Where they cannot be
had, the tests are skipped.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli.test_serve import Server
from tests.http.node_tools import node_modules

pytestmark = pytest.mark.weekly

FOLDER = Path(__file__).parent / "generators"
INSTALLED = Path(__file__).parents[2] / "build" / "python"
PATIENCE = 240
"""Seconds that an installation or a generator may take."""
EXPECTED = {
    "pages": [["ann@example.com", "ben@example.com"], ["eve@example.com"]],
    "refused": ["duplicate", True],
    "missing": ["not_found", 404],
}
COMPILE = (
    "--strict",
    "--skipLibCheck",
    "--target",
    "es2022",
    "--module",
    "node16",
    "--moduleResolution",
    "node16",
    "--lib",
    "es2023,dom,dom.iterable",
)
UNREAD = ("text/csv", "x-ndjson", "spreadsheetml.sheet", "apache.parquet")
"""Media types of files that openapi-python-client cannot send; it sends them as `application/octet-stream`."""


@pytest.fixture(scope="module")
def python() -> Path:
    """The Python of an environment with the generators."""
    lock = FOLDER / "requirements.lock"
    place = INSTALLED / hashlib.sha256(lock.read_bytes() + sys.version.encode()).hexdigest()[:16]
    if not place.exists():
        INSTALLED.mkdir(parents=True, exist_ok=True)
        path = Path(tempfile.mkdtemp(dir=INSTALLED))
        _run(sys.executable, "-m", "venv", str(path), cwd=path)
        install = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes", "--only-binary", ":all:")
        pip = subprocess.run([path / "bin" / "python", *install, "-r", lock], capture_output=True, text=True, timeout=PATIENCE, check=False)
        if pip.returncode:
            shutil.rmtree(path)
            pytest.skip(f"pip could not bring the generators: {pip.stderr[-300:]}")
        try:
            path.rename(place)
        except OSError:  # another run was quicker
            shutil.rmtree(path)
    return place / "bin" / "python"


@pytest.fixture(scope="module")
def packages() -> Path:
    return node_modules(FOLDER)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """The address of a server that asks for keys, and a key of one client."""
    server = Server(tmp_path, ("--auth", "api-key"))
    first = {"Authorization": f"Bearer {server.banner.partition('tb_')[1]}{server.banner.partition('tb_')[2].split()[0]}"}
    server.post("/admin/v1/clients", {"client_id": "acme"}, **first)
    _, key = server.post("/admin/v1/keys", {"name": "generated", "client_id": "acme"}, **first)
    document = server.get("/openapi.json")[1]
    (tmp_path / "openapi.json").write_text(document, encoding="utf-8")
    yield f"http://127.0.0.1:{server.port}", key["key"]
    server.clean_up()


def _run(*command: str, cwd: Path) -> str:
    """The output of a program that has to succeed."""
    environment = {**os.environ, "PATH": f"{Path(command[0]).parent}{os.pathsep}{os.environ['PATH']}", "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _came_back(*command: str, cwd: Path) -> Any:
    return json.loads(_run(*command, cwd=cwd))


def test_openapi_python_client__creates_lists_and_reads_errors(python: Path, served: tuple[str, str], tmp_path: Path) -> None:
    options = ("--path", "openapi.json", "--output-path", "made", "--meta", "none")

    said = _run(str(python), "-m", "openapi_python_client", "generate", *options, cwd=tmp_path)
    shutil.copy(FOLDER / "use_openapi_python_client.py", tmp_path)

    lacking = [line for line in said.splitlines() if "nsupported" in line or "cannot parse" in line.lower()]
    assert [line for line in lacking if not line.endswith(UNREAD)] == [], said
    assert _came_back(str(python), "use_openapi_python_client.py", *served, cwd=tmp_path) == EXPECTED


def test_datamodel_code_generator__reads_and_writes_every_body(python: Path, served: tuple[str, str], tmp_path: Path) -> None:
    options = ("--input-file-type", "openapi", "--output-model-type", "pydantic_v2.BaseModel", "--target-python-version", "3.11")

    _run(str(python), "-m", "datamodel_code_generator", "--input", "openapi.json", "--output", "made.py", *options, cwd=tmp_path)
    shutil.copy(FOLDER / "use_datamodel_code_generator.py", tmp_path)

    assert _came_back(str(python), "use_datamodel_code_generator.py", *served, cwd=tmp_path) == EXPECTED


@pytest.mark.parametrize(
    ("program", "generate"),
    [
        ("use_openapi_fetch", ("openapi-typescript", "openapi.json", "-o", "made.ts")),
        ("use_hey_api", ("openapi-ts", "-i", "openapi.json", "-o", "made", "--no-log-file")),
    ],
)
def test_typescript_client__creates_lists_and_reads_errors(
    packages: Path, served: tuple[str, str], tmp_path: Path, program: str, generate: tuple[str, ...]
) -> None:
    (tmp_path / "node_modules").symlink_to(packages)

    _run(str(packages / ".bin" / generate[0]), *generate[1:], cwd=tmp_path)
    shutil.copy(FOLDER / f"{program}.ts", tmp_path)
    _run(str(packages / ".bin" / "tsc"), *COMPILE, "--outDir", "out", f"{program}.ts", cwd=tmp_path)

    assert _came_back("node", f"out/{program}.js", *served, cwd=tmp_path) == EXPECTED
