"""Names of the policies, and their descriptions of themselves."""

from schemas.kubernetes.node_labels import OWN_DOMAIN

WHAT = f"{OWN_DOMAIN}/what"
"""Annotation of a policy: what it asks for."""
WHY = f"{OWN_DOMAIN}/why"
"""Annotation of a policy: what it keeps from happening."""
OWN_SUFFIX = f".site.{OWN_DOMAIN}"
"""Ends the names of policies that a site brings itself, so that none takes the name of ours."""
