"""The application with one more field of contacts, `phone`: a row of the table, an attribute and a column.

`test_fields.py` runs it in a process of its own, because modules read the table when they are imported. It prints where the field is.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import sys
import types
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from touchbase.records import fields

PHONE = "+44 20 7946 0958"


def add_row() -> None:
    """Add the row of the table after the last name."""
    phone = fields.Field("phone", fields.Name, "The telephone number.", has_words=True, from_tools=True, headers=("phone", "mobile"))
    at = [field.name for field in fields.CONTACT].index("last_name") + 1
    fields.CONTACT = (*fields.CONTACT[:at], phone, *fields.CONTACT[at:])


def add_attribute() -> None:
    """Add the attribute of the model, as a line of its file would."""
    spec = find_spec("touchbase.records.models")
    assert spec is not None
    assert spec.origin is not None
    line = "    last_name: str | None = None\n"
    source = Path(spec.origin).read_text("utf-8")
    assert source.count(line) == 1
    module = types.ModuleType(spec.name)
    sys.modules[spec.name] = module
    exec(compile(source.replace(line, f"{line}    phone: str | None = None\n"), spec.origin, "exec"), vars(module))


async def places(file: Path) -> dict[str, Any]:
    """Return what each part of the application says about the field."""
    from tests.asgi_client import ApiClient, Clock
    from tests.house import House

    from touchbase.imports.guessing import guess
    from touchbase.stores import open_store
    from touchbase.web import Dependencies

    url = f"sqlite:///{file}"
    await (await open_store(url)).close()
    with sqlite3.connect(file) as database:
        database.execute("ALTER TABLE contact ADD COLUMN phone TEXT")
    store, clock = await open_store(url), Clock()
    house = await House.of(ApiClient(Dependencies(store=store, clock=clock, version="1"), clock), "acme")

    async def get(target: str) -> Any:
        reply = await house.request("GET", target)
        assert reply.status == 200, reply.body
        return reply.json()

    number = await house.contact(email="jane@example.com", phone=f" {PHONE} ")
    other_contact = await house.contact(email="j.doe@example.com")
    document = (await house.call.get("/openapi.json")).json()["components"]["schemas"]
    csv = (await house.request("GET", "/public/v2/contacts/export?format=csv")).body.decode().splitlines()
    await house.hook("hub", {"event": "contact.created", "object_id": "7", "email": "crm@example.com", "fields": {"phone": "1" * 999}})
    result = {
        "created": (await house.get(number))["phone"],
        "searched": [contact["id"] for contact in await house.listed(query="phone%5Bcontains%5D=7946")],
        "searched by words": [contact["id"] for contact in await house.listed(query="q=7946")],
        "history": [change["value"] for change in (await get(f"/public/v2/contacts/{number}/history?field=phone"))["data"]],
        "exported": dict(zip(csv[0].split(","), csv[1].split(","), strict=True))["phone"],
        "guessed": guess(["Email", "Mobile"], "contact").mapping.columns["Mobile"],
        "of a tool": len((await house.listed(query="email=crm@example.com"))[0]["phone"]),
        "described": {name: document[name]["properties"]["phone"]["description"] for name in ("ContactChange", "ContactResponse")},
        "merged": (await house.merge(other_contact, number))["contact"]["phone"],
        "typing error": (await house.request("POST", "/public/v2/contacts", {"contact_phone": "1"})).json()["errors"][0]["detail"],
        "too long": (await house.request("POST", "/public/v2/contacts", {"phone": "1" * 201})).status,
    }
    reply = await house.request("PATCH", f"/public/v2/contacts/{other_contact}", {"phone": None})
    result["unset"] = "phone" not in reply.json()
    await store.close()
    return result


if __name__ == "__main__":
    add_row()
    if sys.argv[2] == "complete":
        add_attribute()
    print(json.dumps(asyncio.run(places(Path(sys.argv[1])))))
