"""`touchbase tools`: which tools are read, how they are recognised, and how sure we are."""

from __future__ import annotations

import click

from touchbase.cli.common import print_json
from touchbase.cli.tables import NOTE, Column, print_table


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with every event that is understood.")
@click.option("--markdown", is_flag=True, help="Print the page docs/reference/tools.md.")
def tools(as_json: bool, markdown: bool) -> None:
    """List the tools whose webhook calls are read."""
    from touchbase.adapters.catalogue import catalogue, page

    known = catalogue()
    if markdown:
        click.echo(page(known), nl=False)
    elif as_json:
        print_json(known)
    else:
        columns = ("tool", "channel", "events", "sure", "signs its calls", Column("recognised by", NOTE))
        rows = (
            (each.tool, each.channel, len(each.understood), each.marks, bool(each.proofs), "; ".join(each.recognised)) for each in known
        )
        print_table(columns, rows)
