"""A chart that exists in tests alone, and what helm 4.3 makes of it. No text in it is of a real
chart; its objects have the shapes of Cilium's."""

from pathlib import Path

ROOT = Path(__file__).parent
CHART = ROOT / "network"
FOLDER = ROOT / "sites" / "charts" / "network"
NETWORK = (FOLDER / "rendered.yaml").read_text("utf-8")
