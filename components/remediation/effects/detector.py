"""Effects of changes to the detector: its pods restart, and drain nothing. The faults that a
changed check finds may be repaired from then on."""

from collections.abc import Iterable

from components.effects import Effects, Field, FieldChange, Impact, ObjectChange, SiteChange
from components.effects.applying import effect
from components.effects.rules import Judge, say_more
from components.making.faults import CONDITIONS
from components.making.told import Told
from components.remediation import kernellog
from components.remediation.checks import checks, files_of, stem
from components.remediation.detector import NAME
from components.remediation.effects.cases import cases_of, effects
from components.remediation.effects.repairs import ended_faults, longer_fault, stricter_check
from components.remediation.effects.thresholds import shift
from components.remediation.names import find_pool
from components.remediation.reset import NAME as RESET
from components.source import site_of
from schemas.model.site_file import Pool
from schemas.model.vocabulary import Fault

_SAID = Told(__file__).table("words")
MESSAGES, EXPORTER, STATUS = Told(__file__).table("sources").values()


def note_restarts(judge: Judge, site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """``judge`` for the detector's DaemonSets, with what their restart or end does to repairs."""
    found = judge(site, change, field)
    if change.before is None:
        return found
    if change.one.name.startswith(f"DaemonSet/{RESET}/"):
        return _without_pods(found)
    goes = change.after is None
    source = f"{EXPORTER}; {STATUS}" if goes else MESSAGES
    return say_more(found, _SAID["left" if goes else "restarted"], source, Impact.POD_RESTART)


def _without_pods(found: Effects) -> Effects:
    for each in found:
        if each.impact is Impact.POD_RESTART:
            each = each._replace(impact=Impact.NONE, hosts=(), why=_SAID["no_pods"])
        yield each


def judge_checks(judge: Judge, site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """``judge`` for ConfigMaps, with the faults that a changed check finds: once for a detector."""
    yield from judge(site, change, field)
    pool = _pool(site, change)
    data = [each for each in change.fields if each.path[:1] == ("data",)]
    if pool and field is not None and data and data[0] == field:
        yield from _of_checks(site, change, field, pool)


def _pool(site: SiteChange, change: ObjectChange) -> Pool | None:
    """The pool whose detector reads a ConfigMap."""
    kind, _, name = change.one.name.partition("/")
    program, _, pool = name.partition("/")
    if (kind, program) != ("ConfigMap", NAME) or site.before is None or site.after is None:
        return None
    return find_pool(site_of(site.after), pool)


def _of_checks(site: SiteChange, change: ObjectChange, field: FieldChange, pool: Pool) -> Effects:
    files = {str(each.path[1]) for each in change.fields if len(each.path) > 1}
    if kernellog.FILE in files:
        yield effect(change, field, Impact.NONE, _SAID["events"], MESSAGES)
    mending: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    others: dict[str, list[str]] = {}
    for fault in _faults(site, pool, files - {kernellog.FILE}):
        words, kind = _check_shift(site, pool, fault)
        found = shift(site_of(site.sides[0]), site_of(site.side), pool.name, fault)
        longer = found.longer if found else ()
        if longer:
            mending.setdefault(("longer", longer), []).append(fault)
        if kind == "more":
            mending.setdefault((kind, words), []).append(fault)
        elif words:
            others.setdefault("; ".join(words), []).append(fault)
    for (kind, words), faults in mending.items():
        yield from _stricter(site, change, field, (pool, faults, words, kind))
    for said, faults in others.items():
        types = ", ".join(CONDITIONS[each] for each in faults)
        ends = [_ends(site, pool, each) for each in faults]
        texts = (f"{types} of pool {pool.name}: {said}", *filter(None, ends))
        why = "; ".join(dict.fromkeys(texts))
        yield effect(change, field, Impact.NONE, why, f"{MESSAGES}; {EXPORTER}")


def _faults(site: SiteChange, pool: Pool, files: Iterable[str]) -> list[str]:
    """The faults that files are about: those whose checks read them, or all."""
    reads: dict[str, set[str]] = {fault: set() for fault in Fault}
    for of in map(site_of, site.sides):
        for one in of.file.pools:
            for check in checks(of, one) if one.name == pool.name else ():
                reads.setdefault(check.fault, set()).update(files_of(check))
    every = set(files) - set().union(*reads.values())
    return [fault for fault, texts in reads.items() if every or texts & set(files)]


def _check_shift(site: SiteChange, pool: Pool, fault: str) -> tuple[tuple[str, ...], str]:
    """The text on a check, and whether it finds ``more``, ``fewer``, or is ``new``, ``gone`` or the
    ``same``. A check without a known difference may find anything."""
    before, after = site_of(site.sides[0]), site_of(site.side)
    found = shift(before, after, pool.name, fault)
    if found is None:
        if fault in after.faults(pool):
            return ("it is checked from now on",), "new"
        old = find_pool(before, pool.name)
        was = old is not None and fault in before.faults(old)
        return (f"it is not checked any more; {_SAID['left']}",) if was else (), "gone"
    if found.fewer and not found.more and not found.other:
        return (", ".join(found.fewer),), "fewer"
    if not any(found):
        return (f"the check of {fault} is another",), "more"
    words = (*found.more, *(f"another {each}" for each in found.other), *found.fewer)
    return (words, "more") if words else (found.told, "same")


def _stricter(
    site: SiteChange,
    change: ObjectChange,
    field: FieldChange,
    what: tuple[Pool, list[str], tuple[str, ...], str],
) -> Effects:
    pool, faults, words, kind = what
    cases = cases_of(site, pool.name, faults)
    for case in cases:
        # The first field of a file that is named after one of the faults.
        names = tuple(f"{stem(each)}." for each in case.faults)
        data = (each for each in change.fields if len(each.path) > 1)
        own = next((each for each in data if str(each.path[1]).startswith(names)), field)
        found = (longer_fault if kind == "longer" else stricter_check)(site, case, words)
        yield from effects(change, own, case, found)
    mended = {fault for case in cases for fault in case.faults}
    if left := [each for each in faults if each not in mended]:
        types = ", ".join(CONDITIONS[each] for each in left)
        by_that = "stay True for longer" if kind == "longer" else "become True"
        why = f"{', '.join(words)}: {types} of pool {pool.name} may {by_that} by that"
        why = f"{why}; {_SAID['alone']}"
        said = [ended_faults(site, pool, each, "it is taken back") for each in left]
        why = "; ".join(dict.fromkeys((why, *filter(None, said))))
        yield effect(change, field, Impact.NONE, why, MESSAGES)


def _ends(site: SiteChange, pool: Pool, fault: str) -> str:
    """The nodes that no longer have the fault, where a check finds less."""
    if shift(site_of(site.sides[0]), site_of(site.side), pool.name, fault) is None:
        return ""
    mended = cases_of(site, pool.name, [fault])
    ends = _SAID["repair_ends"] if mended else "the condition is taken back"
    return ended_faults(site, pool, fault, ends)
