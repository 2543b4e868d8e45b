"""``python -m rungwise``."""

from rungwise.cli import main

if __name__ == "__main__":
    main()
