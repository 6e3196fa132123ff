"""Write the numbers of the documentation, or check them."""

import argparse
import sys

from benchmarks import pages
from benchmarks.pages.markers import check, rewrite


def main() -> None:
    parser = argparse.ArgumentParser(description=pages.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="name what differs from its file, and write nothing")
    found = check() if parser.parse_args().check else rewrite()
    sys.exit("\n".join(found) or 0)


if __name__ == "__main__":
    main()
