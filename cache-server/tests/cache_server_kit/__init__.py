"""The fixtures and programs with which the cache server's tests, and its benchmarks, run it."""
