"""`stateward completion`: what a shell needs to complete commands and options."""

import click

from stateward.cli.commands import command
from stateward.cli.context import CliContext, pass_context
from stateward.cli.output import write

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_STATEWARD_COMPLETE"  # click's own name for the program `stateward`


@command("completion", "stateward completion bash", "stateward completion fish")
@click.argument("shell", type=click.Choice(SHELLS))
@pass_context
def completion(context: CliContext, shell: str) -> None:
    """Print the completion script for a shell.

    Completes commands and options. Put it where your shell looks for completions, such as
    ~/.local/share/bash-completion/completions/stateward or ~/.config/fish/completions/stateward.fish, or run it when
    the shell starts: eval "$(stateward completion zsh)".
    """
    from click.shell_completion import get_completion_class

    found = get_completion_class(shell)
    assert found is not None  # noqa: S101 - click knows these three
    # Only the template is wanted: click would start bash to see that it is a new one.
    made = found(click.Command("stateward"), {}, "stateward", VARIABLE)
    text = made.source_template % made.source_vars()
    # The script of click ends a description at its first comma.
    text = text.replace('string split "," $completion', 'string split --max 1 "," $completion')
    if context.json:
        context.emit({"shell": shell, "script": text})
    else:
        for line in text.strip().splitlines():
            write(line)
