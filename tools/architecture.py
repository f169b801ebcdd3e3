"""The pictures of docs/architecture.md, made from the imports of the code. ``python -m
tools.architecture`` writes them between markers; with ``--check`` it only compares."""

import sys
from collections import Counter
from pathlib import Path

import grimp

PAGE = Path(__file__).resolve().parent.parent / "docs" / "architecture.md"
PACKAGES = ("components", "controlplane", "foresite", "policies", "preview", "schemas", "tools")
"""Top-level packages; those with rooms that are drawn apart are in ROOMS."""
ROOMS = ("schemas", "components", "preview", "foresite")
BEGIN, END = "<!-- picture {} -->\n", "<!-- end of {} -->"

Arrows = Counter[tuple[str, str]]


def arrows(imports: list[tuple[str, str]], inside: str = "") -> Arrows:
    """Count the imports between top-level packages, or between the rooms of one package."""
    start = f"{inside}." if inside else ""
    pairs = (
        (importer.removeprefix(start).split(".")[0], imported.removeprefix(start).split(".")[0])
        for importer, imported in imports
        if importer.startswith(start) and imported.startswith(start)
    )
    return Counter(each for each in pairs if each[0] != each[1])


def mermaid(found: Arrows) -> str:
    """Draw arrows as a Mermaid flowchart, each with its count of imports."""
    rows = [f"  {one} -->|{count}| {other}" for (one, other), count in sorted(found.items())]
    return "\n".join(["```mermaid", "flowchart TD", *rows, "```"])


def read_imports() -> list[tuple[str, str]]:
    """Every import between modules of the project, as (importer, imported)."""
    graph = grimp.build_graph(*PACKAGES)
    return sorted(
        (module, imported)
        for module in graph.modules
        for imported in graph.find_modules_directly_imported_by(module)
    )


def draw(page: str) -> str:
    """Return the page with new pictures. Raises ValueError where it lacks a marker."""
    imports = read_imports()
    for name in ("packages", *ROOMS):
        begin, end = BEGIN.format(name), END.format(name)
        head, found, rest = page.partition(begin)
        _, closed, tail = rest.partition(end)
        if not (found and closed):
            raise ValueError(f"docs/architecture.md has no markers of {name}")
        picture = mermaid(arrows(imports, "" if name == "packages" else name))
        page = f"{head}{begin}\n{picture}\n\n{end}{tail}"
    return page


def main() -> int:
    """Write the pictures; with --check only compare, and fail where they differ."""
    page = PAGE.read_text("utf-8")
    drawn = draw(page)
    if "--check" in sys.argv[1:]:
        print("up to date" if drawn == page else "docs/architecture.md is not up to date")
        return int(drawn != page)
    if drawn != page:
        PAGE.write_text(drawn, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
