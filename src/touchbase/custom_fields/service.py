"""What there is of custom fields, and what a change would do; nothing here writes."""

from __future__ import annotations

from dataclasses import dataclass, field

from touchbase.clients.models import Client, FieldType
from touchbase.common.timestamps import Micros
from touchbase.custom_fields.changes import REMOVE, FieldJob, FieldUse, Values
from touchbase.custom_fields.sql import Fields, count_values, find_uses, prepare_change, read_values
from touchbase.errors import WrongState
from touchbase.records.record_type import RECORD_TYPES
from touchbase.records.validation import misfit
from touchbase.sql.store import Store

MOST_SAMPLES = 20
PAGE = 2_000
"""Values that are read at once."""
TEXT = FieldType("text")


@dataclass(frozen=True, slots=True)
class ClientField:
    """One custom field: its type, its use, and the names that lead to it."""

    name: str
    type: FieldType
    is_declared: bool
    records: int = 0
    first_us: Micros | None = None
    last_us: Micros | None = None
    former_names: list[str] = field(default_factory=list)


@dataclass(slots=True)
class ChangePreview:
    """What a change would do: how many records have a value that it concerns, and some of them before and after."""

    records: int
    samples: list[tuple[int, Values, Values]] = field(default_factory=list)


@dataclass(slots=True)
class TypeCheck:
    """How many values are not of a type, and some of them with their records."""

    misfits: int = 0
    samples: list[tuple[int, str]] = field(default_factory=list)


async def list_fields(
    store: Store, client: Client, kind: int, name: str | None = None, *, after: str = "", limit: int = 0
) -> list[ClientField]:
    """Return the client's custom fields by name: defined ones, and all that records have; or the one of this name.

    With `limit` so many of the ones behind the name `after`.
    """
    types, names = RECORD_TYPES[kind].field_types(client.settings), RECORD_TYPES[kind].field_names(client.settings)
    uses = await store.read(find_uses(client.number, kind, name, after, limit))
    found = [each for each in sorted({*types, *uses}) if each == name or (name is None and each > after)]
    found = found[:limit] if limit else found
    none = FieldUse(0, 0, 0)
    made = []
    for each in found:
        use = uses.get(each, none)
        former = sorted(old for old, now in names.items() if now == each)
        first, last = (use.first_us, use.last_us) if use.records else (None, None)
        made.append(ClientField(each, types.get(each, TEXT), each in types, use.records, first, last, former))
    return made


async def preview_change(store: Store, client: Client, kind: int, what: FieldJob) -> ChangePreview:
    """Return what a change would do; raise the error that it would have."""
    found, fields = ChangePreview(await store.read(count_values(client.number, kind, what))), Fields(client, kind)
    if what.action == REMOVE and what.field in fields.names and not found.records:
        return found
    used = {name for name in {what.field, what.into} - {""} if await store.read(find_uses(client.number, kind, name))}
    if (refused := prepare_change(fields, what, used)) is not None:
        raise refused
    for each in await store.read(read_values(client.number, kind, what, MOST_SAMPLES)):
        before: dict[str, str | None] = {what.field: each.value}
        if what.action in ("rename", "merge"):
            before[what.into] = each.other
        found.samples.append((each.record_id, before, {**before, **what.of(before)}))
    return found


async def check_type(store: Store, client: int, kind: int, name: str, declared: FieldType) -> TypeCheck:
    """Return the values of a field that are not of a type; all of its values are read."""
    found, what, after = TypeCheck(), FieldJob("remove", name), 0
    while True:
        page = await store.read(read_values(client, kind, what, PAGE, after))
        for each in page:
            if each.value and misfit(each.value, declared) is not None:
                found.misfits += 1
                if len(found.samples) < MOST_SAMPLES:
                    found.samples.append((each.record_id, each.value))
        if len(page) < PAGE:
            return found
        after = page[-1].record_id


async def check_merge(store: Store, client: Client, kind: int, name: str, into: str) -> None:
    """Raise `WrongState` if values of a field are not of the type of the one that it is to be merged into."""
    declared = RECORD_TYPES[kind].field_types(client.settings).get(into)
    if declared is not None and (misfits := (await check_type(store, client.number, kind, name, declared)).misfits):
        detail = f"{misfits} values of {name!r} are not of the type of {into!r}, which is {declared.type}; change them first"
        raise WrongState(detail)
