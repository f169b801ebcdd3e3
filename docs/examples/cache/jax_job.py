"""JAX: batches of arrays for each worker, read by threads through the cache.

``python jax_job.py s3://bucket/train/``, with the template all-reduce or all-reduce-trainjob
"""

import os
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from cached_files import CachedFiles, names_of

LENGTH = 16
"""Numbers in a sample; longer files are cut, shorter ones filled with zeros."""


def batches(files: CachedFiles, size: int, first: int, step: int) -> Iterator[np.ndarray]:
    """Batches of ``size`` samples, of every ``step``-th file from ``first`` on."""
    numbers = range(first, len(files), step)
    with ThreadPoolExecutor(8) as threads:
        for start in range(0, len(numbers), size):
            found = threads.map(files.__getitem__, numbers[start : start + size])
            yield np.stack([sample(content) for content in found])


def sample(content: bytes) -> np.ndarray:
    """An array of a file's content. Decode your format here."""
    return np.frombuffer(content[:LENGTH].ljust(LENGTH, b"\0"), np.uint8).astype(np.float32)


def main(url: str) -> None:
    """Read every sample once, each worker its share; the templates set these variables."""
    import jax

    first, workers, rank = (
        os.environ[f"PET_{name}"] for name in ("MASTER_ADDR", "NNODES", "NODE_RANK")
    )
    port = os.environ["PET_MASTER_PORT"]
    jax.distributed.initialize(f"{first}:{port}", int(workers), int(rank))
    files = CachedFiles(url, names_of(url))
    for batch in batches(files, 8, jax.process_index(), jax.process_count()):
        print(jax.process_index(), jax.device_put(batch).mean())


if __name__ == "__main__":
    main(sys.argv[1])
