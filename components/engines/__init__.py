"""Engines that apply rendered manifests: the objects that each needs, beside the manifests."""

from collections.abc import Mapping
from types import ModuleType

from components.engines import argocd, flux

ENGINES: Mapping[str, ModuleType] = {each.ENGINE: each for each in (argocd, flux)}
"""By an engine's name, which is also the name of its folder: ``files`` of its module gives the
objects by file, without the index, and ``advice`` says what it does not do."""
