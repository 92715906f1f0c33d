"""Whether this process is a child: code that runs in a child must not start a Stateward of its own there."""

STARTED_BY_IMPORT = (
    "a child process imports this script again to find its stages, and that must not run it again; "
    'put what opens the App under `if __name__ == "__main__":`'
)
STARTED_BY_STAGE = (
    "a stage runs in a child process, which may not open an App; "
    'declare it with isolation="inline", or open the App where the document is submitted'
)

_refusal = ""


def become_child() -> None:
    """From now on this process only imports and executes runners."""
    global _refusal  # noqa: PLW0603 - a property of the process
    _refusal = STARTED_BY_IMPORT


def end_imports() -> None:
    """What runs from now on are stages."""
    global _refusal  # noqa: PLW0603 - a property of the process
    _refusal = STARTED_BY_STAGE


def is_child() -> bool:
    """Whether this process executes runners and nothing else."""
    return bool(_refusal)


def refuse_in_child() -> None:
    """Raise RuntimeError in a child: a script without a guard would start children that start children."""
    if _refusal:
        raise RuntimeError(_refusal)
