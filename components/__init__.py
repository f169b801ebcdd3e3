"""Pure functions from a site to Kubernetes objects, one folder a component; site.py wires them."""
