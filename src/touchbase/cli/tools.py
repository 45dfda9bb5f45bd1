"""`touchbase tools`: which tools are read, how they are recognised, and how sure we are."""

from __future__ import annotations

import click

from touchbase.cli.common import cut, print_json, print_table


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with every event that is understood.")
@click.option("--markdown", is_flag=True, help="Print the page docs/tools.md.")
def tools(as_json: bool, markdown: bool) -> None:
    """List the tools whose webhook calls are read."""
    from touchbase.adapters.catalogue import catalogue, page

    known = catalogue()
    if markdown:
        click.echo(page(known), nl=False)
    elif as_json:
        print_json(known)
    else:
        titles = ("tool", "channel", "events", "sure", "signs its calls", "recognised by")
        rows = (
            (each.tool, each.channel, len(each.understood), each.marks, "yes" if each.proofs else "no", cut("; ".join(each.recognised), 80))
            for each in known
        )
        print_table(titles, rows)
