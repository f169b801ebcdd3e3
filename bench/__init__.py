"""Measurements that are repeated: check, render, preview and up, against other tools."""
