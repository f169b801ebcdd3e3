"""Serves the policies to the engine that started this process, and ends with it."""

import os
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc  # type: ignore[import-untyped]
from pulumi.runtime.proto import analyzer_pb2, analyzer_pb2_grpc, plugin_pb2

from policies.exceptions import DayError, ExemptionError, ours, today
from policies.pack.analyzer import VERSION, Analyzer
from policies.pack.site_policies import SiteFileError, site_policies
from policies.rules import RULES

_STACK = "PULUMI_STACK"
_MAX_BYTES = 400 * 1024 * 1024
"""Of one message; the engine sends a whole stack in one."""
_LOOKS_EVERY_S = 1.0


def main(root: Path, environ: Mapping[str, str]) -> None:
    """Serve the policies of the stack's site below ``root`` until the engine is gone. Without them
    the process ends with a message, and the engine does nothing."""
    parent = os.getppid()
    try:
        analyzer = analyzer_for(root, environ)
    except (SiteFileError, ExemptionError, DayError) as error:
        sys.exit(f"the policies cannot be judged: {error}")
    # One at a time: they share what a site's own checks report, and Python runs one anyway.
    options = [("grpc.max_receive_message_length", _MAX_BYTES)]
    server = grpc.server(ThreadPoolExecutor(max_workers=1), options=options)
    analyzer_pb2_grpc.add_AnalyzerServicer_to_server(_servicer(analyzer), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    sys.stdout.buffer.write(f"{port}\n".encode())
    sys.stdout.buffer.flush()
    while os.getppid() == parent:  # an engine that is killed tells nobody
        server.wait_for_termination(timeout=_LOOKS_EVERY_S)


def analyzer_for(root: Path, environ: Mapping[str, str]) -> Analyzer:
    """The policies of the stack that the engine works on, whose name is its site's. Raises
    SiteFileError, ExemptionError or DayError."""
    names = {rule.name for rule in RULES}
    site = site_policies(root / "sites", environ.get(_STACK, ""), names)
    ours()
    return Analyzer(RULES, site.own, site.exceptions, today(environ), site.parties)


def _servicer(analyzer: Analyzer) -> analyzer_pb2_grpc.AnalyzerServicer:
    """The calls that are answered; to others the engine hears that they are not there."""
    servicer = analyzer_pb2_grpc.AnalyzerServicer()
    vars(servicer).update(
        GetAnalyzerInfo=lambda _request, _context: analyzer.information(),
        GetPluginInfo=lambda _request, _context: plugin_pb2.PluginInfo(version=VERSION),
        Analyze=lambda request, _context: analyzer.resource(request),
        AnalyzeStack=lambda request, _context: analyzer.stack(request),
        # A judge does not change what it judges.
        Remediate=lambda _request, _context: analyzer_pb2.RemediateResponse(),
    )
    return servicer
