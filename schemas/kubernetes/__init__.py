"""Facts about Kubernetes that writers and judges of objects share: tables and readers, no decision.
They need the standard library and PyYAML, and import nothing of ours but each other."""
