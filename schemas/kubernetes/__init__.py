"""Facts about Kubernetes as data: schemas, manifests, quantities, labels, forms of secrets."""
