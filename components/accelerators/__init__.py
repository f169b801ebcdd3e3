"""Accelerators: what makes a site's devices a resource, watches them, and turns the resource that a
researcher asks for into a device of that model.

Owns device plugins and exporters (``plugins.py``), NVIDIA's operator (``operator.py``), what nodes
show and should show (``discovery.py``), the policies of the API server (``admission.py``,
``demands.py``) and device classes (``deviceclasses.py``). Does not own limits and schedulers.
"""
