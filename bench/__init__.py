"""Measurements: how long checking, rendering and registering sites takes, against other tools."""
