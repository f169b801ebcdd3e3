"""``python -m foresite``: the same as the command ``foresite``."""

import sys

from foresite.cli import main

sys.exit(main())
