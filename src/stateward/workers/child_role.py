"""Whether this process is a child: code that a child imports must not start a Stateward of its own there."""

STARTED_BY_IMPORT = (
    "a child process imports this script again to find its stages, and that must not run it again; "
    'put what opens the App under `if __name__ == "__main__":`'
)

_is_child = False


def become_child() -> None:
    """From now on this process only executes runners."""
    global _is_child  # noqa: PLW0603 - a property of the process, set once
    _is_child = True


def refuse_in_child() -> None:
    """Raise RuntimeError in a child: a script without a guard would start children that start children."""
    if _is_child:
        raise RuntimeError(STARTED_BY_IMPORT)
