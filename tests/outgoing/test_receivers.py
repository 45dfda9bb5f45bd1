"""The receivers on the page for people who receive events work as they are written there."""

from __future__ import annotations

import http.client
import importlib
import re
import shutil
import subprocess
import time
from pathlib import Path
from types import ModuleType

import pytest

from touchbase.outgoing.signatures import signature_headers

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "receive-events.md"
BODY = b'{"type":"contact.replied","timestamp":"2026-11-26T09:00:00Z","data":{"id":"evt_1","object":{"email":"jane@example.com"}}}'


EXPRESS_STAND_IN = """
const http = require("node:http");
function express() {
  const routes = {};
  const app = http.createServer((request, response) => {
    const pieces = [];
    request.get = (name) => request.headers[name];
    response.sendStatus = (status) => { response.statusCode = status; response.end(); };
    request.on("data", (piece) => pieces.push(piece)).on("end", () => {
      request.body = Buffer.concat(pieces);
      routes[request.url] ? routes[request.url](request, response) : response.sendStatus(404);
    });
  });
  app.post = (path, raw, handler) => { routes[path] = handler; };
  return app;
}
express.raw = () => null;
module.exports = express;
"""
"""The part of Express that the page uses, for machines without it."""
LISTEN = """
const started = app.listen(0, "127.0.0.1", () => console.log("port", started.address().port));
"""


def block(language: str) -> str:
    """The page's code in a language."""
    match = re.search(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert match is not None
    return match[1]


def signed() -> dict[str, str]:
    """Headers of the event, signed with the secret on the page."""
    secret = re.search(r'"(whsec_[^"]+)"', PAGE.read_text(encoding="utf-8"))
    assert secret is not None
    return signature_headers([secret[1]], "evt_1", time.time_ns() // 1000, BODY)


@pytest.fixture
def receiver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The page's Python block as a module."""
    (tmp_path / "receiver_of_the_page.py").write_text(block("python"), encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    return importlib.import_module("receiver_of_the_page")


def test_flask_receiver__takes_a_signed_event_and_no_other(receiver: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    headers = signed()
    flask = receiver.app.test_client()

    taken = flask.post("/hooks/touchbase", data=BODY, headers=headers)
    changed = flask.post("/hooks/touchbase", data=BODY.replace(b"jane", b"joan"), headers=headers)

    assert taken.status_code == 204
    assert capsys.readouterr().out == "evt_1 contact.replied {'email': 'jane@example.com'}\n"
    assert changed.status_code == 500


@pytest.fixture(params=["express", "a stand-in for express on node:http"])
def node_folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A folder where Node finds Express (`NODE_PATH` may name where it is installed), or the stand-in."""
    if shutil.which("node") is None:
        pytest.skip("there is no Node here: the receiver in Express is not run")
    if request.param != "express":
        module = tmp_path / "node_modules" / "express"
        module.mkdir(parents=True)
        (module / "index.js").write_text(EXPRESS_STAND_IN, encoding="utf-8")
    elif subprocess.run(["node", "-e", "require.resolve('express')"], cwd=tmp_path, capture_output=True, check=False).returncode:
        pytest.skip("Express is not installed here (npm install express; NODE_PATH): the receiver runs on a stand-in only")
    return tmp_path


@pytest.mark.slow
def test_express_receiver__takes_a_signed_event_and_no_other(node_folder: Path) -> None:
    (node_folder / "receiver.js").write_text(block("js") + LISTEN, encoding="utf-8")
    headers = signed()
    late = {**headers, "webhook-timestamp": str(int(headers["webhook-timestamp"]) - 600)}
    node = subprocess.Popen(["node", "receiver.js"], cwd=node_folder, stdout=subprocess.PIPE, text=True)
    assert node.stdout is not None
    try:
        port = int(node.stdout.readline().split()[1])
        statuses = [post(port, BODY, headers), post(port, BODY.replace(b"jane", b"joan"), headers), post(port, BODY, late)]
    finally:
        node.kill()
        said, _ = node.communicate()

    assert statuses == [204, 401, 401]
    assert said == "evt_1 contact.replied\n"


def post(port: int, body: bytes, headers: dict[str, str]) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("POST", "/hooks/touchbase", body, {"content-type": "application/json", **headers})
    status = connection.getresponse().status
    connection.close()
    return status
