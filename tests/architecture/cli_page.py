"""`python -m tests.architecture.cli_page`: write the usage and options of each command into docs/reference/cli.md, from the parser.

The sentences of a command's section are written by hand; what the parser says follows them, after the line `MARK`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click

from touchbase.cli import cli
from touchbase.common.field_limits import LARGEST_ID

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "cli.md"
MARK = "<!-- from here to the next heading: made by `make docs` -->"
COMMON = {"--database", "--json", "--help"}
"""Options that the top of the page describes once."""
_SECTION = re.compile(r"^### `(touchbase [a-z -]+)`\n(.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)


def commands(group: click.Group = cli, prefix: str = "touchbase") -> Iterator[tuple[str, click.Command]]:
    """Yield each listed command with its whole name."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command, f"{prefix} {name}")
        else:
            yield f"{prefix} {name}", command


def page(text: str) -> str:
    """Return the page with the present usage and options in each section of a command."""
    known = dict(commands())

    def section(found: re.Match[str]) -> str:
        sentences = found[2].partition(MARK)[0].strip()
        made = "\n".join(made_lines(found[1], known[found[1]])) if found[1] in known else ""
        end = "" if found.end() == len(text) else "\n"
        return f"### `{found[1]}`\n\n{sentences}\n\n{MARK}\n\n{made}\n{end}"

    return _SECTION.sub(section, text)


def made_lines(name: str, command: click.Command) -> Iterator[str]:
    """Yield the usage of a command, and the table of its options."""
    usage = " ".join([name, *command.collect_usage_pieces(click.Context(command))])
    yield f"Usage: `{usage}`"
    if name == "touchbase serve":
        yield ""
        yield "Options: each [setting](settings.md) that may stand on a command line."
        return
    options = [each for each in command.params if isinstance(each, click.Option) and not each.hidden and _is_listed(each)]
    if options:
        yield from ("", "| Option | Meaning |", "|---|---|")
        yield from map(_row, options)


def _is_listed(option: click.Option) -> bool:
    return option.opts[0] not in COMMON or (option.opts[0] == "--json" and option.help != "Print JSON.")


def _row(option: click.Option) -> str:
    names = [option.opts[0], *(each for each in option.opts[1:] if not each.startswith("--")), *option.secondary_opts]
    meaning = (option.help or "").partition("  [")[0]
    value = option.metavar or "TEXT"
    if isinstance(option.type, click.types.IntParamType):
        value = "NUMBER"
        if isinstance(option.type, click.IntRange) and option.type.max != LARGEST_ID:
            meaning += f" From {option.type.min} to {option.type.max}."
    elif isinstance(option.type, click.Path):
        value = "FILE"
    elif isinstance(option.type, click.Choice):
        value = "WORD"
        meaning += f" One of {', '.join(f'`{each}`' for each in option.type.choices)}."
    if option.show_default and option.default is not None:
        meaning += f" Default: `{option.default}`."
    if option.required:
        meaning += " Required."
    spellings = ", ".join(f"`{each}`" if option.is_flag else f"`{each} {value}`" for each in names)
    return f"| {spellings} | {meaning} |"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
