"""Programs from npm for tests, at the versions and hashes of a folder's `package-lock.json`, installed at most once into `build/npm`."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

INSTALLED = Path(__file__).parents[2] / "build" / "npm"
OLDEST_NODE = (20, 19)
"""What the linters and generators ask for."""
QUIET = {"REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true", "NO_COLOR": "1", "npm_config_update_notifier": "false"}
INSTALL = ("ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline", "--fetch-retries=1")
PATIENCE = 180
"""Seconds that npm may take."""


def run(*command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=cwd, env={**os.environ, **QUIET}, capture_output=True, text=True, timeout=PATIENCE, check=False)


def node_modules(folder: Path) -> Path:
    """The installed packages of this folder's lock file; skips the test where they cannot be had."""
    if (why := _why_no_node(folder)) is not None:
        pytest.skip(why)
    return _installed(folder) / "node_modules"


def _why_no_node(folder: Path) -> str | None:
    if shutil.which("npm") is None or shutil.which("node") is None:
        return "there is no Node.js with npm here"
    version = run("node", "--version", cwd=folder).stdout.strip()
    result = tuple(int(number) for number in re.findall(r"\d+", version)[:2])
    return None if result >= OLDEST_NODE else f"Node.js {version} is older than the tools take"


def _installed(folder: Path) -> Path:
    lock = (folder / "package-lock.json").read_bytes()
    place = INSTALLED / hashlib.sha256(lock).hexdigest()[:16]
    if place.exists():
        return place
    INSTALLED.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=INSTALLED) as temporary_directory:
        for name in ("package.json", "package-lock.json"):
            shutil.copy(folder / name, temporary_directory)
        try:
            npm = run("npm", *INSTALL, cwd=Path(temporary_directory))
        except subprocess.TimeoutExpired:
            pytest.skip(f"npm did not bring the packages within {PATIENCE} seconds")
        if npm.returncode:
            pytest.skip(f"npm could not bring the packages: {npm.stderr[-300:]}")
        if not place.exists():  # another run may have been quicker
            shutil.copytree(temporary_directory, place, symlinks=True)
    return place
