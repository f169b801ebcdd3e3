"""The command line: reads arguments, calls the core, shows what came of it.

In a checkout the packages of the core lie beside this one. A wheel has them below it, so that no
package of another project is called as one of them; they come first for whoever imports this one.
"""

import sys
from pathlib import Path

_INSTALLED = Path(__file__).parent / "_parts"
PARTS = _INSTALLED if _INSTALLED.is_dir() else Path(__file__).parent.parent
"""The folder of the core's packages, of the example sites and of the workflows."""

if PARTS == _INSTALLED:
    sys.path.insert(0, str(PARTS))
