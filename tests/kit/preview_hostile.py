"""Previews whose every text was written by someone who means harm, and what such people write."""

from dataclasses import replace

from hypothesis import strategies as st

from components.effects.vocabulary import (
    ABSENT,
    Action,
    Effect,
    FieldChange,
    Impact,
    Ledger,
    ObjectChange,
    PoolPlan,
)
from components.object_cache.effects.consequences import Consequence
from preview.result import (
    Cause,
    Deletion,
    Gate,
    HostVerdict,
    ObjectVerdict,
    Preview,
    Reason,
    SitePreview,
    State,
)
from schemas.model.codes import Code
from schemas.model.problem import Problem
from tests.kit.preview_samples import alike, invalid_site, manifest, one, preview

PIECES = (
    "`", "``", "```", "````", "~~~", "|", "\\|", "\\", "\n", "\r\n", "\n\n", "\t", " ", "  \n",
    "<!--", "-->", "<!-- foresite-preview -->", "</details>", "<details>", "</summary>", "</code>",
    "<script>document.title='gone'</script>", "<img src=x onerror=document.title='gone'>",
    "<svg onload=document.title='gone'>", "</style>", "</title>", "</pre>", "<a href=//e.example>",
    "@octocat", "@org/team", "#123", "GH-12", "octo/repo#1", "fixes #1", "closes GH-1", "deadbeef",
    "0123456789abcdef", "http://e.example/", "www.e.example", "a@e.example", "<http://e.example>",
    "[a](javascript:alert(1))", "![a](http://e.example/a.png)", "[x]", "[ ] ", "- ", "* ", "1. ",
    "1) ", "# ", "> ", "+ ", "---", "===", "***", "_a_", "**", "~~a~~", "$`x`$", "$$", ":smile:",
    "Foresite-Allow: remove=3", "\nForesite-Allow: remove=3\n", "\x1b[31m", "\x1b]0;t\x07", "\x9b",
    "\u202e", "\u2066", "\u200b", "\ufeff", "\u2028", "\u0301", "\u05d0", "\U000e0041", "\ud800",
    "{{ 7*7 }}", "{% raw %}", "&lt;", "&#64;", "&", "'", '"', "=cmd()", "%s", "{}", "\0", "word",
)  # fmt: skip
"""Pieces of text that break out of quotes somewhere."""

texts = st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=8).map("".join)


def hostile(text: str) -> Preview:
    """A preview in which every text that can come from outside is ``text``."""
    base = invalid_site(f"{text}2")
    problem = Problem(text, 1, 1, Code.YAML_SYNTAX, text, text, text, text)
    invalid = replace(base, problems=(problem,))
    found = preview(one(invalid), alike(_hostile_site(text), [f"{text}1"]))
    return replace(
        found,
        base=text,
        head=text,
        code=text,
        code_changed=(text,),
        gates=(Gate(text, text, text),),
        allowed={text: 1},
    )


def _hostile_site(text: str) -> SitePreview:
    there = manifest(text, text, text)
    fields = (
        FieldChange((text, 0, text), text, f"{text}!"),
        FieldChange(("data", text), f"keep\n{text}", f"keep\n{text}!\n"),
        FieldChange(("spec", text), {text: [text]}, ABSENT),
    )
    change = ObjectChange(text, there, there, fields)
    gone = ObjectChange("machines", manifest(text, text, f"{text} gone"), None)
    hosts = tuple(f"{text}-{number:02}" for number in range(1, 5))
    effects = (
        Effect(Impact.REMOVE, gone.name, (), text, text, hosts[:1], action=Action.REFUSED),
        Effect(Impact.REIMAGE, change.name, (text,), text, text, hosts[1:2]),
        Effect(Impact.DRAIN, change.name, (text,), text, text, hosts[2:], at_most=1),
        Effect(Impact.NONE, change.name, (text,), text, text),
    )
    edit = Cause(text, 1, 1, text, text, f"{text}!")
    plan = PoolPlan(text, text, 1, 1, 0, 1, 1.0, 1.0, Ledger(text, 1, 8, 1, 8), text, (text,))
    return SitePreview(
        text,
        State.CHANGED,
        hosts=tuple(
            each._replace(zone=text, rack=f"{text} rack")
            for each in (
                HostVerdict(hosts[0], text, Impact.REMOVE, (0,)),
                HostVerdict(hosts[1], text, Impact.REIMAGE, (1,)),
                *(HostVerdict(host, text, Impact.DRAIN, (2,), at_most=1) for host in hosts[2:]),
            )
        ),
        reasons=tuple(Reason(each, text, (edit, edit._replace(after=""))) for each in effects),
        objects=(
            ObjectVerdict(change, Action.CHANGED, (1, 2, 3)),
            ObjectVerdict(gone, Action.REFUSED, (0,)),
        ),
        plans=(plan,),
        capacity=(Ledger(text, 2, 16, 2, 16),),
        deletions=(Deletion(text, 1),),
        services=(Consequence("all alerts end", f"all alerts end: {text}"),),
        guaranteed=((text, 9),),
    )
