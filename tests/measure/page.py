"""Pages of docs/ whose figures and tables stand between markers."""

from collections.abc import Mapping


def replace_parts(measure: str, page: str, parts: Mapping[str, str]) -> str:
    """``page`` with new text between the markers of each part of a measurement.

    Raises ValueError where the page lacks one.
    """
    for name, text in parts.items():
        start, end = f"<!-- measure.{measure} {name} -->\n", f"<!-- end of {name} -->"
        head, _, rest = page.partition(start)
        _, _, tail = rest.partition(end)
        if not tail:
            raise ValueError(f"the page has no markers of {name}")
        page = f"{head}{start}\n{text}\n\n{end}{tail}"
    return page
