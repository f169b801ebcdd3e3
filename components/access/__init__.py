"""Rights of people in the site's cluster: researchers in their teams' namespaces, and site staff.

Does not own how people log in (cluster.authentication, components/machines).
"""
