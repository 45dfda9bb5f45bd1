"""Recipes for n8n, Zapier and Make: files to import that fit the interface, and whose requests the server takes."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.house import House

from touchbase.event_log.models import EVENT_TYPES
from touchbase.routes import description

ROOT = Path(__file__).parents[2]
RECIPES = ROOT / "integrations" / "recipes"
FILES = sorted(RECIPES.rglob("*.json"))
READ = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in FILES}
PAGE = ROOT / "docs" / "how-to" / "use-n8n-zapier-make.md"
PATHS = description("1", keys_needed=True)["paths"]
BASE = "https://touchbase.example.com"
SENT = re.compile(r"(?:contact|company|message|status|suppression|delivery|connection)\.(?:[a-z]+ed|sent|silent|[a-z]+_changed)\b")

ZAPIER = """
const app = require(process.argv[1]);
const given = JSON.parse(process.argv[2]);
const sent = [];
const z = { request: async (options) => { sent.push(options); return { status: 200, data: { data: [{ id: "evt_1" }] } }; } };
const bundle = {
  authData: { url: "https://touchbase.example.com/" }, targetUrl: "https://hooks.zapier.example/1", subscribeData: { id: 7 },
  cleanedRequest: { id: "evt_1" }, inputData: { type: "message.received", ...given },
};
(async () => {
  const { performSubscribe, performUnsubscribe, performList, perform } = app.triggers.event.operation;
  await performSubscribe(z, bundle); await performUnsubscribe(z, bundle);
  const listed = await performList(z, bundle), hooked = await perform(z, bundle);
  for (const each of Object.values(app.creates)) await each.operation.perform(z, bundle);
  console.log(JSON.stringify({ sent, listed, hooked, events: app.triggers.event.operation.inputFields[0].choices }));
})();
"""


def requests(recipe: Any) -> Iterator[tuple[str, str, str | None]]:
    """Method, path and body of each request of an n8n workflow or a Make blueprint."""
    for node in recipe.get("nodes", []):
        if node["type"] == "n8n-nodes-base.httpRequest":
            parameters = node["parameters"]
            yield parameters["method"], parameters["url"].removeprefix("="), parameters.get("jsonBody")
    for module in recipe.get("flow", []):
        if module["module"] == "http:ActionSendData":
            yield module["mapper"]["method"].upper(), module["mapper"]["url"], module["mapper"].get("data")


def path_of(url: str, number: object = "{id}") -> str:
    """The path of an address in a recipe, a record's id in the place of an expression."""
    assert url.startswith(BASE), url
    return re.sub(r"\{\{.*?\}\}", str(number), url.removeprefix(BASE))


def test_recipes__are_json_whose_steps_follow_each_other() -> None:
    assert {"n8n-with-node.json", "n8n-without-node.json", "make-reply.json", "package.json"} <= READ.keys()
    for name in ("n8n-with-node.json", "n8n-without-node.json"):
        names = [node["name"] for node in READ[name]["nodes"]]
        reached = [to["node"] for connection in READ[name]["connections"].values() for output in connection["main"] for to in output]
        assert (names[1:], READ[name]["active"]) == (reached, False)
    assert [module["id"] for module in READ["make-reply.json"]["flow"]] == [1, 2, 3]


@pytest.mark.parametrize("name", [file.name for file in FILES if "zapier" not in file.parts])
async def test_requests_of_a_recipe__are_taken_by_the_server(name: str, house: House) -> None:
    number = await house.contact(email="jane@example.com")

    for method, url, body in requests(READ[name]):
        assert method.lower() in PATHS[path_of(url)]
        reply = await house.request(method, path_of(url, number), None if body is None else json.loads(body))
        assert reply.status == 200, (url, reply.body)
    if name != "n8n-with-node.json":
        assert (await house.get(number))["contact_status"] == "wants_call"


@pytest.mark.parametrize("path", [PAGE, *FILES, RECIPES / "zapier" / "index.js"], ids=lambda path: path.name)
def test_events_and_paths_in_recipes__exist(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    paths = {item.rstrip("/") for item in re.findall(r"/public/v2/[a-z/-]+", text)}

    assert [item for item in SENT.findall(text) if item not in set(EVENT_TYPES)] == []
    assert [item for item in sorted(paths) if item not in PATHS and item + "/{id}" not in PATHS] == []


def test_page__names_every_recipe_and_no_other_file() -> None:
    named = re.findall(r"\(\.\./\.\./(integrations/[^)#]+)\)", PAGE.read_text(encoding="utf-8"))

    assert len(named) == 4
    assert [name for name in named if not (ROOT / name).exists()] == []


@pytest.fixture
def ran() -> Any:
    """What the app for Zapier sends when a Zap is turned on, shows samples, acts, and is turned off."""
    value = {"email": "jane@example.com", "first_name": "Jane", "last_name": "", "value": "bob@example.net"}
    program = ["node", "-e", ZAPIER, str(RECIPES / "zapier" / "index.js"), json.dumps(value)]
    return json.loads(subprocess.run(program, capture_output=True, text=True, timeout=60, check=True).stdout)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("node") is None, reason="there is no Node here to run the app for Zapier (Debian: nodejs)")
async def test_zapier_app__subscribes_lists_samples_and_unsubscribes(ran: Any, house: House) -> None:
    assert (ran["listed"], ran["hooked"]) == ([{"id": "evt_1"}], [{"id": "evt_1"}])
    assert [event for event in ran["events"] if event not in set(EVENT_TYPES)] == []
    subscribe, unsubscribe, listed, *creates = ran["sent"]
    response = await house.request("POST", subscribe["url"].removeprefix(BASE), subscribe["body"])
    assert (response.status, response.json()["url"]) == (201, "https://hooks.zapier.example/1")
    for item in creates:
        query = "&".join(f"{name}={value}" for name, value in item.get("params", {}).items())
        reply = await house.request(item["method"], f"{item['url'].removeprefix(BASE)}?{query}", item["body"])
        assert reply.status in (200, 201), reply.body
    query = "&".join(f"{name}={value}" for name, value in listed["params"].items())
    [sample] = (await house.request("GET", f"{listed['url'].removeprefix(BASE)}?{query}")).json()["data"]
    assert sample.keys() == {"id", "type", "timestamp", "data"}
    gone = await house.request("DELETE", unsubscribe["url"].removeprefix(BASE).replace("/7", f"/{response.json()['id']}"))
    assert gone.status == 204
