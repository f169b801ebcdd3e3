"""A management cluster: providers of Cluster API, Ironic, and settings of the operators."""
