"""The annotations of a gang, made in one place: all pods of a gang must say exactly the same.

Source: pfnet/scheduler-plugins f63b46e, plugins/gang (annotation.go, name_spec.go, gang.go): a pod
whose size is missing, no number or 1 counts as no gang, silently; pods that say different things
never start.
"""

from schemas.model.scheduling import Gang

NAME, SIZE, TIMEOUT, POSITION = "name", "size", "schedule-timeout-seconds", "position"
"""Ends of the annotations, after the prefix and a dash. The scheduler writes the position."""


def key(gang: Gang, part: str) -> str:
    """The annotation of a part, such as ``gang-scheduling.example.com/gang-size``."""
    return f"{gang.annotation_prefix}-{part}"


def annotations(gang: Gang, name: str, size: int, timeout: int | None = None) -> dict[str, str]:
    """The annotations of each pod of a gang of ``size`` pods, none for one; ``timeout`` in seconds.
    ValueError for less, or a timeout over the limit, which the scheduler would cut silently."""
    if size < 1:
        raise ValueError(f"a gang of {size} pods")
    if timeout is not None and not 1 <= timeout <= gang.timeout_limit_seconds:
        raise ValueError(f"a timeout of {timeout} s; the limit is {gang.timeout_limit_seconds} s")
    if size == 1:
        return {}
    found = {key(gang, NAME): name, key(gang, SIZE): str(size)}
    if timeout is not None:
        found[key(gang, TIMEOUT)] = str(timeout)
    return found
