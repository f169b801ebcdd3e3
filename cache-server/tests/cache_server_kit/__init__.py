"""What the tests of the cache server, and the benchmarks that load it, run it with."""
