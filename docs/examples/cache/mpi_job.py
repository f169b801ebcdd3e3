"""Plain Python under mpirun, or alone: each process reads its share through the cache.

``mpirun -np 16 python mpi_job.py s3://bucket/train/``
"""

import hashlib
import os
import sys

from cached_files import CachedFiles, names_of


def share(count: int) -> range:
    """The numbers of this process, by the variables that Open MPI sets; all of them without."""
    rank = int(os.environ.get("OMPI_COMM_WORLD_RANK", "0"))
    return range(rank, count, int(os.environ.get("OMPI_COMM_WORLD_SIZE", "1")))


def main(url: str) -> None:
    """Print the name, size and hash of each file of this process."""
    files = CachedFiles(url, names_of(url))
    for number in share(len(files)):
        content = files[number]
        print(files.names[number], len(content), hashlib.sha256(content).hexdigest())


if __name__ == "__main__":
    main(sys.argv[1])
