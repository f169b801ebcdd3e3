"""The program that Pulumi's language host starts: serves the policies until its engine is gone."""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# The rules are those of this checkout, whatever is installed beside.
sys.path.insert(0, str(ROOT))

from policies.pack.server import main  # noqa: E402 - the path comes first

main(ROOT, os.environ)
