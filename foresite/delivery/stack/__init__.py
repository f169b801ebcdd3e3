"""A site's stack: Pulumi for it, its locks and state, and what was last applied."""
