"""The `stateward` command, and `python -m stateward`."""

import gc

GARBAGE_FROM = 50_000


def main() -> None:
    """The `stateward` command."""
    # Nearly all that a short command allocates are modules, which stay: looking for garbage among them in vain took a
    # tenth of its time. So this is said before any of them is imported.
    gc.set_threshold(GARBAGE_FROM)
    from stateward.cli import main as command

    command()


if __name__ == "__main__":
    main()
