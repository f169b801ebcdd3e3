"""Runs of ``foresite up`` that are killed by seed, and the judge of what recovery makes of them."""
