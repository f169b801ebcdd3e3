"""The Secrets that a site refers to, by reference alone."""
