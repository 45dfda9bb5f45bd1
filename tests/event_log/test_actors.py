"""Events of the log name who did what: a person or key by name, a tool, or Touchbase."""

from __future__ import annotations

from typing import Any

from tests.auth.test_people import Office, PersonalKey, office, quick_passwords
from tests.messages.conftest import Messages, mail, messages

__all__ = ["messages", "office", "quick_passwords"]


async def actors(office: Office) -> list[dict[str, Any]]:
    events = (await office("GET", "/public/v2/events", x_client_id="ours")).json()["data"]
    return [event["data"]["actor"] for event in events]


async def test_change__names_the_person_and_by_what_they_acted(office: Office) -> None:
    mira = await office.join("mira@example.com", role="operator")
    agent = await PersonalKey.of(mira, name="agent")

    await mira("POST", "/public/v2/contacts", {"email": "a@example.com"}, x_client_id="ours")
    await agent("POST", "/public/v2/contacts", {"email": "b@example.com"}, x_client_id="ours", x_request_id="mcp:1")
    key = await office.key_of("ours", "records:write")
    await office.call("POST", "/public/v2/contacts", {"email": "c@example.com"}, **key)

    by_mira, by_agent, by_key = await actors(office)
    assert [(actor["type"], actor["name"], actor["via"]) for actor in (by_mira, by_agent)] == [
        ("user", "Mir", "console"), ("user", "Mir", "mcp"),
    ]  # fmt: skip
    assert by_mira["id"] == by_agent["id"]
    assert (by_key["type"], by_key["via"]) == ("key", "api")


async def test_webhook__names_its_tool(messages: Messages) -> None:
    await messages.receive(mail("sent", second=1))

    events = (await messages.call.get("/public/v2/events")).json()["data"]

    assert [event["data"]["actor"] for event in events] == [{"type": "tool", "id": None, "name": "instantly", "via": "webhook"}] * len(
        events
    )
    assert events
