"""How a running cluster comes under Foresite: read, judged, written as a site, and proved."""
