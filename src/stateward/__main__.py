"""`python -m stateward` is the `stateward` command."""

from stateward.cli import main

if __name__ == "__main__":
    main()
