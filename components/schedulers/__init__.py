"""The schedulers that Foresite runs beside the default one, and what keeps them out of each other's
way.

Owns a kube-scheduler's objects (``workload.py``, ``configuration.py``, ``rights.py``), the canary
that wakes parked gangs (``canary.py``), and the policies that send each pod to the scheduler of its
pool (``policies.py``, ``gangpolicies.py``). Does not own limits, queues and PriorityClasses.
"""
