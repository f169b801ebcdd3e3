"""Effects of object changes on machines: the vocabulary in which each component states its rules.

``vocabulary.py`` has the words, ``rules.py`` how a rule finds the fields that it judges,
``kubernetes.py`` the rules of Kubernetes' own kinds, which any component may make. Rules of a
component's own kinds are in its folder (``components/<x>/effects.py``).
"""
