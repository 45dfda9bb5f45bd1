"""What must agree before a version is released: the tag, the versions of both packages, the changelog, the images in deploy/.

make release-check TAG=v1.2.3
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from supply.lock import ROOT

_SECTION = re.compile(r"^## (?P<version>\d+\.\d+\.\d+) \((?P<date>[^)]*)\)\n(?P<text>.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_VERSIONS = {
    "src/touchbase/__init__.py": (re.compile(r'^__version__ = "([^"]+)"', re.MULTILINE), "write {}"),
    "pyproject.toml": (re.compile(r'^  "touchbase-client==([^"]+)",$', re.MULTILINE), "write touchbase-client=={}"),
    "openapi.json": (re.compile(r'^    "version": "([^"]+)"', re.MULTILINE), "run `make docs`"),
}
"""The file, where its version stands, and how to write another. That of the Python client is the version in openapi.json."""
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


def wrong_with(tag: str, root: Path = ROOT) -> list[str]:
    """Return what keeps this tag from being released, each with what to do; empty if nothing does."""
    wanted = tag.removeprefix("v")
    if tag == wanted or not re.fullmatch(r"\d+\.\d+\.\d+", wanted):
        return [f"the tag {tag!r} is no version: write v1.2.3"]
    return [*_packages(wanted, root), *_changelog(wanted, root), *_images(wanted, root)]


def _packages(wanted: str, root: Path) -> list[str]:
    wrong = []
    for name, (pattern, advice) in _VERSIONS.items():
        match = pattern.search((root / name).read_text(encoding="utf-8"))
        version = match[1] if match else "no version"
        if version != wanted:
            wrong.append(f"{name} has {version}: {advice.format(wanted)}")
    return wrong


def _changelog(wanted: str, root: Path) -> list[str]:
    sections = {item["version"]: item for item in _SECTION.finditer((root / "CHANGELOG.md").read_text(encoding="utf-8"))}
    if wanted not in sections:
        return [f"CHANGELOG.md has no section {wanted}: write '## {wanted} (2026-11-26)' with what changed"]
    section = sections[wanted]
    wrong = [] if _DAY.fullmatch(section["date"]) else [f"CHANGELOG.md dates {wanted} {section['date']!r}: write the day, as 2026-11-26"]
    return wrong if section["text"].strip() else [*wrong, f"CHANGELOG.md says nothing about {wanted}: write what changed for users"]


def _images(wanted: str, root: Path) -> list[str]:
    wrong = []
    for path in sorted((root / "deploy" / "kubernetes").glob("*.yaml")):
        for version in re.findall(r"image: \S+/touchbase:(\S+)", path.read_text(encoding="utf-8")):
            if version != wanted:
                wrong.append(f"deploy/kubernetes/{path.name} has the image {version}: write {wanted}")
    return wrong


def main() -> int:
    """Print what is wrong with the tag in the first argument; the exit status is 1 if anything is."""
    if len(sys.argv) != 2:
        print("usage: python -m supply.release v1.2.3", file=sys.stderr)
        return 2
    wrong = wrong_with(sys.argv[1])
    for item in wrong:
        print(f"release: {item}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
