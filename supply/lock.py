"""The lock files: which packages of which version, with the hashes of their files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
EVERYTHING = ROOT / "requirements.lock"
"""What runs and what builds, tests and checks it."""
RUNS = ROOT / "deploy" / "requirements.lock"
"""What runs alone."""

_ENTRY = re.compile(r"^([A-Za-z0-9._-]+)==([^ ;\\]+)(?: ; ([^\\]+?))? \\$((?:\n    --hash=\S+(?: \\)?$)+)", re.MULTILINE)


@dataclass(frozen=True)
class Package:
    """One pinned package; `marker` says where it is wanted, empty means everywhere."""

    name: str
    version: str
    marker: str
    sha256: tuple[str, ...]


def locked(path: Path) -> list[Package]:
    """The packages of a lock file, by name."""
    text = path.read_text(encoding="utf-8")
    return [
        Package(name, version, marker, tuple(re.findall(r"--hash=sha256:([0-9a-f]{64})", hashes)))
        for name, version, marker, hashes in _ENTRY.findall(text)
    ]
