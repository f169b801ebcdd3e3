"""Teams: who may use what of a site. Namespaces, PriorityClasses and limits, with the policies
without which these would not hold; not the schedulers that act on them."""
