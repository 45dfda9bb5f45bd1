"""No module of the console imports another in a circle: a part that two screens share lies below both."""

from __future__ import annotations

import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

SOURCES = Path(__file__).parents[2] / "console" / "src"
IMPORT = re.compile(r"""^(?:import|export)\b[^;]*?\bfrom\s*['"](\.[^'"]+)['"]|^import\s*['"](\.[^'"]+)['"]""", re.MULTILINE)


def imports(module: Path) -> set[Path]:
    """The modules that a module imports, those of types among them."""
    targets = [(module.parent / (first or second)).resolve() for first, second in IMPORT.findall(module.read_text())]
    return {path for target in targets for path in (target.with_name(f"{target.name}{end}") for end in (".ts", ".tsx")) if path.is_file()}


def test_console__has_no_import_circle() -> None:
    graph = {path: imports(path) for path in SOURCES.rglob("*.ts*")}
    assert sum(map(len, graph.values())) > len(graph)

    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        circle = " → ".join(str(path.relative_to(SOURCES)) for path in error.args[1])
        raise AssertionError(f"move what they share to a module below both: {circle}") from None
