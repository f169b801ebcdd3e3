"""The model of the files that a person writes: sections of a site file, the catalogue, problem
codes."""
