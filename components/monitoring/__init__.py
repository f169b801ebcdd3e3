"""Monitoring: rules, scrape targets, alert routes and dashboards of a site."""
