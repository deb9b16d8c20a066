"""`python -m omnigraph.server`."""

from __future__ import annotations

import sys

from omnigraph.server.main import main

sys.exit(main())
