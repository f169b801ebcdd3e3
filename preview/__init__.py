"""The effect of a change to the repository on every machine of every site, before it merges.

survey.py is the way through: two states (snapshot.py), the sites that differ (fleet.py), their
objects (objects.py) side by side (compare.py, fields/), the rules' verdict (judge.py,
connections.py), the edits behind it (edits/, causes.py), sites alike put together (group.py).
result.py is what comes out, gates.py what is not let through, report/ how it is shown.
"""
