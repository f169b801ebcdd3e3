"""The section of a site file on the end of the site."""

from schemas.model.policies import Sentence
from schemas.model.primitives import Model


class Decommission(Model):
    """The end of a site: its cluster is deleted and its hosts are wiped; they stay registered until
    its file is gone and somebody takes the rest away."""

    reason: Sentence
    """Why the site ends."""
