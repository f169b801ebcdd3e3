"""Bare-metal machines: a site's cluster, control plane, worker pools, hosts and addresses."""
