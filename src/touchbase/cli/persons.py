"""`touchbase persons`: a person's data, erased or exported."""

from __future__ import annotations

import click

from touchbase.cli.common import Group
from touchbase.cli.erase import erase
from touchbase.cli.export_person import export_person
from touchbase.cli.reapply_erasures import reapply_erasures


@click.group(cls=Group)
def persons() -> None:
    """Erase a person, export a person's data, and reapply erasures in a restored store."""


persons.add_command(erase)
persons.add_command(export_person)
persons.add_command(reapply_erasures)
