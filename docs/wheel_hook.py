"""Build hook: builds the documentation into wheels."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).parents[1]
BUILT = ROOT / "build" / "docs"


class Documentation(BuildHookInterface):  # type: ignore[type-arg]
    """Runs `docs/build.py`, which imports the package and the Python client from this tree."""

    def dependencies(self) -> list[str]:
        """Return what the package imports; the Python client comes from the tree, as no registry may have it."""
        return [text for text in self.metadata.core.dependencies if not text.startswith("touchbase-client")]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the pages; an editable install has none, and its server uses those of `make docs`."""
        if version == "editable":
            return
        paths = [str(ROOT / "src"), str(ROOT / "sdk" / "python" / "src")]
        subprocess.run([sys.executable, str(ROOT / "sdk" / "python" / "generate.py")], check=True)
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
        subprocess.run([sys.executable, str(ROOT / "docs" / "build.py"), str(BUILT)], check=True, env=environment)
        build_data["force_include"][str(BUILT)] = "touchbase/docs"
