"""README.md: its block runs as it can be pasted, and its numbers and badges are true."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tomllib
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.cli.test_serve import Serve, serve

from touchbase.adapters.registry import load_adapters

__all__ = ["serve"]

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


@pytest.mark.skipif(shutil.which("curl") is None, reason="the block needs curl")
def test_the_block__shows_the_contact_that_the_page_shows(tmp_path: Path) -> None:
    (block,) = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
    port = free_port()
    make = tmp_path / "make"  # `make serve` without its installation, which the tests' own environment has behind it
    make.write_text(f'#!/bin/sh\n[ "$*" = serve ] && exec "{sys.executable}" -m touchbase serve --port {port}\n')
    make.chmod(0o755)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TOUCHBASE_")}
    environment |= {"PATH": f"{tmp_path}:{environment['PATH']}"}

    script = block.replace(":8000", f":{port}") + "kill %1 && wait %1\n"
    done = subprocess.run(
        ["bash", "-mc", script], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False
    )  # fmt: skip

    assert done.returncode == 0, done.stdout + done.stderr
    shown = json.loads(done.stdout.splitlines()[-1])["data"][0]
    written = json.loads(re.findall(r"```json\n(.*?)```", README, re.DOTALL)[0])["data"][0]
    assert {name: shown[name] for name in written if name != "..."} == {name: value for name, value in written.items() if name != "..."}


def test_the_numbers_of_tools__are_those_of_the_adapters() -> None:
    campaign, crm = (len(set(load_adapters([channel]).tools(channel)) - {"generic"}) for channel in ("email_campaign", "crm"))

    assert f"{campaign} campaign tools and {crm} CRMs are read by name" in README
    assert f"reads-{campaign + crm}%20tools" in README


def test_the_badges__say_what_the_project_says_of_itself() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    assert f"license-{project['license'].replace('-', '--')}-" in README
    assert f"python-{project['requires-python'].removeprefix('>=')}%20or%20newer-" in README


def test_the_picture__needs_nothing_from_elsewhere() -> None:
    text = (ROOT / "docs" / "images" / "overview.svg").read_text(encoding="utf-8")
    picture = ElementTree.fromstring(text)

    assert picture.get("viewBox")
    assert re.findall(r"https?://(?!www\.w3\.org/2000/svg)|@import|@font-face|<image|<script", text) == []


def test_make_serve__installs_the_run_time_packages_alone() -> None:
    done = subprocess.run(["make", "-Bn", "serve"], cwd=ROOT, capture_output=True, text=True, check=True)

    assert "-r deploy/requirements.lock" in done.stdout
    assert "-r requirements.lock" not in done.stdout


def test_make_serve__passes_its_address_on() -> None:
    options = ["PORT=8010", "HOST=0.0.0.0"]
    # Of a make that runs the tests, options would be passed on.
    environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    done = subprocess.run(["make", "-Bn", "serve", *options], cwd=ROOT, capture_output=True, text=True, check=True, env=environment)

    assert shlex.split(done.stdout.splitlines()[-1])[1:] == ["serve", "--host", "0.0.0.0", "--port", "8010"]


@pytest.mark.skipif(shutil.which("curl") is None, reason="the blocks need curl")
def test_the_first_hour__runs_as_it_is_written(serve: Serve, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "tutorial" / "first-hour.md").read_text(encoding="utf-8")
    server = serve()
    blocks = [block for block in re.findall(r"```sh\n(.*?)```", page, re.DOTALL) if "make serve" not in block and "PATH=" not in block]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TOUCHBASE_")}
    environment |= {"PATH": f"{Path(sys.executable).parent}:{environment['PATH']}"}
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (tmp_path / "replies.py").write_text(code.replace(":8000", f":{server.port}"))

    script = "\n".join(blocks).replace(":8000", f":{server.port}").replace(".venv/bin/python", sys.executable)
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert len(blocks) == 7
    assert "ann@example.com wrote: Yes please. Can we talk on Thursday?" in done.stdout
    assert '"blocks"' in done.stdout
    assert "instantly" in done.stdout
    assert "?token=" in done.stdout + done.stderr
