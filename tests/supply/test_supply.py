"""What we take from others: the locks agree, the list of it is whole and valid, and an audit that could not ask is not green."""

from __future__ import annotations

import json
import re
import tomllib
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from supply.lock import EVERYTHING, ROOT, RUNS, locked

from supply import audit, sbom


def test_runtime_lock__has_the_versions_of_the_test_lock() -> None:
    everything = {package.name: package for package in locked(EVERYTHING)}

    for package in locked(RUNS):
        assert (package.version, package.sha256) == (everything[package.name].version, everything[package.name].sha256)


def test_lock_file__has_hashes_for_every_package_and_no_urls() -> None:
    for path in (EVERYTHING, RUNS):
        text, packages = path.read_text(encoding="utf-8"), locked(path)
        assert len(packages) == len(re.findall(r"^[a-z]", text, re.MULTILINE))
        assert sum(len(package.sha256) for package in packages) == text.count("--hash=")
        assert "://" not in text


def test_runtime_lock__holds_the_project_dependencies_and_no_dev_tools() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = {re.split(r"[^a-z0-9-]", dependency)[0] for dependency in project["dependencies"]} - {sbom.CLIENT}
    runs = {package.name for package in locked(RUNS)}

    assert names <= runs
    assert not runs & {re.split(r"[^a-z0-9-]", item)[0] for item in project["optional-dependencies"]["dev"]}


@pytest.fixture(scope="module")
def bill(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    place = tmp_path_factory.mktemp("sbom") / "deep" / "bill.json"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.argv", ["sbom", str(place)])
        assert sbom.main() == 0
    document: dict[str, Any] = json.loads(place.read_text(encoding="utf-8"))
    return document


def test_sbom__is_valid_cyclonedx(bill: dict[str, Any]) -> None:
    folder = resources.files("cyclonedx.schema") / "_res"
    names = [f"{name}.SNAPSHOT.schema.json" for name in ("bom-1.6", "spdx", "jsf-0.82")]
    schema, *others = [json.loads((folder / name).read_text(encoding="utf-8")) for name in names]
    base = schema["$id"].rpartition("/")[0]
    expected = [(f"{base}/{name}", second) for name, second in zip(names[1:], others, strict=True)]
    validator = jsonschema_rs.validator_for(schema, registry=jsonschema_rs.Registry(expected))

    assert [error.message for error in validator.iter_errors(bill)] == []
    assert not validator.is_valid({**bill, "components": [{"name": 7}]})


def test_sbom__lists_every_runtime_package_with_hash_licence_and_dependencies(bill: dict[str, Any]) -> None:
    parts = {part["name"]: part for part in bill["components"]}
    needs = {dependency["ref"]: dependency.get("dependsOn", []) for dependency in bill["dependencies"]}

    assert [(part["name"], part["version"]) for part in bill["components"]] == [(item.name, item.version) for item in locked(RUNS)]
    assert all(part["hashes"] and part["purl"].startswith(f"pkg:pypi/{name}@") for name, part in parts.items())
    assert [name for name, part in parts.items() if not part.get("licenses") and "properties" not in part] == []
    assert bill["metadata"]["component"]["name"] == "touchbase"
    reached, waiting = set[str](), ["touchbase"]
    while waiting:
        reached.add(ref := waiting.pop())
        waiting += [item for item in needs[ref] if item not in reached]
    assert reached == {"touchbase", "touchbase-client", *(part["bom-ref"] for part in bill["components"])}
    assert [part["name"] for part in bill["metadata"]["component"]["components"]] == ["touchbase-client"]
    assert [ref.partition("==")[0] for ref in needs["touchbase-client"]] == ["httpcore"]


def test_sbom__contains_no_host_name(bill: dict[str, Any]) -> None:
    assert set(re.findall(r"[a-z]+://[^/\"]+", json.dumps(bill))) <= {"http://cyclonedx.org"}


PACKAGES = {"one": "1", "two": "2"}
SOUND, SKIPPED = {"version": "1", "vulns": []}, {"skip_reason": "Dependency not found"}
HOLE = {"version": "1", "vulns": [{"id": "CVE-0000-1", "fix_versions": ["1.1"]}]}


@pytest.mark.parametrize(
    ("answers", "status", "says"),
    [
        ([{"one": SOUND, "two": SOUND}], audit.CLEAN, "2 packages, no known holes"),
        ([{"one": HOLE, "two": SOUND}], audit.HOLES, "HOLE in one: CVE-0000-1 (mended in 1.1)"),
        ([{"one": HOLE, "two": SKIPPED}, None], audit.HOLES, "NOT AUDITED: 1 packages could be looked up, 1 could not"),
        ([{"one": SKIPPED, "two": SKIPPED}, None], audit.UNKNOWN, "NOT AUDITED: no package could be looked up, 2 could not"),
        ([None, {"one": SOUND, "two": SOUND}], audit.CLEAN, "no known holes"),
        ([{"one": SOUND, "two": SKIPPED}, {"one": HOLE, "two": SOUND}], audit.HOLES, "HOLE in one"),
        ([{"one": SOUND}, {}], audit.UNKNOWN, "1 could not"),
        ([None, None], audit.UNKNOWN, "NOT AUDITED"),
    ],
)
def test_audit__passes_only_when_every_package_was_looked_up(
    answers: list[Any], status: int, says: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    coming = iter(answers)

    def report(service: str) -> Any:
        result = next(coming)
        return result and {"dependencies": [{"name": name, **value} for name, value in result.items()]}

    monkeypatch.setattr(audit, "report", report)
    monkeypatch.setattr(audit, "locked", lambda path: [audit_package(*package) for package in PACKAGES.items()])

    assert audit.main() == status
    assert says in "".join(capsys.readouterr())


def audit_package(name: str, version: str) -> Any:
    return type("Package", (), {"name": name, "version": version})()


@pytest.mark.parametrize("prints", ["", "Traceback", "[", '{"dependencies": []}'])
def test_audit__of_a_crashing_auditor_covers_no_package(prints: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    script = tmp_path / "python"
    script.write_text(f"#!/bin/sh\nprintf '%s' '{prints}'\nexit 1\n")
    script.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(script))
    findings = audit.Findings(unknown=set(PACKAGES))

    audit.take(findings, audit.report("pypi"), PACKAGES)

    assert findings.unknown == set(PACKAGES)


def test_ci__continues_after_an_audit_only_when_no_service_was_reachable() -> None:
    steps = (ROOT / ".ci" / "run").read_text(encoding="utf-8")

    assert f"-m supply.audit || [ $? = {audit.UNKNOWN} ]" in steps
