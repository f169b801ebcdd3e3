"""The reports of a preview: what it found, for a terminal, a pull request, a browser, a program.

The first four show the same blocks (``overview.py``) in the same words (``words.py``); what others
wrote becomes safe to show in ``phrase.py``. A format is imported when it is asked for.
"""

from preview.result import Preview


def text(preview: Preview, colour: bool = False, width: int | None = None) -> str:
    """The report for a terminal that shows ``colour``, of so many columns; else as it comes."""
    from preview.report.terminal import render

    return render(preview, colour, width)


def comment(preview: Preview, limit: int = 60_000) -> str:
    """The report as a comment on GitHub: Markdown of at most ``limit`` bytes, worst first. Its
    first line is ``<!-- foresite-preview -->``, by which the comment is found again. GitHub takes
    65,536 characters."""
    from preview.report.markdown import COMMENT, MARKER, render

    return render(preview, COMMENT, limit, f"{MARKER}\n")


def summary(preview: Preview) -> str:
    """The report as GitHub's summary of a job: Markdown below 1 MiB, GitHub's limit."""
    from preview.report.markdown import SUMMARY, SUMMARY_LIMIT, render

    return render(preview, SUMMARY, SUMMARY_LIMIT)


def html(preview: Preview) -> str:
    """The whole report as one file for a browser, which loads nothing and runs nothing."""
    from preview.report.page import render

    return render(preview)


def document(preview: Preview) -> str:
    """Everything that was found, as JSON."""
    from preview.report.record import render

    return render(preview)
