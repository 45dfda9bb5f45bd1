"""Templates of messages: text with `{{path}}` in place of values. No logic: nothing is called or computed."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

from msgspec import json

from touchbase.common.misspelt import suggest
from touchbase.errors import COUNTED, MOST_FAULTS, Fault

_PLACEHOLDER = re.compile(r"\{\{([^{}]*)\}\}")
_OPEN = re.compile(r"\{\{|\}\}")
CUSTOM = "cf."
"""A path that begins so names a custom field of the record; the rest is its name, dots included."""


def render(template: str, values: Mapping[str, Any], written: Callable[[str], str] = str) -> str:
    """Return the template with the values at its paths, each passed through `written`; a missing value is empty."""
    return _PLACEHOLDER.sub(lambda match: written(_text(_at(values, match[1].strip()))), template)


def template_faults(template: str, pointer: str, paths: Collection[str]) -> list[Fault]:
    """Return the faults of a template: unknown paths, and braces that are no placeholder."""
    faults: list[Fault] = []
    for path in dict.fromkeys(map(str.strip, _PLACEHOLDER.findall(template))):
        if path not in paths and not (path.startswith(CUSTOM) and len(path) > len(CUSTOM)):
            if len(faults) >= MOST_FAULTS:
                faults.append(COUNTED)
                continue
            near = suggest(path, sorted(paths), cutoff=0.0)
            faults.append(Fault(pointer, "unknown", f"there is no value {path[:100]!r}; did you mean {near!r}?"))
    if _OPEN.search(_PLACEHOLDER.sub("", template)):
        faults.append(Fault(pointer, "template", "has braces that are no placeholder; write each as {{path}}, such as {{contact.email}}"))
    return faults


def _at(values: Mapping[str, Any], path: str) -> Any:
    if path.startswith(CUSTOM):
        return values[CUSTOM[:-1]].get(path.removeprefix(CUSTOM))
    value: Any = values
    for name in path.split("."):
        if isinstance(value, Mapping):
            value = value.get(name)
        elif isinstance(value, list | tuple) and name.isdecimal() and int(name) < len(value):
            value = value[int(name)]
        else:
            return None
    return value


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.encode(value).decode()
