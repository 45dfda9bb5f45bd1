"""Links between pages, and from code and deployment files to pages, lead to files and headings that exist."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from docs import build

ROOT = Path(__file__).parents[2]
CODE = ("src", "sdk", "deploy", "bench", "fault_tests", "supply", "tests", "Makefile", "pyproject.toml")


@cache
def committed() -> tuple[Path, ...]:
    """The repository's files: those that Git tracks or would add."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    names = listed.stdout.splitlines() if listed.returncode == 0 else [str(path.relative_to(ROOT)) for path in ROOT.rglob("*.md")]
    return tuple(path for path in (ROOT / name for name in names) if path.is_file() and ".venv" not in path.parts)


PAGES = [path for path in committed() if path.suffix == ".md"]


@cache
def anchors(path: Path) -> frozenset[str]:
    """The anchors of a page's headings, as GitHub makes them; of a page of the documentation those that it has when it is built."""
    text = path.read_text(encoding="utf-8")
    page = build.render(text) if build.DOCS in path.parents else text
    headings = re.findall(r"^#+ (.+)$", re.sub(r"```.*?```", "", page, flags=re.DOTALL), re.MULTILINE)
    texts = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading) for heading in headings]
    return frozenset(re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in texts)


def links(path: Path) -> Iterator[tuple[str, str]]:
    """File and anchor of each relative link, outside code blocks."""
    text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)|(?:src|srcset)=\"([^\"]+)\"", text):
        file, _, anchor = (target[0] or target[1]).partition("#")
        if not re.match(r"[a-z]+:", file):
            yield file, anchor


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links__lead_to_files_and_headings(page: Path) -> None:
    broken = []
    for file, anchor in links(page):
        target = (page.parent / file).resolve() if file else page
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            broken.append(f"{file}#{anchor}")

    assert broken == []


def test_paths_of_pages_in_code__exist() -> None:
    broken = []
    for path in committed():
        if path.relative_to(ROOT).parts[0] not in CODE or path.suffix in {".js", ".css", ".json", ".md"}:
            continue
        named = re.findall(r"docs/[\w/-]+\.(?:md|json|svg)", path.read_text(encoding="utf-8", errors="ignore"))
        broken += [f"{path.relative_to(ROOT)}: {item}" for item in named if not (ROOT / item).exists()]

    assert broken == []


def test_every_page__stands_in_the_index() -> None:
    index = ROOT / "docs" / "README.md"
    listed = {(index.parent / file).resolve() for file, _ in links(index)}

    missing = [page for page in PAGES if (ROOT / "docs") in page.parents and page != index and page not in listed]

    assert [str(page.relative_to(ROOT)) for page in missing if page.parent.name != "decisions"] == []
