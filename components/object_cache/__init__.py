"""The object cache: a server on each node's NVMe, and the Envoys that find an object's server."""
