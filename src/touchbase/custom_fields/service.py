"""Lists of custom fields, and previews of changes; nothing here writes."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field

from touchbase.clients.models import Client, FieldType
from touchbase.common.timestamps import Micros
from touchbase.custom_fields.changes import REMOVE, FieldJob, FieldUse, Values
from touchbase.custom_fields.sql import Fields, count_values, field_version, prepare_change, read_values
from touchbase.custom_fields.uses import find_uses, in_lower_case, store_parts
from touchbase.errors import TouchbaseError, WrongState
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

    @property
    def version(self) -> str:
        """The version that a change may name."""
        return field_version(self.type if self.is_declared else None, self.former_names)


@dataclass(slots=True)
class ChangePreview:
    """Preview of a change: how many records have a value that it concerns, and some of them before and after."""

    records: int
    samples: list[tuple[int, Values, Values]] = field(default_factory=list)


@dataclass(slots=True)
class TypeCheck:
    """How many values are not of a type, and some of them with their records."""

    misfits: int = 0
    samples: list[tuple[int, str]] = field(default_factory=list)


async def list_fields(
    store: Store, client: Client, kind: int, name: str | None = None, *, after: str = "", limit: int = 0, part: str = ""
) -> list[ClientField]:
    """Return the client's custom fields by name: defined ones, and all that records have; or the one of this name.

    With `limit` so many of the ones behind the name `after` whose names contain `part`.
    """
    part = in_lower_case(part)
    types, names = RECORD_TYPES[kind].field_types(client.settings), RECORD_TYPES[kind].field_names(client.settings)
    uses = await _uses(store, client.number, kind, name, after, limit, part)
    shown = [
        field for field in sorted({*types, *uses}) if field == name or (name is None and field > after and part in in_lower_case(field))
    ]
    shown = shown[:limit] if limit else shown
    none = FieldUse(0, 0, 0)
    fields = []
    for own_name in shown:
        use = uses.get(own_name, none)
        former = sorted(old for old, now in names.items() if now == own_name)
        first, last = (use.first_us, use.last_us) if use.records else (None, None)
        fields.append(ClientField(own_name, types.get(own_name, TEXT), own_name in types, use.records, first, last, former))
    return fields


async def _uses(
    store: Store, client: int, kind: int, name: str | None, after: str = "", limit: int = 0, part: str = ""
) -> dict[str, FieldUse]:
    uses = await store.read(find_uses(client, kind, name, after, limit, part))
    if uses.counted:
        with suppress(TouchbaseError):  # a store that cannot write now can still answer
            await store.write(store_parts(client, kind, uses.counted))
    return uses.fields


async def preview_change(store: Store, client: Client, kind: int, what: FieldJob) -> ChangePreview:
    """Preview a change; raise the error that it would have."""
    preview, fields = ChangePreview(await store.read(count_values(client.number, kind, what))), Fields(client, kind)
    if what.action == REMOVE and what.field in fields.names and not preview.records:
        return preview
    used = {name for name in {what.field, what.into} - {""} if await _uses(store, client.number, kind, name)}
    if (refused := prepare_change(fields, what, used)) is not None:
        raise refused
    for value in await store.read(read_values(client.number, kind, what, MOST_SAMPLES)):
        before: dict[str, str | None] = {what.field: value.value}
        if what.action in ("rename", "merge"):
            before[what.into] = value.into_value
        preview.samples.append((value.record_id, before, {**before, **what.of(before)}))
    return preview


async def check_type(store: Store, client: int, kind: int, name: str, declared: FieldType) -> TypeCheck:
    """Return the values of a field that are not of a type; all of its values are read."""
    check, what, after = TypeCheck(), FieldJob("remove", name), 0
    while True:
        page = await store.read(read_values(client, kind, what, PAGE, after))
        for record in page:
            if record.value and misfit(record.value, declared) is not None:
                check.misfits += 1
                if len(check.samples) < MOST_SAMPLES:
                    check.samples.append((record.record_id, record.value))
        if len(page) < PAGE:
            return check
        after = page[-1].record_id


async def check_merge(store: Store, client: Client, kind: int, name: str, into: str) -> None:
    """Raise `WrongState` if values of a field are not of the type of the target field."""
    declared = RECORD_TYPES[kind].field_types(client.settings).get(into)
    if declared is not None and (misfits := (await check_type(store, client.number, kind, name, declared)).misfits):
        detail = f"{misfits} values of {name!r} are not of the type of {into!r}, which is {declared.type}; change them first"
        raise WrongState(detail)
