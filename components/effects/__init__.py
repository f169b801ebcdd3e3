"""Effects of object changes on machines: the vocabulary in which each component states its rules.

``vocabulary.py`` has the words, of which components import those listed here; ``rules.py`` has how
a rule finds the fields that it judges, ``kubernetes.py`` the rules of Kubernetes' own kinds, which
any component may make. Rules of a component's own kinds are in its folder
(``components/<x>/effects.py``).
"""

from components.effects.vocabulary import (
    ABSENT,
    Action,
    Effect,
    Effects,
    Field,
    FieldChange,
    Impact,
    Name,
    ObjectChange,
    Path,
    Side,
    SiteChange,
)

__all__ = ["ABSENT", "Action", "Effect", "Effects", "Field", "FieldChange", "Impact", "Name"]
__all__ += ["ObjectChange", "Path", "Side", "SiteChange"]
