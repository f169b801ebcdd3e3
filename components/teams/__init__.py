"""Teams: who may use what of a site.

Owns namespaces, PriorityClasses and limits, and the policies without which these would not hold.
Does not own the schedulers that act on them (components/schedulers).
"""
