"""The console's files in the package are what its sources make, and small."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "console"
BUILT = ROOT / "src" / "touchbase" / "console" / "static"
FIRST_SCRIPTS = 110_000
"""Most bytes of the scripts that the first page loads, compressed."""
SCRIPTS = 198_000
"""Most bytes of all scripts, compressed."""
STYLE = 15_000
"""Most bytes of the style, compressed."""
LATIN = 49_000
"""Most bytes of the one font that a page in Latin script needs."""

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="there is no Node here to build the console with (Debian: nodejs npm)")
needs_packages = pytest.mark.skipif(
    not (SOURCES / "node_modules" / "esbuild").exists(), reason="the console's npm packages are not installed: npm ci in console/"
)


@pytest.mark.slow
@needs_node
@needs_packages
def test_built_files__are_what_the_sources_make(tmp_path: Path) -> None:
    subprocess.run(["node", "build.mjs", str(tmp_path / "static")], cwd=SOURCES, check=True, timeout=120)

    assert _files(tmp_path / "static") == _files(BUILT), "run `make console` and commit src/touchbase/console/static"


@pytest.mark.slow
@needs_node
@needs_packages
def test_sources__have_sound_types() -> None:
    checked = subprocess.run(["npm", "run", "--silent", "types"], cwd=SOURCES, capture_output=True, text=True, timeout=300, check=False)

    assert ("error" in checked.stdout, checked.returncode) == (False, 0), checked.stdout


def test_built_files__are_small() -> None:
    sizes = {name: len(content if name.endswith("woff2") else gzip.compress(content, 9)) for name, content in _files(BUILT).items()}
    scripts = {name: size for name, size in sizes.items() if name.endswith(".js")}

    assert sum(scripts.values()) < SCRIPTS
    assert sum(size for name, size in scripts.items() if not name.startswith("assets/more-")) < FIRST_SCRIPTS
    assert sum(size for name, size in sizes.items() if name.endswith(".css")) < STYLE
    assert next(size for name, size in sizes.items() if name.startswith("assets/inter-latin-wght")) < LATIN


def test_page__asks_for_the_latin_font_that_the_style_names() -> None:
    preloaded = re.search(
        r'rel="preload" href="\{base\}(assets/inter-latin-wght-[\w-]+\.woff2)"', (BUILT / "index.html").read_text("utf-8")
    )
    style = "".join(content.decode() for name, content in _files(BUILT).items() if name.endswith(".css"))

    assert preloaded
    assert Path(preloaded[1]).name in style


def test_sources__have_no_any() -> None:
    texts = {path.name: path.read_text(encoding="utf-8") for path in (SOURCES / "src").rglob("*.ts*")}

    assert [name for name, text in texts.items() if re.search(r"[:<]\s*any\b|\bas any\b|@ts-", text)] == []


def test_lock_file__names_each_package_with_its_hash_and_no_address() -> None:
    locked = json.loads((SOURCES / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    wanted = json.loads((SOURCES / "package.json").read_text(encoding="utf-8"))

    assert all("resolved" not in each for each in locked.values())
    assert all("integrity" in each for name, each in locked.items() if name)
    assert locked[""]["dependencies"] == wanted["dependencies"]
    assert all(re.fullmatch(r"[\d.]+", version) for version in (wanted["dependencies"] | wanted["devDependencies"]).values())


def _files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
