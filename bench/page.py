"""What benchmarks write: figures and tables."""

import json
from collections.abc import Mapping
from pathlib import Path

from bench import machine


def write_results(file: Path, figures: Mapping[str, object], text: str) -> None:
    """Put the figures into ``file``.json with the machine that they are of, and the text into
    ``file``.md; print the machine and the text."""
    file.parent.mkdir(parents=True, exist_ok=True)
    whole = {"machine": machine.description(), **figures}
    file.with_suffix(".json").write_text(json.dumps(whole, indent=2) + "\n", encoding="utf-8")
    file.with_suffix(".md").write_text(f"{text}\n", encoding="utf-8")
    print(f"{machine.description()}\n\n{text}")
