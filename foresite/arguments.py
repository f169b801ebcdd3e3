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
        epilog="Exit codes: 0 nothing to report, 1 problems found, 2 could not run.",
    )
    found.add_argument("--root", type=Path, help="the repository; default: found from here up")
    commands = found.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _sites(commands.add_parser("check", help="report every problem of sites, offline"))
    render = commands.add_parser("render", help="write a site's manifests, a folder a component")
    render.add_argument("--out", type=Path, default=Path("rendered"), help="default: rendered")
    _sites(render)
    _preview(commands.add_parser("preview", help="show what a change does to every machine"))
    new = commands.add_parser("new", help="write a new site, based on an existing one")
    new.add_argument("site", metavar="SITE")
    new.add_argument("--like", required=True, metavar="OTHER", help="the site to copy from")
    explain = commands.add_parser(
        "explain", help="show a value, where it comes from, and which objects carry it"
    )
    explain.add_argument("site", metavar="SITE")
    explain.add_argument("path", metavar="PATH", help="such as pools.v100.rollout.max_unavailable")
    _job(commands.add_parser("job", help="write a training job for a site's accelerators"))
    up = commands.add_parser("up", help="check a site, and run pulumi up for it")
    up.add_argument("site", metavar="SITE")
    up.add_argument("--trial", action="store_true", help="on the embedded API server")
    up.add_argument("--preview", action="store_true", help="only show what would be done")
    up.add_argument(
        "--refresh", action="store_true", help="also correct manual changes in the clusters"
    )
    _allow(up)
    _recover(commands.add_parser("recover", help="clean up after an interrupted up"))
    _in_ci(commands.add_parser)
    for name, command in commands.choices.items():
        if name not in ("job", "preview", "opinion", "request", "comment"):
            command.add_argument("--format", choices=("text", "json"), default="text")
    return found


def _sites(command: argparse.ArgumentParser) -> None:
    command.add_argument("sites", nargs="*", metavar="SITE", help="default: all sites")


def _allow(command: argparse.ArgumentParser) -> None:
    say = "acknowledged losses, or growth: remove=N, grow=N"
    command.add_argument("--allow", action="append", default=[], metavar="WHAT=N", help=say)


def _recover(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("site", metavar="SITE")
    add("--trial", action="store_true", help="on the embedded API server")
    add("--plan", action="store_true", help="only report what is found")
    add("--take-over", default="", metavar="PID@HOST", help="break this lock, as its owner is dead")
    add("--allow", action="append", default=[], metavar="remove=N", help="orphans to delete")
    add(
        "--rebuild",
        type=int,
        nargs="?",
        const=0,
        metavar="N",
        help="remove up to N objects from the state that the cluster has lost for good; the next "
        "up creates them again",
    )


def _in_ci(add: Callable[..., argparse.ArgumentParser]) -> None:
    """The commands that workflows call around a preview and after a merge."""
    request = add("request", help="write the text of the pull request that CI runs for")
    comment = add("comment", help="create or update one comment on a pull request")
    _github(request, comment)
    apply = add("apply", help="apply merged changes to every site that is due")
    apply.add_argument("--plan", action="store_true", help="only report what is due, and why")
    _allow(apply)
    drift = add("drift", help="report where the clusters differ from Git")
    opinion = add("opinion", help="compare a change with Pulumi and the clusters")
    opinion.add_argument(
        "--base", metavar="REF", required=True, help="commit from which the change started"
    )
    opinion.add_argument("--out", type=Path, metavar="FILE", help="also write the report there")
    for command in (apply, drift, opinion):
        _sites(command)
        command.add_argument("--trial", action="store_true", help="on the embedded API server")


def _github(request: argparse.ArgumentParser, comment: argparse.ArgumentParser) -> None:
    request.add_argument(
        "--event", type=Path, required=True, metavar="FILE", help="event of the workflow run"
    )
    request.add_argument("--out", type=Path, required=True, metavar="FILE", help="file to write")
    which = comment.add_mutually_exclusive_group(required=True)
    which.add_argument("--pull", type=int, metavar="N", help="the pull request")
    which.add_argument(
        "--event",
        type=Path,
        metavar="FILE",
        help="event of a workflow_run, by which the pull request is found",
    )
    comment.add_argument("--repository", required=True, metavar="OWNER/NAME")
    comment.add_argument(
        "--file", type=Path, required=True, help="comment that starts with a marker; at most 60 kB"
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
    add("--out", type=Path, metavar="DIR", help="also write every report there")
    add(
        "--code",
        choices=("this", "base", "head", "each"),
        default="this",
        help="which code generates the objects: base for a pull request that you do not trust, "
        "each to see what a change of the code does",
    )
    add("--exit-code", action="store_true", help="exit with 1 where anything differs")
    add(
        "--fail-on",
        metavar="WHAT",
        default="",
        help="exit with 1 where this happens to a host: drain, reimage, remove, unknown; or where "
        "an object is refused; separated by commas",
    )
    allow = "acknowledged losses, or grow=N: objects that may be added"
    add("--allow", action="append", default=[], metavar="remove=N", help=allow)
    add(
        "--request",
        type=Path,
        metavar="FILE",
        help="text of the pull request, in which Foresite-Allow: remove=N counts",
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
    add("--namespace", help="default: the team's first")
    add("--name", help="default: the template's")
    add("--model", help="accelerator model, such as v100-sxm2-32gb")
    add("--workers", type=int, metavar="N")
    add("--per-worker", type=int, metavar="N", help="accelerators each; default: all of a host")
    add("--servers", type=int, metavar="N", help="parameter servers; default: 1")
    add("--cpu", metavar="SIZE", help="CPU of a worker; default: its share of a host")
    add("--memory", metavar="SIZE", help="such as 64Gi; default: a worker's share of a host")
    add("--storage", metavar="SIZE", help="disk space; default: the site's ephemeral_storage")
    add("--image", help="image of workers and parameter servers")
    add("--priority", metavar="CLASS", help="default: the site's default PriorityClass")
    add("--timeout", type=int, metavar="SECONDS", help="how long a gang waits for all its places")
    add("--rdma", action="store_true", help="with the fast network of the model's hosts")
    add("--cache", metavar="BUCKET", help="with the site's object cache: docs/cache-clients.md")
    add("--format", choices=("yaml", "json"), default="yaml")
    add(
        "--command",
        dest="words",
        nargs=argparse.REMAINDER,
        default=[],
        metavar="WORD",
        help="what a worker runs; must be the last option; default: the image's command",
    )
