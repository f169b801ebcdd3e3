"""From the bytes of files to typed parts of a site, or to problems at their places."""
