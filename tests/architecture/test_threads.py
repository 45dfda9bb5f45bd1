"""The event loop's own threads are left to look-ups of names; other blocking work has the threads of its kind (`common/threads.py`)."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.architecture.source import trees

OTHER_PROCESSES = ("touchbase.cli", "touchbase_client")
"""The command line and the Python client, which run in other processes than the server."""


def _uses(tree: ast.Module) -> Iterator[ast.Call]:
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute))
    for call in calls:
        name = ast.unparse(call.func).rpartition(".")[2]
        if name == "to_thread" or (name == "run_in_executor" and ast.unparse(call.args[0]) == "None"):
            yield call


def test_the_threads_of_the_event_loop__do_no_work_but_look_ups_of_names() -> None:
    shared = {module for module, tree in trees().items() if not module.startswith(OTHER_PROCESSES) and any(_uses(tree))}

    assert shared == set()
