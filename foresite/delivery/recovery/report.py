"""The report of ``foresite recover`` on a site, for a person or as JSON."""

from dataclasses import dataclass, field

from foresite.command import OK, print_report, show
from foresite.delivery.recovery.explained import Step


@dataclass
class Report:
    """The report of ``foresite recover`` on a site: lines for a person as they come, or at last as
    JSON. ``begun``: something may be changed."""

    site: str
    form: str
    found: list[str] = field(default_factory=list)
    done: list[str] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    orphans: list[dict[str, str]] = field(default_factory=list)
    begun: bool = False

    def say(self, kind: str, text: str) -> None:
        """A line of a kind: found, done, left."""
        getattr(self, kind).append(text)
        self._print(f"  {kind:5}  {text}")

    def step(self, step: Step) -> None:
        """A step of the next ``up``."""
        self.steps.append(step)
        self._print(f"  next   {step}")

    @property
    def progress(self) -> str:
        """The steps done before it could not go on."""
        if not self.begun:
            return "nothing was changed"
        done = "; ".join(self.done) or "its first step, maybe in part"
        return f"stopped halfway, and the same command continues from there (done: {done})"

    def _print(self, text: str) -> None:
        if self.form == "text":
            show(text, flush=True)

    def end(self, verdict: str, code: int = OK) -> int:
        """The last line, or everything; the exit code."""
        whole = {
            "site": self.site, "found": self.found, "done": self.done,
            "next": [each._asdict() for each in self.steps], "left": self.left,
            "orphans": self.orphans, "verdict": verdict,
        }  # fmt: skip
        print_report(self.form, whole, [f"{self.site}: {verdict}"], folded=False)
        return code
