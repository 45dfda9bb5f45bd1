"""The house in one picture: which room may import which, read from every file."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator

import pytest
from tests.architecture.source import FILES, trees

ROOMS = {
    "domain": {"domain"},
    "service": {"service", "domain"},
    "adapters": {"adapters", "domain"},
    "storage": {"storage", "domain"},
    "api": {"api", "service", "domain"},
    "server": {"server", "domain"},
    "outbound": {"outbound", "domain"},
    "settings": {"settings_values"},
    "settings_values": set[str](),
    "translator": {"adapters", "storage", "service", "domain"},
    "wiring": {"api", "adapters", "storage", "server", "outbound", "service", "domain", "settings", "touchbase"},
    "cli": {"cli", "wiring", "api", "adapters", "storage", "server", "outbound", "service", "domain", "settings", "touchbase"},
    "__main__": {"cli"},
    "touchbase": set[str](),
}
"""Each room and those it may import; `touchbase` is the package itself, which holds the version."""

LIBRARIES = {
    "domain": {"email_validator", "idna"},
    "service": set[str](),
    "adapters": {"cryptography", "msgspec"},
    "storage": {"apsw", "asyncpg", "cryptography", "msgspec"},
    "api": {"starlette", "msgspec"},
    "server": {"uvicorn", "httptools", "msgspec", "prometheus_client"},
    "outbound": {"httpcore"},
    "settings": set[str](),
    "settings_values": set[str](),
    "translator": set[str](),
    "wiring": set[str](),
    "cli": {"click", "uvloop", "msgspec"},
    "__main__": set[str](),
    "touchbase": set[str](),
}
"""Each room and the libraries it may use; the edges' libraries stay at their edge."""


def room_of(module: str) -> str:
    """The room of a module, which is the first name below the package."""
    return [*module.split("."), "touchbase"][1]


def imported(nodes: Iterator[ast.AST]) -> Iterator[str]:
    """Every module that these statements import."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.module, "imports are absolute"
            for each in node.names:
                whole = f"{node.module}.{each.name}"
                yield whole if whole in FILES else node.module


def at_module_level(tree: ast.Module) -> Iterator[ast.AST]:
    """Statements that run when the module is imported."""
    waiting: list[ast.AST] = list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        yield node
        waiting.extend(ast.iter_child_nodes(node))


def is_ours(module: str) -> bool:
    return module.split(".", maxsplit=1)[0] == "touchbase"


def test_every_room_is_in_the_picture() -> None:
    assert {room_of(module) for module in FILES} == set(ROOMS)


@pytest.mark.parametrize("room", ROOMS)
def test_arrows_between_rooms_only_point_down(room: str) -> None:
    arrows = {
        (module, each) for module, tree in trees().items() if room_of(module) == room for each in imported(ast.walk(tree)) if is_ours(each)
    }

    assert {arrow for arrow in arrows if room_of(arrow[1]) not in ROOMS[room]} == set()


@pytest.mark.parametrize("room", LIBRARIES)
def test_libraries_stay_in_their_rooms(room: str) -> None:
    used = {
        (module, each.split(".")[0])
        for module, tree in trees().items()
        if room_of(module) == room
        for each in imported(ast.walk(tree))
        if not is_ours(each)
    }

    assert {use for use in used if use[1] not in LIBRARIES[room] | sys.stdlib_module_names} == set()


def test_modules_do_not_import_each_other_in_a_circle() -> None:
    arrows = {module: {each for each in imported(at_module_level(tree)) if each in FILES} for module, tree in trees().items()}
    # Whoever imports only modules that are out of the picture goes out too; what is left is a circle.
    while free := {module for module, targets in arrows.items() if not targets & arrows.keys()}:
        for module in free:
            del arrows[module]

    assert arrows == {}


def test_no_tool_knows_another_tool() -> None:
    def tool_of(module: str) -> tuple[str, ...]:
        return tuple(module.split(".")[2:4])

    folders = {tool_of(module) for module in FILES if module.endswith(".adapter")}
    crossings = {
        (module, each)
        for module, tree in trees().items()
        for each in imported(ast.walk(tree))
        if tool_of(each) in folders and tool_of(module) != tool_of(each)
    }

    assert crossings == set()


def test_no_engine_knows_another_engine() -> None:
    engines = {"sqlite", "postgres"}
    crossings = {
        (module, each)
        for module, tree in trees().items()
        if room_of(module) == "storage"
        for each in imported(ast.walk(tree))
        if {*module.split(".")[2:3], *each.split(".")[2:3]} == engines and is_ours(each)
    }

    assert crossings == set()


def test_only_the_command_line_names_the_wiring() -> None:
    users = {room_of(module) for module, tree in trees().items() for each in imported(ast.walk(tree)) if each == "touchbase.app"}

    assert users == {"cli"}
