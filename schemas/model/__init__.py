"""What a person writes: typed sections of a site file, the catalogue, and codes of problems."""
