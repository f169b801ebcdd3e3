"""The command line: reads arguments, calls the core, shows what came of it. The core's packages lie
beside this one, in a wheel below it (docs/decisions/0028-one-package.md)."""

import sys
from pathlib import Path

_INSTALLED = Path(__file__).parent / "_parts"
PARTS = _INSTALLED if _INSTALLED.is_dir() else Path(__file__).parent.parent
"""The folder of the core's packages, of the example sites and of the workflows."""

if PARTS == _INSTALLED:
    sys.path.insert(0, str(PARTS))
