"""``python -m sonde`` is the command line."""

from sonde.cli.main import main

if __name__ == "__main__":
    main()
