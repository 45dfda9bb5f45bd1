"""What people install: the wheel is built, installed into an empty environment, and driven from there."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from supply.lock import ROOT
from tests.cli.test_serve import Server

import touchbase

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the source distributions of the server and of the client, and the wheels that are made from them."""
    folder = tmp_path_factory.mktemp("built")
    for source in (ROOT, ROOT / "sdk" / "python"):
        command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(source)]
        subprocess.run(command, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    return built / f"touchbase-{touchbase.__version__}-py3-none-any.whl"


@pytest.fixture(scope="module")
def client_wheel(built: Path) -> Path:
    return built / f"touchbase_client-{touchbase.__version__}-py3-none-any.whl"


@pytest.fixture(scope="module")
def installed(wheel: Path, client_wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs of an environment that has both wheels."""
    return environment(tmp_path_factory.mktemp("installed"), wheel, client_wheel)


def environment(place: Path, *wheels: Path) -> Path:
    """Return the folder of programs of a new environment with these wheels.

    What they depend on comes from the environment of the tests, since no test asks a registry; the sources there are left out.
    """
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place)], check=True)
    if wheels:
        pip = [sys.executable, "-m", "pip", "--python", str(place / "bin" / "python"), "install", "--quiet", "--no-deps", "--no-index"]
        subprocess.run([*pip, *map(str, wheels)], check=True)
    requested = [str(place / "bin" / "python"), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    packages = Path(subprocess.run(requested, check=True, capture_output=True, text=True).stdout.strip())
    paths = {sysconfig.get_path("purelib"), *(item for item in sys.path if item.endswith("site-packages"))}
    (packages / "dependencies.pth").write_text("\n".join(sorted(paths)) + "\n")
    return place / "bin"


@pytest.fixture
def server(installed: Path, tmp_path: Path) -> Iterator[Server]:
    running = Server(tmp_path, (), (str(installed / "touchbase"),))
    yield running
    running.clean_up()


def test_wheel__has_the_console_the_docs_and_the_types(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())

    for needed in ("console/static/index.html", "docs/README.md", "docs/how-to/deploy.md", "py.typed"):
        assert f"touchbase/{needed}" in names
    assert {name.partition("/")[0] for name in names} == {"touchbase", f"touchbase-{touchbase.__version__}.dist-info"}
    assert not [name for name in names if "node_modules" in name or name.endswith(".pyc") or name.startswith("touchbase/docs/build")]


def test_wheel__has_the_built_pages(wheel: Path) -> None:
    page = zipfile.ZipFile(wheel).read("touchbase/docs/reference/cli.md").decode()

    assert "\n## `touchbase serve`\n" in page
    assert "{commands}" not in page


def test_client_wheel__has_the_generated_code_and_needs_httpcore_alone(client_wheel: Path) -> None:
    file = zipfile.ZipFile(client_wheel)
    names = set(file.namelist())
    [metadata] = [name for name in names if name.endswith("/METADATA")]
    requires = [line for line in file.read(metadata).decode().splitlines() if line.startswith("Requires-Dist: ")]

    for generated in ("models.py", "requests.py", "_version.py", "_async/groups.py", "_sync/client.py", "_sync/groups.py", "py.typed"):
        assert f"touchbase_client/{generated}" in names
    assert requires == ["Requires-Dist: httpcore[asyncio]>=1.0.9"]
    assert any(name.endswith("/licenses/LICENSE") for name in names)
    assert file.read("touchbase_client/_version.py").decode().endswith(f'VERSION = "{touchbase.__version__}"\n')


def test_wheel__needs_the_client_of_its_version(wheel: Path) -> None:
    [metadata] = [name for name in zipfile.ZipFile(wheel).namelist() if name.endswith("/METADATA")]

    assert f"Requires-Dist: touchbase-client=={touchbase.__version__}" in zipfile.ZipFile(wheel).read(metadata).decode()


def test_wheel__offers_the_extras_of_the_project(wheel: Path) -> None:
    requested = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    [name] = [item for item in zipfile.ZipFile(wheel).namelist() if item.endswith("/METADATA")]
    lines = zipfile.ZipFile(wheel).read(name).decode().splitlines()

    assert f"Version: {touchbase.__version__}" in lines
    assert {line.removeprefix("Provides-Extra: ") for line in lines if line.startswith("Provides-Extra: ")} == set(requested)


def test_source_distribution__has_what_the_tests_need(built: Path) -> None:
    with tarfile.open(built / f"touchbase-{touchbase.__version__}.tar.gz") as file:
        names = {name.partition("/")[2] for name in file.getnames()}

    assert {
        "Makefile",
        "openapi.json",
        "requirements.lock",
        "sdk/python/generate.py",
        "deploy/requirements.lock",
        ".ci/run",
        "tests/conftest.py",
        "console/package-lock.json",
    } <= names
    assert not [name for name in names if "node_modules" in name]


def test_installed_wheel__takes_a_webhook_and_shows_its_contact(server: Server) -> None:
    assert server.post("/public/v2/contacts", {"email": "jane@northlight.example"}, **{"X-Client-Id": "acme"})[0] == 201
    assert server.post("/public/emailcampaign-webhook/acme", {"event": "email_replied", "email": "jane@northlight.example"})[0] < 300
    status, text = server.get("/public/v2/contacts?email=jane@northlight.example", **{"X-Client-Id": "acme"})
    assert (status, '"jane@northlight.example"' in text) == (200, True)
    assert server.get("/console/")[0] == 200
    assert server.get("/openapi.json")[0] == 200
    assert "`POST /public/v2/contacts`" in server.get("/docs/reference/api.md")[1]
    assert server.stop() == 0


def test_installed_wheel__runs_from_its_own_files(installed: Path, tmp_path: Path) -> None:
    requested = [str(installed / "python"), "-c", "import touchbase; print(touchbase.__file__)"]
    stdout = subprocess.run(requested, cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    assert Path(stdout).is_relative_to(installed.parent)

    version = subprocess.run([str(installed / "touchbase"), "--version"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    assert version == f"touchbase {touchbase.__version__}\n"


def test_installed_client__calls_a_server_without_the_servers_package(client_wheel: Path, server: Server, tmp_path: Path) -> None:
    program = (
        "import asyncio, importlib.metadata as m\n"
        "from touchbase_client import AsyncTouchbase, Touchbase, __file__, __version__\n"
        f"url = 'http://127.0.0.1:{server.port}'\n"
        "Touchbase(url, client_id='acme').contacts.create({'email': 'jane@northlight.example'})\n"
        "contacts = asyncio.run(AsyncTouchbase(url, client_id='acme').contacts.list())['data']\n"
        "print(__file__, contacts[0]['email'], __version__, m.version('touchbase-client'))\n"
    )
    python = environment(tmp_path / "client", client_wheel) / "python"

    printed = subprocess.run([str(python), "-c", program], cwd=tmp_path, check=True, capture_output=True, text=True).stdout.split()

    assert Path(printed[0]).is_relative_to(tmp_path / "client")
    assert printed[1:] == ["jane@northlight.example", touchbase.__version__, touchbase.__version__]


def test_client__is_installed_from_the_tree_without_a_registry(tmp_path: Path) -> None:
    python = environment(tmp_path / "client") / "python"
    packages = next((tmp_path / "client").glob("lib/python*/site-packages"))
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation"]
    subprocess.run([*command, "--target", str(packages), str(ROOT / "sdk" / "python")], check=True, cwd=tmp_path)

    program = "import touchbase_client; print(touchbase_client.__file__, touchbase_client.Touchbase('http://127.0.0.1').contacts.list)"
    printed = subprocess.run([str(python), "-c", program], check=True, capture_output=True, text=True, cwd=tmp_path).stdout

    assert printed == f"{packages}/touchbase_client/__init__.py <operation list_contacts>\n"
