"""``python -m foresite.objects FOLDER SITE...``: what another version of Foresite calls to have the
objects of sites made by this one. The call and its output are kept from version to version."""

import sys
from pathlib import Path

from preview.objects import lines

if __name__ == "__main__":
    for written in lines(Path(sys.argv[1]), sys.argv[2:]):
        sys.stdout.write(f"{written}\n")
