"""``python -m showthrough.cli``."""

import sys

from showthrough.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
