"""`python -m omnigraph.cli`."""

from __future__ import annotations

import sys

from omnigraph.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
