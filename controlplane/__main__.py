"""``python -m controlplane up|down|status``: an API server for trying sites on."""

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from controlplane.errors import ApiError, ControlPlaneError
from controlplane.server import ControlPlane, Status
from controlplane.trial import bring_up, trial_directory


def main(arguments: list[str] | None = None) -> int:
    """Run one command: 0 done, 1 it does not run (status), 2 it could not be done."""
    from tools.toolchain import ToolchainError

    options = _parser().parse_args(arguments)
    try:
        return _run(options, options.dir or trial_directory())
    except (ControlPlaneError, ToolchainError, OSError) as error:
        print(f"controlplane: {error}", file=sys.stderr)
    except ApiError as error:
        print(f"controlplane: the API server refused a request: {error}", file=sys.stderr)
    except KeyboardInterrupt:
        print("\ncontrolplane: interrupted; `status` says what runs", file=sys.stderr)
        return 130
    return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m controlplane", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    up = commands.add_parser("up", help="start it, or leave it as it is; install the CRDs")
    up.add_argument(
        "--context", action="append", default=[], help="a kubeconfig context that it plays"
    )
    down = commands.add_parser("down", help="stop it and keep its data")
    down.add_argument("--wipe", action="store_true", help="delete its data too")
    status = commands.add_parser("status", help="say what runs and where")
    status.add_argument("--format", choices=("text", "json"), default="text")
    for command in (up, down, status):
        command.add_argument("--dir", type=Path, help="its directory; default: one per checkout")
    return parser


def _run(options: argparse.Namespace, directory: Path) -> int:
    match options.command:
        case "up":
            bring_up(directory, options.context)
            return 0
        case "down":
            plane = ControlPlane(directory)
            if options.wipe:
                plane.wipe()
            else:
                plane.stop()
            return 0
        case _:
            status = ControlPlane(directory).status()
            known = {"running": status.running, **asdict(status)}
            as_json = options.format == "json"
            print(json.dumps(known, indent=2, default=str) if as_json else _as_text(status))
            return 0 if status.running else 1


def _as_text(status: Status) -> str:
    lines = [f"directory   {status.directory}"]
    for name, pid in status.pids.items():
        lines.append(f"{name:<15} {f'runs, pid {pid}' if pid else 'does not run'}")
    if status.running:
        lines.append(f"server      {status.server}")
        lines.append(f"kubeconfig  {status.kubeconfig}")
        lines.append(f"contexts    {', '.join(status.contexts)}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
