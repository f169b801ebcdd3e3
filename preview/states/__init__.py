"""Two states of a repository: their files, their sites, and the nodes somebody saw."""
