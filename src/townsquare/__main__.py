"""``python -m townsquare`` is the command line."""

from townsquare.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
