"""The pod network: manifests that a site brings, put into its cluster."""
