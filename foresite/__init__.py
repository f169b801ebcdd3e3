"""The command line: reads arguments, calls the core, shows what came of it."""
