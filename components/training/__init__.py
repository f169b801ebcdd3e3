"""Job templates: what researchers fill in, consistent with everything that the site says."""
