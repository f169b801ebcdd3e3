"""The policies as the engine runs them: which pack, and whether the language host can run one."""

from pathlib import Path

from foresite.command import say
from tools.toolchain import Tools, parts

_HOST = "pulumi-language-python"


def pack_of(root: Path, tools: Tools | None = None) -> Path | None:
    """The folder of a repository's policy pack; None where it cannot be run, which is said.

    An installed Pulumi brings a language host that can. The host that is built where no other is
    at hand cannot (tools/versions.toml); what it would refuse is refused by the check before.
    """
    pack = root / "policies" / "pack"
    if not pack.is_dir():
        say("the repository has no policies/pack, so Pulumi runs none; its rules passed offline")
        return None
    host = tools[_HOST] if tools else None
    if host is None or parts()[_HOST].accepts(host.version):
        return pack
    say(f"the policy pack is not run by {host.name} {host.version}; the same rules passed offline")
    return None
