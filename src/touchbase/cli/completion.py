"""`touchbase completion`: the completion script of a shell."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the completion script of a shell.

    \b
    bash:  touchbase completion bash >> ~/.bashrc
    zsh:   touchbase completion zsh >> ~/.zshrc
    fish:  touchbase completion fish > ~/.config/fish/completions/touchbase.fish
    """
    script = get_completion_class(shell)
    assert script is not None, "click knows every shell in SHELLS"
    click.echo(script(ctx.find_root().command, {}, "touchbase", "_TOUCHBASE_COMPLETE").source())
