"""Facts that follow from a site's files: the whole site, quotas, feature gates, hours, Secrets."""
