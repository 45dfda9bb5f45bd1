"""The service's source, parsed once per process when a test first asks for it."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import touchbase

ROOT = Path(touchbase.__file__).parent


def module_name(path: Path) -> str:
    """The dotted name of a source file."""
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {module_name(path): path for path in sorted(ROOT.rglob("*.py"))}


@cache
def trees() -> dict[str, ast.Module]:
    """Every module by its name."""
    return {module: ast.parse(path.read_text(encoding="utf-8")) for module, path in FILES.items()}
