"""The means by which components make their objects: manifests, YAML, DaemonSets, taints,
policies."""
