"""What keeps a tag from being released, and the workflows that release it."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from supply.lock import ROOT
from supply.release import wrong_with

import touchbase

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The files that a release looks at, as they are right for 1.2.3."""
    (tmp_path / "src" / "touchbase").mkdir(parents=True)
    (tmp_path / "src" / "touchbase" / "__init__.py").write_text('"""Touchbase."""\n\n__version__ = "1.2.3"\n')
    (tmp_path / "pyproject.toml").write_text('dependencies = [\n  "touchbase-client==1.2.3",\n]\n')
    (tmp_path / "openapi.json").write_text('{\n  "info": {\n    "version": "1.2.3",\n  }\n}\n')
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## 1.2.3 (2027-01-05)\n\n- New.\n\n## 1.2.2 (2026-12-24)\n\n- Old.\n")
    shutil.copytree(ROOT / "deploy" / "kubernetes", tmp_path / "deploy" / "kubernetes")
    for path in (tmp_path / "deploy" / "kubernetes").iterdir():
        path.write_text(re.sub(r"/touchbase:\S+", "/touchbase:1.2.3", path.read_text()))
    return tmp_path


def test_release_check__finds_nothing_in_a_tree_that_agrees(tree: Path) -> None:
    assert wrong_with("v1.2.3", tree) == []


@pytest.mark.parametrize(
    ("path", "before", "after", "said"),
    [
        ("src/touchbase/__init__.py", "1.2.3", "1.2.2", "src/touchbase/__init__.py has 1.2.2: write 1.2.3"),
        ("pyproject.toml", "1.2.3", "1.2.2", "pyproject.toml has 1.2.2: write touchbase-client==1.2.3"),
        ("openapi.json", "1.2.3", "1.2.2", "openapi.json has 1.2.2: run `make docs`"),
        ("CHANGELOG.md", "## 1.2.3 (2027-01-05)", "## Unreleased", "no section 1.2.3"),
        ("CHANGELOG.md", "2027-01-05", "unreleased", "dates 1.2.3 'unreleased'"),
        ("CHANGELOG.md", "- New.\n\n", "", "says nothing about 1.2.3"),
        ("deploy/kubernetes/migrate.yaml", "touchbase:1.2.3", "touchbase:1.2.2", "migrate.yaml has the image 1.2.2"),
    ],
)
def test_release_check__says_what_does_not_agree(tree: Path, path: str, before: str, after: str, said: str) -> None:
    changed = tree / path
    changed.write_text(changed.read_text().replace(before, after))

    [wrong] = wrong_with("v1.2.3", tree)

    assert said in wrong


def test_release_check__reads_the_versions_of_this_tree() -> None:
    assert [fault for fault in wrong_with(f"v{touchbase.__version__}") if " has " in fault and "CHANGELOG" not in fault] == []


def test_release_check__wants_a_version_as_the_tag(tree: Path) -> None:
    assert wrong_with("1.2.3", tree) == ["the tag '1.2.3' is no version: write v1.2.3"]
    assert wrong_with("v1.2", tree) == ["the tag 'v1.2' is no version: write v1.2.3"]


def jobs(path: Path) -> dict[str, Any]:
    result: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"]
    return result


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflow__pins_actions_by_commit_and_calls_what_developers_call(path: Path) -> None:
    targets = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for job in jobs(path).values():
        assert job["timeout-minutes"] <= 90
        for step in job["steps"]:
            if "uses" in step:
                assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", step["uses"]), step["uses"]
            elif step["run"].startswith("make "):
                assert {word for word in step["run"].split()[1:] if "=" not in word} <= targets
            elif step["run"].startswith("bash "):
                assert (ROOT / step["run"].split()[1]).exists()


def test_workflows__have_no_token_and_write_nothing_but_the_release() -> None:
    for path in WORKFLOWS:
        assert "secrets." not in path.read_text(encoding="utf-8")
        assert yaml.safe_load(path.read_text(encoding="utf-8"))["permissions"] == {"contents": "read"}
    writing = {name: job["permissions"] for path in WORKFLOWS for name, job in jobs(path).items() if "permissions" in job}
    assert writing == {"publish": {"id-token": "write"}}


def test_release__publishes_only_what_was_tested_and_tried() -> None:
    result = jobs(ROOT / ".github" / "workflows" / "release.yml")
    steps = [step.get("run", "") for step in result["build"]["steps"]]

    assert steps.index("bash .ci/run") < steps.index("make dist sbom")
    assert (result["try"]["needs"], result["publish"]["needs"]) == ("build", "try")


@pytest.mark.skipif(
    not shutil.which("zizmor") and not (ROOT / ".venv" / "bin" / "zizmor").exists(), reason="zizmor is not here: make checkers"
)
def test_workflows__have_no_hole_that_zizmor_knows() -> None:
    program = shutil.which("zizmor") or str(ROOT / ".venv" / "bin" / "zizmor")
    done = subprocess.run([program, "--offline", "--no-progress", str(ROOT / ".github")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
