"""The model of what a person writes: sections of a site file, the catalogue, problem codes."""
