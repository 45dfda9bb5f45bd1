"""Types of members of bodies, named sets of values and examples, which the OpenAPI document is generated from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, Generic, TypeVar

import msgspec
from msgspec import Meta, Struct

from touchbase.common import field_limits as limits
from touchbase.history.problems import described

T = TypeVar("T")
ENUMS: dict[str, tuple[str, Sequence[str]]] = {}
"""Named sets of values: name -> meaning, values. Each is one component of the OpenAPI document, so that generated clients have one type
for each. No two have the same values, because a schema is matched to its name by them."""


def named_enum(name: str, meaning: str, values: Sequence[str]) -> dict[str, Any]:
    """Name a set of values; return its schema."""
    ENUMS[name] = (meaning, tuple(values))
    return {"enum": list(values)}


EXAMPLES: dict[str, dict[str, Any]] = {}
"""Examples in the OpenAPI document, by name of the type. All persons and companies in them are fictitious."""


def example(of: type[Struct], value: dict[str, Any]) -> None:
    """Show this example of a body in the OpenAPI document."""
    EXAMPLES[of.__name__] = value


RecordId = Annotated[int, Meta(ge=1, le=limits.LARGEST_ID)]
Time = Annotated[str, Meta(description="RFC 3339, UTC.", examples=["2026-11-20T09:30:00Z"], extra_json_schema={"format": "date-time"})]
MaybeTime = Time | None


class PageOf(Struct, Generic[T]):
    """A page of a list."""

    data: list[T]
    next_cursor: str | None


class ProblemOut(Struct):
    """A problem of an event that was applied nevertheless."""

    code: str
    detail: Annotated[str, Meta(description="What happened and what to do, for people.")]


def problems_out(problems: Mapping[str, str]) -> list[ProblemOut]:
    """Return problems as they appear in responses."""
    return [ProblemOut(code, detail) for code, detail in described(problems)]


encode = msgspec.json.Encoder().encode


def fitting(items: Iterable[object], page_bytes: int) -> list[msgspec.Raw]:
    """Encode items until the page has its bytes; return the items that fit, at least one.

    The page's cursor is then the place of the last of them: an item is not made, nor read, only to be left out.
    """
    fit: list[msgspec.Raw] = []
    for item in items:
        encoded = encode(item)
        page_bytes -= len(encoded) + 1
        if page_bytes < 0 and fit:
            break
        fit.append(msgspec.Raw(encoded))
    return fit


def page_body(
    items: Sequence[object], cursor_after: Callable[[int], str | None], page_bytes: int, more: Mapping[str, object] | None = None
) -> bytes:
    """Encode a page of items that were read within its bytes, or of the first of them; `cursor_after` of so many items is their cursor.

    `more` are other members of the page.
    """
    body = encode({"data": items, "next_cursor": cursor_after(len(items)), **(more or {})})
    if len(body) <= page_bytes:
        return body
    fit = fitting(items, page_bytes)
    return encode({"data": fit, "next_cursor": cursor_after(len(fit)), **(more or {})})
