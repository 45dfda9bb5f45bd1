"""The description of the interface is clean to the two usual linters of OpenAPI documents, without a warning.

They come from npm, at the versions and hashes of `linters/package-lock.json`, into `build/npm`. Where that cannot be, the tests are
skipped.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.http.node_tools import node_modules, run

from touchbase.routes import description

pytestmark = pytest.mark.weekly

HERE = Path(__file__).parent
FOLDER = HERE / "linters"


@pytest.fixture(scope="module")
def linters() -> Path:
    return node_modules(FOLDER) / ".bin"


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The document in open mode, with keys, and with a public address."""
    folder = tmp_path_factory.mktemp("documents")
    created = {
        "open": description("1", keys_needed=False),
        "keys": description("1", keys_needed=True),
        "public": description("1", keys_needed=True, public_url="https://hooks.acme.test/touchbase"),
    }
    for name, document in created.items():
        (folder / f"{name}.json").write_text(json.dumps(document, indent=1), encoding="utf-8")
    return [str(folder / f"{name}.json") for name in created]


def test_redocly__reports_no_problems(linters: Path, documents: list[str]) -> None:
    config = str(FOLDER / "redocly.yaml")
    results = [
        run(str(linters / "redocly"), "lint", "--config", config, "--format", "json", document, cwd=linters) for document in documents
    ]

    assert [json.loads(item.stdout)["problems"] for item in results] == [[] for _ in documents]


def test_spectral__reports_no_problems(linters: Path, documents: list[str]) -> None:
    ruleset = str(FOLDER / "spectral.yaml")
    result = run(
        str(linters / "spectral"), "lint", "--ruleset", ruleset, "--fail-severity", "hint", "--format", "json", *documents, cwd=linters
    )

    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("folder", ["linters", "generators"])
def test_npm_lock_file__names_no_registry_and_has_a_hash_for_each_package(folder: str) -> None:
    packages = json.loads((HERE / folder / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    wanted = json.loads((HERE / folder / "package.json").read_text(encoding="utf-8"))["devDependencies"]

    assert [name for name, package in packages.items() if "resolved" in package] == []
    assert [name for name, package in packages.items() if name and "integrity" not in package] == []
    assert {name: packages[f"node_modules/{name}"]["version"] for name in wanted} == wanted
