"""How components make their objects: manifests, YAML, DaemonSets, taints, policies."""
