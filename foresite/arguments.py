"""The arguments of every command; what they mean is in the module of each command.

Imports none of those modules, so that a check does not wait for what only another command uses.
"""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from schemas.kubernetes.masking import mask_command


class _Parser(argparse.ArgumentParser):
    """A parser whose complaints do not repeat a token or password that was typed."""

    def error(self, message: str) -> NoReturn:
        """End with the usage and what is wrong."""
        super().error(mask_command(message))


def parser() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    found = _Parser(
        prog="foresite",
        description="See what a change does to every bare-metal site before it merges.",
        epilog="Exit codes: 0 nothing to report, 1 problems, 2 could not run, 130 interrupted.",
    )
    found.add_argument(
        "--root", type=Path, help="the repository; default: the one around this folder"
    )
    commands = found.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def add(name: str, purpose: str) -> argparse.ArgumentParser:
        sentence = f"{purpose[0].upper()}{purpose[1:]}."
        return commands.add_parser(name, help=purpose, description=sentence)

    _sites(add("check", "report every problem of sites, offline"))
    render = add("render", "write a site's manifests, one folder for each component")
    render.add_argument(
        "--out", type=Path, default=Path("rendered"), metavar="DIR", help="default: rendered"
    )
    _sites(render)
    _preview(add("preview", "show what a change does to every machine"))
    new = add("new", "write a new site, based on an existing one")
    new.add_argument("site", metavar="SITE")
    new.add_argument("--like", required=True, metavar="OTHER", help="the site to copy from")
    explain = add("explain", "show a value, where it comes from, and which objects carry it")
    explain.add_argument("site", metavar="SITE")
    explain.add_argument(
        "path", metavar="PATH", help="for example pools.v100.rollout.max_unavailable"
    )
    _job(add("job", "write a training job for a site's accelerators"))
    _up(add("up", "check a site, and run pulumi up for it"))
    _recover(add("recover", "clean up after an interrupted up"))
    _in_ci(add)
    for name, command in commands.choices.items():
        if name not in ("job", "preview", "opinion", "request", "comment"):
            command.add_argument("--format", choices=("text", "json"), default="text")
    return found


def _sites(command: argparse.ArgumentParser) -> None:
    command.add_argument("sites", nargs="*", metavar="SITE", help="default: all sites")


def _allow(command: argparse.ArgumentParser) -> None:
    say = "acknowledge N deletions (remove=N) or N objects that are added or grow (grow=N)"
    command.add_argument("--allow", action="append", default=[], metavar="WHAT=N", help=say)


def _up(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("site", metavar="SITE")
    add("--trial", action="store_true", help="use the trial API server on this machine")
    add("--preview", action="store_true", help="only show what up would do")
    add("--refresh", action="store_true", help="also correct manual changes in the clusters")
    _allow(command)


def _recover(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("site", metavar="SITE")
    add("--trial", action="store_true", help="use the trial API server on this machine")
    add("--plan", action="store_true", help="report only, change nothing")
    add(
        "--take-over",
        default="",
        metavar="PID@HOST",
        help="break this lock; its owner must be dead",
    )
    add("--allow", action="append", default=[], metavar="remove=N", help="delete N orphans")
    add(
        "--rebuild",
        type=int,
        nargs="?",
        const=0,
        metavar="N",
        help="remove up to N objects from the state that the cluster has lost for good; the "
        "next up creates them again",
    )


def _in_ci(add: Callable[..., argparse.ArgumentParser]) -> None:
    """The commands that workflows call around a preview and after a merge."""
    request = add("request", "write the text of the pull request to a file, for CI")
    comment = add("comment", "create or update one comment on a pull request")
    _github(request, comment)
    apply = add("apply", "apply merged changes to every site that needs them")
    apply.add_argument(
        "--plan", action="store_true", help="only report which sites need it, and why"
    )
    _allow(apply)
    drift = add("drift", "report where the clusters differ from Git")
    opinion = add(
        "opinion", "compare the preview of a change with the answers of Pulumi and the clusters"
    )
    opinion.add_argument(
        "--base", metavar="REF", required=True, help="commit that the change is based on"
    )
    opinion.add_argument(
        "--out", type=Path, metavar="FILE", help="also write the report to this file"
    )
    for command in (apply, drift, opinion):
        _sites(command)
        command.add_argument(
            "--trial", action="store_true", help="use the trial API server on this machine"
        )


def _github(request: argparse.ArgumentParser, comment: argparse.ArgumentParser) -> None:
    request.add_argument(
        "--event",
        type=Path,
        required=True,
        metavar="FILE",
        help="file with the event of the workflow run",
    )
    request.add_argument("--out", type=Path, required=True, metavar="FILE", help="file to write")
    which = comment.add_mutually_exclusive_group(required=True)
    which.add_argument("--pull", type=int, metavar="N", help="the pull request")
    which.add_argument(
        "--event",
        type=Path,
        metavar="FILE",
        help="file with a workflow_run event, which leads to the pull request",
    )
    comment.add_argument("--repository", required=True, metavar="OWNER/NAME")
    comment.add_argument(
        "--file", type=Path, required=True, help="the comment: a marker first, at most 60 kB"
    )
    comment.add_argument("--api", default="https://api.github.com", metavar="URL")
    comment.add_argument(
        "--author", default="github-actions[bot]", help="account that writes Foresite's comment"
    )


def _preview(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("sites", nargs="*", metavar="SITE", help="default: all sites that the change touches")
    add("--base", metavar="REF", help="default: the merge base with the main branch")
    add("--head", metavar="REF", help="default: the work tree")
    add("--format", choices=("text", "markdown", "json", "html"), default="text")
    add("--out", type=Path, metavar="DIR", help="also write every report to this folder")
    add(
        "--code",
        choices=("this", "base", "head", "each"),
        default="this",
        help="code that generates the objects: base for a pull request that you do not trust, each "
        "to see the effect of a change of the code",
    )
    add("--exit-code", action="store_true", help="exit with 1 if anything differs")
    add(
        "--fail-on",
        metavar="WHAT",
        default="",
        help="exit with 1 if this happens to a host: drain, reimage, remove, unknown; or if an "
        "object is refused: refused; separated by commas; reimage>10%% passes up to that share of "
        "each site's hosts",
    )
    allow = "acknowledge N deletions; also grow=N (objects), and drain, reimage, unknown, refused"
    add("--allow", action="append", default=[], metavar="remove=N", help=allow)
    add(
        "--request",
        type=Path,
        metavar="FILE",
        help="file with the text of the pull request; its Foresite-Allow: remove=N counts",
    )
    add(
        "--nodes",
        type=Path,
        metavar="PATH",
        help="the nodes' last known state, to predict repairs: a site's `kubectl get nodes "
        "-o json`, or a folder of <site>.json",
    )


def _job(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("site", metavar="SITE")
    add("template", nargs="?", metavar="TEMPLATE", help="default: list templates and models")
    add("--team", help="team that the job belongs to")
    add("--namespace", help="default: the team's first namespace")
    add("--name", help="default: the template's name")
    add("--model", help="accelerator model, such as v100-sxm2-32gb")
    add("--workers", type=int, metavar="N", help="number of workers")
    add("--per-worker", type=int, metavar="N", help="accelerators each; default: all of a host")
    add("--servers", type=int, metavar="N", help="parameter servers; default: 1")
    add("--cpu", metavar="SIZE", help="CPU of a worker; default: its share of a host")
    add("--memory", metavar="SIZE", help="such as 64Gi, of a worker; default: its share of a host")
    add("--storage", metavar="SIZE", help="disk space; default: the site's ephemeral_storage")
    add("--image", help="image of workers and parameter servers")
    add("--priority", metavar="CLASS", help="default: the site's default PriorityClass")
    add("--timeout", type=int, metavar="SECONDS", help="wait of a gang until all its pods fit")
    add("--rdma", action="store_true", help="use the fast network of the model's hosts")
    add("--cache", metavar="BUCKET", help="bucket of the object cache: docs/cache-clients.md")
    add("--format", choices=("yaml", "json"), default="yaml")
    add(
        "--command",
        dest="words",
        nargs=argparse.REMAINDER,
        default=[],
        metavar="WORD",
        help="command of a worker; must be the last option; default: the image's command",
    )
