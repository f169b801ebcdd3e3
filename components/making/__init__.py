"""What components make their objects with: manifests, YAML, DaemonSets, taints, policies."""
