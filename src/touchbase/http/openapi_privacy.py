"""What the description says of the calls on a person's own data; `openapi.py` hands over its words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Json = dict[str, Any]
PROBLEMS = ("401", "403", "404", "422", "503")


def add_privacy(
    paths: Json, operation: Callable[..., Json], answer: Callable[..., Json], parameter: Callable[..., Json], shared: dict[str, Json]
) -> None:
    """Add the calls, and what creating a contact has to do with them; `shared` holds the parameters id, limit, cursor, client."""
    one = "/public/v2/contacts/{id}"
    erase = parameter("erase", {"type": "boolean"}, "Must be true: a contact goes only when its person is erased.")
    erasing = operation(
        "Contacts", "erase_contact", "Erase a person: the contact, its timeline, the calls that told of it",
        {"200": answer("What went.", "ErasureOut")}, PROBLEMS, parameters=[erase | {"required": True}, shared["client"]],
    )  # fmt: skip
    exporting = operation(
        "Contacts", "export_contact", "Everything that is kept about one person", {"200": answer("A page.", "PersonExport")}, PROBLEMS,
        parameters=[shared["limit"], shared["cursor"], shared["client"]],
    )  # fmt: skip
    paths[one]["delete"] = erasing
    paths[f"{one}/export"] = {"parameters": [shared["id"]], "get": exporting}
    restore = parameter("restore_erased", {"type": "boolean"}, "Create a person who was erased; without it that is a 409 `person_erased`.")
    paths["/public/v2/contacts"]["post"]["parameters"].append(restore)
