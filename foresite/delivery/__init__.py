"""Bringing a site to its clusters: Pulumi, API servers, guards and recovery."""
