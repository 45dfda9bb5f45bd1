"""`touchbase persons`: what is kept about a person, erased or written out."""

from __future__ import annotations

import click

from touchbase.cli.common import Group
from touchbase.cli.erase import erase
from touchbase.cli.export_person import export_person


@click.group(cls=Group)
def persons() -> None:
    """Erase a person, or write everything that is kept about one."""


persons.add_command(erase)
persons.add_command(export_person)
