"""Validation errors of a body: all faults, each with its JSON pointer.

A valid body costs one pass of msgspec, which stops at the first fault. Only an invalid body of at most `THOROUGH_BYTES` is
decoded again here, value by value against the same types: valid values stay, invalid ones become faults and empty values,
so that the rules beyond types can be checked too. Of a longer one msgspec's fault is reported alone.
"""

from __future__ import annotations

import json
import re
from codecs import BOM_UTF8
from collections.abc import Callable
from functools import lru_cache
from itertools import islice
from typing import Any

import msgspec
from msgspec import inspect as types

from touchbase.common.field_limits import NAME, why_not_storable
from touchbase.errors import COUNTED, MOST_FAULTS, Fault, Invalid, MalformedBody

THOROUGH_BYTES = 262_144
"""Bytes of an invalid body up to which all faults are looked for."""
# An integer with more digits is out of every range; converting it would be slow.
_LONGEST_INTEGER = 25


class _OutOfRange:
    """An integer with more digits than any accepted value."""


_OUT_OF_RANGE = _OutOfRange()


def parse_json(body: bytes) -> Any:
    """Decode the JSON of a body into plain values; raises `MalformedBody`."""
    if not body.strip():
        raise MalformedBody("the body is empty; send a JSON object, {} if there are no members")
    if body.startswith(BOM_UTF8):
        raise MalformedBody("the body begins with a byte order mark (EF BB BF), which JSON must not have; save it as UTF-8 without one")
    try:
        return json.loads(body.decode("utf-8"), parse_int=_integer, parse_constant=_no_constant)
    except UnicodeDecodeError as error:
        raise MalformedBody(f"the body is not UTF-8: byte {error.start} cannot be read") from None
    except RecursionError:
        raise MalformedBody("the body is nested too deeply") from None
    except ValueError as error:
        raise MalformedBody(f"the body is not JSON: {error}") from None


def decode_leniently(data: Any, wanted: type[msgspec.Struct]) -> tuple[Any, list[Fault]]:
    """Decode the body as `wanted`, with an empty value and a fault in place of each invalid value."""
    faults: list[Fault] = []
    value = _value(data, _type_info(wanted), "", faults)
    _find_surrogates(data, [], faults)
    return value, _unique(faults)


def with_rules(faults: list[Fault], rules: Callable[[], object]) -> list[Fault]:
    """Add the faults that `rules` raises about other values."""
    try:
        rules()
    except Invalid as invalid:
        wrong = {fault.pointer for fault in faults}
        return faults + [fault for fault in invalid.faults if not _within(fault.pointer, wrong)] + [COUNTED] * invalid.more
    return faults


def _within(pointer: str, wrong: set[str]) -> bool:
    while pointer not in wrong:
        if not pointer:
            return False
        pointer = pointer.rpartition("/")[0]
    return True


def _unique(faults: list[Fault]) -> list[Fault]:
    listed = {fault.pointer: fault for fault in reversed(faults) if fault is not COUNTED}
    return list(listed.values())[::-1] + [fault for fault in faults if fault is COUNTED]


_STEP = re.compile(r"\.([^.\[]+)|\[(\d+)\]")
_NAMES = {
    "str": "a text", "int": "an integer", "bool": "true or false", "array": "a list", "object": "an object", "null": "null",
    "float": "a number with decimals",
}  # fmt: skip
_UNITS = {"str": "characters", "array": "items", "object": "entries"}


def first_fault(error: msgspec.ValidationError) -> Fault:
    """Return the fault that stopped msgspec, in our words; without those the text of msgspec."""
    what, at, path = str(error).rpartition(" - at `")
    what, pointer = (what, _pointer(path.removeprefix("key` in `").removesuffix("`"))) if at else (path, "")
    if (member := re.fullmatch(r"Object missing required field `(.+)`", what, re.DOTALL)) is not None:
        return Fault(f"{pointer}/{escaped(member[1])}", "required", "is required")
    if (member := re.fullmatch(r"Object contains unknown field `(.*)`", what, re.DOTALL)) is not None:
        return Fault(f"{pointer}/{escaped(member[1])}", "unknown", "is no field of this object")
    if (limit := re.fullmatch(r"Expected `(str|array|object)(?: \| null)?` of length (<=|>=) (\d+)", what)) is not None:
        code, least_or_most = ("too_long", "at most") if limit[2] == "<=" else ("too_short", "at least")
        return Fault(pointer, code, f"must have {least_or_most} {limit[3]} {_UNITS[limit[1]]}")
    if (limit := re.fullmatch(r"Expected `int(?: \| null)?` (<=|>=) (-?\d+)", what)) is not None:
        return Fault(pointer, "range", f"must be an integer of {'at most' if limit[1] == '<=' else 'at least'} {limit[2]}")
    if (kinds := re.fullmatch(r"Expected `([a-z| ]+)`, got `([a-z]+)`", what)) is not None:
        wanted = " or ".join(_NAMES.get(kind, kind) for kind in kinds[1].split(" | "))
        return Fault(pointer, "null" if kinds[2] == "null" else "type", f"must be {wanted}, not {_NAMES.get(kinds[2], kinds[2])}")
    return Fault(pointer, "choice" if what.startswith("Invalid enum value") else "type", f"is not valid: {what[:NAME]}")


def _pointer(path: str) -> str:
    """Return a path of msgspec as a JSON pointer, up to the first name of an object without fixed members, which it leaves out."""
    pointer, at = "", 1
    while (step := _STEP.match(path, at)) is not None:
        pointer, at = f"{pointer}/{step[1] or step[2]}", step.end()
    return pointer


@lru_cache
def _type_info(wanted: type[msgspec.Struct]) -> types.Type:
    return types.type_info(wanted)


def _value(data: Any, kind: types.Type, pointer: str, faults: list[Fault]) -> Any:
    """Decode a value as `kind`; append a fault and return an empty value if it is invalid."""
    read = _READERS.get(type(kind))
    if read is not None:
        return read(data, kind, pointer, faults)
    fault = _scalar_fault(data, kind)
    if fault is None:
        return data
    faults.append(Fault(pointer, *fault))
    return _empty(kind)


def _metadata(data: Any, kind: types.Metadata, pointer: str, faults: list[Fault]) -> Any:
    return _value(data, kind.type, pointer, faults)


def _union(data: Any, kind: types.UnionType, pointer: str, faults: list[Fault]) -> Any:
    # All unions are "a type or null", "a type, a list or null", or "an integer, a text or null": an invalid list is a fault of the list, an
    # invalid text one of the text, and another value one of the first type.
    if data is None and any(isinstance(member, types.NoneType) for member in kind.types):
        return None
    options = [member for member in kind.types if not isinstance(member, types.NoneType)]
    fitting = types.ListType if isinstance(data, list) else types.StrType if isinstance(data, str) else types.NoneType
    return _value(data, next((option for option in options if isinstance(_bare(option), fitting)), options[0]), pointer, faults)


def _bare(kind: types.Type) -> types.Type:
    """Return a type without its limits and description."""
    while isinstance(kind, types.Metadata):
        kind = kind.type
    return kind


def _struct(data: Any, kind: types.StructType, pointer: str, faults: list[Fault]) -> Any:
    values: dict[str, Any] = {}
    if not isinstance(data, dict):
        faults.append(Fault(pointer, *_wrong("an object", data)))
        return kind.cls(**{field.name: _empty(field.type) for field in kind.fields if field.required})
    for field in kind.fields:
        below = f"{pointer}/{field.encode_name}"
        if field.encode_name in data:
            values[field.name] = _value(data[field.encode_name], field.type, below, faults)
        elif field.required:
            values[field.name] = _empty(field.type)
            faults.append(Fault(below, "required", "is required"))
    if kind.forbid_unknown_fields:
        names = [field.encode_name for field in kind.fields]
        detail = f"is no field of this object; its fields are {', '.join(names)}"
        unknown = (name for name in data if name not in names)
        faults += [Fault(f"{pointer}/{escaped(name)}", "unknown", detail) for name in islice(unknown, max(0, MOST_FAULTS - len(faults)))]
        faults += [COUNTED for _ in unknown]
    return kind.cls(**values)


def _list(data: Any, kind: types.ListType, pointer: str, faults: list[Fault]) -> list[Any]:
    if not isinstance(data, list):
        faults.append(Fault(pointer, *_wrong("a list", data)))
        return []
    if kind.max_length is not None and len(data) > kind.max_length:
        faults.append(Fault(pointer, "too_long", f"must have at most {kind.max_length} items, and has {len(data)}"))
        return []
    if kind.min_length is not None and len(data) < kind.min_length:
        faults.append(Fault(pointer, "too_short", "must not be empty"))  # no list requires more than one item
    return [_value(item, kind.item_type, f"{pointer}/{index}", faults) for index, item in enumerate(data)]


def _dict(data: Any, kind: types.DictType, pointer: str, faults: list[Fault]) -> dict[str, Any]:
    if not isinstance(data, dict):
        faults.append(Fault(pointer, *_wrong("an object", data)))
        return {}
    if kind.max_length is not None and len(data) > kind.max_length:
        faults.append(Fault(pointer, "too_long", f"must have at most {kind.max_length} entries, and has {len(data)}"))
        return {}
    entries: dict[str, Any] = {}
    for name, item in data.items():
        below = f"{pointer}/{escaped(name)}"
        fault = _scalar_fault(name, kind.key_type)
        if fault is not None:
            faults.append(Fault(below, fault[0], f"the name {fault[1]}"))
        entries[name] = _value(item, kind.value_type, below, faults)
    return entries


def _anything(data: Any, kind: types.Type, pointer: str, faults: list[Fault]) -> Any:
    return data


_READERS: dict[type[types.Type], Callable[[Any, Any, str, list[Fault]], Any]] = {
    types.AnyType: _anything,
    types.UnionType: _union,
    types.Metadata: _metadata,
    types.StructType: _struct,
    types.ListType: _list,
    types.DictType: _dict,
    types.RawType: _anything,
}


def _scalar_fault(data: Any, kind: types.Type) -> tuple[str, str] | None:
    while isinstance(kind, types.Metadata):
        kind = kind.type
    if isinstance(kind, types.StrType):
        return _text_fault(data, kind)
    if isinstance(kind, types.IntType):
        return _integer_fault(data, kind)
    if isinstance(kind, types.BoolType):
        return None if isinstance(data, bool) else _wrong("true or false", data)
    if isinstance(kind, types.LiteralType):
        return None if isinstance(data, str) and data in kind.values else ("choice", f"must be one of {', '.join(map(str, kind.values))}")
    raise AssertionError(f"no body has a {kind}")


def _text_fault(data: Any, kind: types.StrType) -> tuple[str, str] | None:
    if not isinstance(data, str):
        return _wrong("a text", data)
    if (why := why_not_storable(data)) is not None:
        return "unusable_text", why
    if kind.max_length is not None and len(data) > kind.max_length:
        return "too_long", f"must have at most {kind.max_length} characters, and has {len(data)}"
    if kind.min_length is not None and len(data) < kind.min_length:
        detail = f"must have at least {kind.min_length} characters, and has {len(data)}"
        return ("too_short", detail) if data else ("required", "must not be blank")
    return None


def _integer_fault(data: Any, kind: types.IntType) -> tuple[str, str] | None:
    least, most = kind.ge or 0, kind.le
    if isinstance(data, _OutOfRange) or (type(data) is int and not (least <= data and (most is None or data <= most))):
        return "range", f"must be an integer from {least} to {most}"
    return None if type(data) is int else _wrong("an integer", data)


def _wrong(wanted: str, data: Any) -> tuple[str, str]:
    return ("null" if data is None else "type"), f"must be {wanted}, not {_name(data)}"


def _empty(kind: types.Type) -> Any:
    while isinstance(kind, types.Metadata):
        kind = kind.type
    if isinstance(kind, types.StructType):
        return _struct({}, kind, "", [])
    if isinstance(kind, types.LiteralType):
        return kind.values[0]
    return {types.StrType: "", types.IntType: 1, types.BoolType: False, types.ListType: [], types.DictType: {}}.get(type(kind))


def _name(data: Any) -> str:
    names = {type(None): "null", bool: "true or false", str: "a text", list: "a list", dict: "an object", float: "a number with decimals"}
    return names.get(type(data), "an integer")


def _find_surrogates(data: Any, path: list[str], faults: list[Fault]) -> None:
    """Append faults for unpaired surrogates anywhere in the body, also in unknown members, up to `MOST_FAULTS`.

    A pointer is built only for a fault: names can be nearly as long as the body, and there can be as many values.
    """
    if isinstance(data, str):
        why = why_not_storable(data.replace("\0", ""))
        if why is not None and len(faults) < MOST_FAULTS:
            faults.append(Fault("".join(f"/{part}" for part in path), "unusable_text", why))
    elif isinstance(data, dict):
        for name, item in data.items():
            path.append(escaped(name))
            _find_surrogates(item, path, faults)
            _find_surrogates(name, path, faults)
            path.pop()
    elif isinstance(data, list):
        for index, item in enumerate(data):
            path.append(str(index))
            _find_surrogates(item, path, faults)
            path.pop()


def escaped(name: str) -> str:
    """Escape a name for a JSON pointer, cut to the length of the longest known name; unpaired surrogates become U+FFFD."""
    shown = name[:NAME].encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return shown.replace("~", "~0").replace("/", "~1")


def _integer(digits: str) -> int | _OutOfRange:
    return int(digits) if len(digits) <= _LONGEST_INTEGER else _OUT_OF_RANGE


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON value")
