"""No regular expression takes more than linear time, up to the longest text that can reach it.

Patterns are found two ways: compiled ones in the modules' names, and every use of `re` in the source. One that is made
at run time is listed below with an example, and one that is not listed fails. Each is timed against texts made of its own
parts: what stands before a repeat, then what may repeat, many times, then something that ends the match.
"""

from __future__ import annotations

import ast
import importlib
import re
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

import pytest
from tests.architecture.source import FILES, trees

Text = str | bytes
SIZES = (12, 18, 22, 24, 64, 256, 1_024, 4_096, 12_288, 32_768)
"""Small ones first: a pattern that takes exponential time is found before it holds up the tests for an hour."""
MOST_SECONDS = 0.1
"""Of processor time. At the longest text a linear pattern takes a few thousandths, a quadratic one half a second or more."""
TRIES = 2

MADE_AT_RUN_TIME = {
    ("touchbase.common.html_text", "f'</{name}(?![a-z0-9])'"): "</script(?![a-z0-9])",
    ("touchbase.inbox.redaction", "b':\\\\s*(' + secret.encode() + b')(?=\\\\s*[,}])'"): rb":\s*(1234)(?=\s*[,}])",
    ("touchbase.common.atomic_file", "re.escape(file.name) + '\\\\.[0-9a-f]{16}\\\\.part'"): r"store\.db\.[0-9a-f]{16}\.part",
    ("touchbase.erasure.text_search", "re.escape(key)"): r"ann@example\.com",
    ("touchbase.adapters.catalogue", "f'\\\\b{mark}\\\\b'"): r"\bmark\b",
    ("touchbase.adapters.kit.event_types", "pattern"): r"\bevery one of them is in _COMPILED\b",
}
"""What a use of `re` is given where that is known at run time only, with an example."""

WAYS = {"finditer", "fullmatch", "match"}
ANY_WAY = frozenset({"finditer", "fullmatch"})
SEARCHES = {"finditer", "search", "sub", "split", "findall", "subn"}

LONGEST = {
    "touchbase.adapters.kit.event_types": 400,  # 200 letters of a name; each may get a blank before it
    "touchbase.adapters.catalogue": 4_096,  # pages of our own
}
"""The longest text that reaches the patterns of a module, where the module sees to it."""


@dataclass(frozen=True, slots=True)
class Found:
    """A pattern and where it stands."""

    module: str
    pattern: re.Pattern[Any]
    ways: frozenset[str] = ANY_WAY
    """How it is used: whether it may begin anywhere in a text, or only where that begins."""

    @property
    def longest(self) -> int:
        return LONGEST.get(self.module, SIZES[-1])


def in_names(value: object, depth: int = 3) -> Iterator[re.Pattern[Any]]:
    """Compiled patterns in a value, and in what it holds."""
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, list | tuple | set | frozenset) and depth:
        for item in value:
            yield from in_names(item, depth - 1)
    elif isinstance(value, dict) and depth:
        yield from in_names([*value.keys(), *value.values()], depth - 1)


def uses(tree: ast.Module) -> Iterator[ast.Call]:
    """Every call of a function of `re` that takes a pattern."""
    for node in ast.walk(tree):
        is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name)
        if is_call and node.func.value.id == "re" and node.func.attr != "escape":  # type: ignore[attr-defined]
            yield node  # type: ignore[misc]


def evaluated(node: ast.expr, names: dict[str, object]) -> Any:
    try:
        return eval(compile(ast.Expression(node), "<pattern>", "eval"), dict(names))
    except NameError:
        raise AssertionError(f"{names['__name__']}: add {ast.unparse(node)} to MADE_AT_RUN_TIME") from None


def flags_of(call: ast.Call, names: dict[str, object]) -> int:
    position = 1 if isinstance(call.func, ast.Attribute) and call.func.attr == "compile" else 99
    values = [keyword.value for keyword in call.keywords if keyword.arg == "flags"] + call.args[position : position + 1]
    return int(evaluated(values[0], names)) if values else 0  # type: ignore[call-overload]


def way_of(call: ast.Call) -> frozenset[str]:
    assert isinstance(call.func, ast.Attribute)
    return ANY_WAY if call.func.attr == "compile" else frozenset({call.func.attr} & WAYS or {"finditer"})


def ways_of(tree: ast.Module, name: str) -> frozenset[str]:
    """The methods that a module calls of the pattern under this name; it may be used in any way where that does not show."""
    used = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)]
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.value in used]
    ways = {"finditer" if node.attr in SEARCHES else node.attr for node in calls}
    return frozenset(ways) if len(used) == len(calls) and ways <= WAYS else ANY_WAY


@cache
def patterns() -> dict[tuple[str, str], Found]:
    result: dict[tuple[str, str], Found] = {}
    for name, tree in trees().items():
        if name.endswith("__main__"):
            continue
        calls = list(uses(tree))
        if not calls and "re" not in {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}:
            continue
        names = vars(importlib.import_module(name))
        for key, value in names.items():
            for item in in_names(value):
                result[name, repr(item.pattern)] = Found(name, item, ways_of(tree, key))
        for call in calls:
            known_pattern = MADE_AT_RUN_TIME.get((name, ast.unparse(call.args[0])))
            value_item = known_pattern if known_pattern is not None else evaluated(call.args[0], names)
            pattern = re.compile(value_item, flags_of(call, names)) if isinstance(value_item, str | bytes) else value_item
            result.setdefault((name, repr(pattern.pattern)), Found(name, pattern, way_of(call)))
    return result


def sample(items: Any) -> str:
    """A short text that fits this part of a pattern."""
    created = ""
    for op, value in items:
        created += of_one(op, value)
    return created


def of_one(op: Any, value: Any) -> str:
    match op:
        case codes.LITERAL:
            new_letters = chr(value)
        case codes.IN:
            new_letters = letters(value)[:1]
        case codes.ANY | codes.NOT_LITERAL:
            new_letters = "x"
        case codes.SUBPATTERN:
            new_letters = sample(value[-1])
        case codes.BRANCH:
            new_letters = sample(value[1][0])
        case codes.MAX_REPEAT | codes.MIN_REPEAT | codes.POSSESSIVE_REPEAT:
            new_letters = sample(value[2]) * min(max(value[0], 1), 70)
        case _:
            new_letters = ""
    return new_letters


CATEGORIES = {
    codes.CATEGORY_DIGIT: "1", codes.CATEGORY_SPACE: " ", codes.CATEGORY_WORD: "a",
    codes.CATEGORY_NOT_DIGIT: "a", codes.CATEGORY_NOT_SPACE: "a", codes.CATEGORY_NOT_WORD: "!",
}  # fmt: skip


def letters(parts: Any) -> str:
    """A few letters of a set."""
    if parts[0][0] is codes.NEGATE:
        barred = re.compile("[" + "".join(re.escape(chr(value)) for op, value in parts if op is codes.LITERAL) + "\\s]")
        return "".join(item for item in "a1.-_ =@" if not barred.match(item)) or "~"
    result = ""
    for op, value in parts:
        if op is codes.LITERAL:
            result += chr(value)
        elif op is codes.RANGE:
            result += chr(value[0])
        elif op is codes.CATEGORY:
            result += CATEGORIES.get(value, "a")
    return result or "a"


def branches(items: Any) -> list[Any]:
    """The sequences within a pattern: itself, and those of its groups, branches and repeats."""
    results = [items]
    for op, value in items:
        if op is codes.SUBPATTERN:
            results += branches(value[-1])
        elif op is codes.BRANCH:
            for item in value[1]:
                results += branches(item)
        elif op in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
            results += branches(value[2])
        elif op in (codes.ASSERT, codes.ASSERT_NOT):
            results += branches(value[1])
    return results


def pieces(tree: Any) -> tuple[list[str], list[str]]:
    """What may stand before a repeat, and what may repeat."""
    heads, repeated = {"": None}, {"a": None, " ": None, "1": None}
    for items in branches(tree):
        full_items = list(items)
        for place, (op, value) in enumerate(full_items):
            if op in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
                heads[sample(full_items[:place])] = None
                repeated[sample(value[2])] = None
                inner = list(value[2])
                if len(inner) == 1 and inner[0][0] is codes.IN:
                    repeated |= dict.fromkeys(letters(inner[0][1])[:4])
            elif op is codes.IN:
                repeated |= dict.fromkeys(letters(value)[:2])
        repeated[sample(full_items)] = None
    return list(heads)[:10], [item for item in repeated if item][:16]


ENDS = ("", "\0", "\nx", "!")


def texts(pattern: re.Pattern[Any], size: int) -> Iterator[Text]:
    """Texts of about this size that a pattern may take long over."""
    heads, repeated = pieces(parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG))
    for head in heads:
        for piece in repeated:
            for end in ENDS:
                text = head + piece * (size // len(piece)) + end
                yield text.encode("utf-8", "replace") if isinstance(pattern.pattern, bytes) else text
            both = (head + piece) * (size // len(head + piece)) + ENDS[1]
            yield both.encode("utf-8", "replace") if isinstance(pattern.pattern, bytes) else both


def seconds(result: Found, text: Text) -> float:
    before = time.process_time()
    for way in result.ways:
        if way == "finditer":
            deque(result.pattern.finditer(text), maxlen=0)
        else:
            getattr(result.pattern, way)(text)
    return time.process_time() - before


def slowest(result: Found) -> str | None:
    """The text that a pattern takes too long over; None where it never does."""
    for size in SIZES:
        for text in texts(result.pattern, min(size, result.longest)):
            if seconds(result, text) > MOST_SECONDS and min(seconds(result, text) for _ in range(TRIES)) > MOST_SECONDS:
                return f"{len(text)} letters: {text[:80]!r} ... {text[-10:]!r}"
        if size >= result.longest:
            break
    return None


ROOMS = sorted({module.split(".")[1] for module in FILES if "." in module})


@pytest.mark.slow
@pytest.mark.parametrize("room", ROOMS)
def test_patterns__take_linear_time(subtests: pytest.Subtests, room: str) -> None:
    for pattern in patterns().values():
        if pattern.module.split(".")[1:2] == [room]:
            with subtests.test(f"{pattern.module}: {pattern.pattern.pattern!r}"):
                assert slowest(pattern) is None


def test_patterns__are_all_in_tested_packages() -> None:
    assert {pattern.module for pattern in patterns().values() if "." not in pattern.module} == set()
    assert len(patterns()) > 100


@pytest.mark.slow
@pytest.mark.parametrize("bad", [r"(a+)+b", r"(?:a|a)*b", r"\s+$", r"to .+?\s*$", rb'form-data[^\r\n]*?\bname="([^"\r\n]*)"'])
def test_slowest__finds_a_pattern_with_more_than_linear_time(bad: Text) -> None:
    assert slowest(Found("", re.compile(bad))) is not None
