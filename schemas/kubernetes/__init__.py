"""Facts about Kubernetes that whoever writes objects and whoever judges them share: tables and
readers, and no decision. They need the standard library and PyYAML, and import nothing of ours but
each other.
"""
