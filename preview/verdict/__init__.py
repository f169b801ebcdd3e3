"""The verdict on one site: what a change does to its machines, cache and objects."""
