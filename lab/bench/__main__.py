"""`python -m lab.bench table|growth …`: measure, and put the tables into the pages (see the Makefile)."""

from lab.bench.pages import main

if __name__ == "__main__":
    main()
