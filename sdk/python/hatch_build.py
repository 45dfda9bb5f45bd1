"""Build hook: makes the generated part of the package, and puts the OpenAPI document into source distributions."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).parent


class GeneratedCode(BuildHookInterface):  # type: ignore[type-arg]
    """Runs `generate.py`, which needs the standard library only."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the generated code."""
        subprocess.run([sys.executable, str(ROOT / "generate.py")], check=True)
        document = ROOT.parents[1] / "openapi.json"
        if self.target_name == "sdist" and not (ROOT / "openapi.json").exists():
            build_data["force_include"][str(document)] = "openapi.json"
