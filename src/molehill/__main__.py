"""`python -m molehill`: the same commands, where none is on the path."""

from molehill.cli.entry import main

if __name__ == "__main__":
    main()
