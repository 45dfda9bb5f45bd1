"""Every command line that stands on a page is one that the program takes: its command, its options, and what must be given."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from docs import build

from touchbase.cli import cli

ROOT = Path(__file__).parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
BEGINS = re.compile(r"(?:^|[|&] *|--rm |/bin/)(?:as_)?touchbase (?=[a-z-])")


def command_lines() -> Iterator[tuple[str, str]]:
    """What stands behind `touchbase` in the shell blocks of every page."""
    for page in PAGES:
        for block in re.findall(r"```sh\n(.*?)```", build.render(page.read_text(encoding="utf-8")), re.DOTALL):
            for line in block.replace("\\\n", " ").splitlines():
                for place in BEGINS.finditer(line):
                    yield page.name, line[place.end() :]


def words(line: str) -> list[str]:
    """The words of a command up to a comment, a pipe or a redirection."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>")
    lexer.whitespace_split, lexer.commenters = True, "#"
    results: list[str] = []
    for word in lexer:
        if set(word) <= set("|&;<>"):
            break
        results.append(word)
    return results


LINES = list(command_lines())


def test_docs_pages__include_commands() -> None:
    assert {
        "cli.md",
        "connect-a-tool.md",
        "back-up.md",
        "deploy.md",
        "erase-a-person.md",
        "first-hour.md",
        "manage-clients-and-keys.md",
    } <= {page for page, _ in LINES}


def test_docs_commands__are_accepted_by_the_program(subtests: pytest.Subtests) -> None:
    for page, line in LINES:
        with subtests.test(f"{page} {line}"):
            program_takes(line)


def program_takes(line: str) -> None:
    given_words, context = words(line), click.Context(cli)
    command: click.Command = cli
    while given_words[0] in ("--url", "--key-file"):  # stand before the command
        del given_words[:2]
    while isinstance(command, click.Group):
        name = given_words.pop(0)
        result = command.get_command(context, name)
        assert result is not None, name
        command, context = result, click.Context(result, parent=context, info_name=name)

    command.make_context(context.info_name, given_words)
