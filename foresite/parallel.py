"""The same work for many sites, on all cores."""

import os
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

T = TypeVar("T")
R = TypeVar("R")
FEW = 8
"""Items up to which starting processes costs more than they save."""
MOST = 16
"""Items that a process takes at a time, at most: none waits long for the last one to end."""


def each(function: Callable[[T], R], items: Sequence[T]) -> list[R]:
    """``function`` of each item, in order; where there are many, other processes send results."""
    cores = os.cpu_count() or 1
    if len(items) <= FEW or cores == 1 or not hasattr(os, "fork"):
        return [function(item) for item in items]
    # Imported here, as it takes as long as a site's objects.
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    # Forked, so that a worker has what is imported, and the items; nothing here runs threads.
    context = multiprocessing.get_context("fork")
    given = (function, items)
    with ProcessPoolExecutor(cores, context, initializer=_take, initargs=given) as pool:
        numbers = range(len(items))
        return list(pool.map(_one, numbers, chunksize=min(MOST, 1 + len(items) // (4 * cores))))


_work: list[Any] = []
"""In a worker: the function and the items."""


def _take(*work: Any) -> None:
    _work[:] = work


def _one(number: int) -> Any:
    function, items = _work
    return function(items[number])
