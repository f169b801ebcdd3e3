"""The Pulumi that works on a site's stack, the caller's own or the trial's, and its policy pack."""

import os
import sys
from dataclasses import replace
from pathlib import Path

from components.site import site_objects
from foresite.command import UsageError, say
from foresite.delivery.stack.engine import Engine
from foresite.delivery.stack.statefile import BACKENDS
from schemas.facts.site import Site
from schemas.model.management import STACK
from tools.toolchain import ToolchainError, Tools, parts

_LINKED = ("Pulumi.yaml", "__main__.py", "components", "foresite", "policies", "preview", "schemas",
           "catalogue", "management", "regions", "sites")  # fmt: skip
"""What the program of a repository is made of, and reads."""
_INSTALL = (
    "install Pulumi (https://www.pulumi.com/docs/install) and its provider (`pulumi plugin install"
    " resource kubernetes`) in these versions; a checkout of Foresite can try a site with --trial"
)


def engine_for(root: Path, site: Site | None, *, trial: bool) -> Engine:
    """Pulumi for a site: the caller's own, or the trial's; for none, to ask its backend alone.
    Raises UsageError without one."""
    try:
        engine = _trial(root, site) if trial else _own(root, site.name if site else "")
    except ToolchainError as error:
        raise UsageError(str(error)) from None
    # The policies are those of sites, and do not judge what others made for another cluster.
    return replace(engine, pack=None) if engine.stack.startswith(STACK) else engine


def _own(root: Path, stack: str) -> Engine:
    """Pulumi as it is installed, with the backend and the kubeconfig of whoever calls."""
    from tools.toolchain import Origin, cache_directory, locate

    try:
        pulumi = locate(["pulumi"])["pulumi"]
    except ToolchainError as error:
        raise ToolchainError(error.message, _INSTALL) from None
    if pulumi.origin is not Origin.INSTALLED:
        raise ToolchainError("Pulumi is not installed", _INSTALL)
    # Thousands of short runs, perhaps on a network without the Internet, ask for no newer version.
    env = {"PULUMI_SKIP_UPDATE_CHECK": "true", **os.environ}
    backend = env.get("PULUMI_BACKEND_URL", "")
    if backend and not backend.startswith(BACKENDS):
        raise UsageError(
            f"PULUMI_BACKEND_URL begins with none of {' '.join(BACKENDS)}; Pulumi takes it for "
            "the address of its service, and may send its access token there; correct it"
        )
    if backend.startswith("file://"):
        env["PULUMI_SKIP_CHECKPOINTS"] = "true"
    notes = cache_directory() / "runs"
    return Engine(pulumi.path, env, root, stack, notes, pack=pack_of(root))


def _trial(root: Path, site: Site | None) -> Engine:
    """The pinned Pulumi on the trial API server, with a state of its own."""
    from controlplane import ControlPlane
    from controlplane.trial import serve, trial_directory
    from tools.toolchain import environment, locate

    name = site.name if site else ""
    folder = trial_directory()
    plane = ControlPlane(folder)
    if not plane.status().running:
        raise UsageError(
            "the trial API server does not run; in a checkout of Foresite start it with"
            f" make up SITE={name or 'NAME'}"
        )
    if site and site.file.cluster.context:
        serve(plane, (each.body for made in site_objects(site).values() for each in made))
    tools = locate(["pulumi", "controlplane"])
    contexts = (site.file.management, site.file.cluster.context) if site else ()
    env = environment(tools, folder / "pulumi") | {
        "KUBECONFIG": str(plane.kubeconfig(filter(None, contexts))),
        "PULUMI_SKIP_CHECKPOINTS": "true",
    }
    pulumi = Path(env["PULUMI_HOME"]) / "bin" / "pulumi"
    program = _program(root, folder / "program")
    kubectl, pack = tools["kubectl"].path, pack_of(program, tools)
    return Engine(pulumi, env, program, name, folder / "runs", kubectl, pack)


def _program(root: Path, folder: Path) -> Path:
    """The repository's program by links: Pulumi writes a stack's settings beside its program, and
    those of a trial must not end up in Git. It runs by this Python, wherever the repository is."""
    folder.mkdir(parents=True, exist_ok=True)
    targets = {name: root / name for name in _LINKED if (root / name).exists()}
    targets[".venv"] = Path(sys.prefix)
    for name, target in targets.items():
        link = folder / name
        if link.is_symlink() and link.readlink() != target:
            link.unlink()
        if not link.is_symlink():
            link.symlink_to(target)
    return folder


_HOST = "pulumi-language-python"


def pack_of(root: Path, tools: Tools | None = None) -> Path | None:
    """The folder of a repository's policy pack; None where it cannot be run, which is said. An
    installed Pulumi brings a language host that can. The host that is built where no other is at
    hand cannot (tools/versions.toml); what it would refuse is refused by the check before."""
    pack = root / "policies" / "pack"
    if not pack.is_dir():
        say("the repository has no policies/pack, so Pulumi runs none; its rules passed offline")
        return None
    host = tools[_HOST] if tools else None
    if host is None or parts()[_HOST].accepts(host.version):
        return pack
    say(f"the policy pack is not run by {host.name} {host.version}; the same rules passed offline")
    return None
