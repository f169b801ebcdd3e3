"""Snapshots of etcd, taken on the control plane and stored where the site says."""
