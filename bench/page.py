"""What benchmarks write: figures and tables, and the machine of a measurement in one line."""

import json
import os
import platform
import re
import sysconfig
from collections.abc import Mapping
from pathlib import Path


def description() -> str:
    """Processor, cores, memory, system and Python of this machine, and how busy it is."""
    load = os.getloadavg()[0]
    # Profile-guided optimization is worth a third.
    arguments = str(sysconfig.get_config_var("CONFIG_ARGS"))
    build = "optimized" if "--enable-optimizations" in arguments else "plain"
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    try:
        model = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        model = None
    processor = " ".join(model[1].split()) if model else platform.processor() or platform.machine()
    return (
        f"{os.cpu_count()} cores ({processor}), {memory:.0f} GiB, {platform.system()} "
        f"{platform.release().partition('-')[0]}, {platform.python_implementation()} "
        f"{platform.python_version()} ({build} build), load {load:.1f}"
    )


def write_results(file: Path, figures: Mapping[str, object], text: str) -> None:
    """Put the figures into ``file``.json with the machine that they are of, and the text into
    ``file``.md; print the machine and the text."""
    file.parent.mkdir(parents=True, exist_ok=True)
    whole = {"machine": description(), **figures}
    file.with_suffix(".json").write_text(json.dumps(whole, indent=2) + "\n", encoding="utf-8")
    file.with_suffix(".md").write_text(f"{text}\n", encoding="utf-8")
    print(f"{description()}\n\n{text}")
