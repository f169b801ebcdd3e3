"""Reference server of the object cache: objects by bucket on the disks of one node."""
