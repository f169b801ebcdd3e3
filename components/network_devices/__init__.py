"""Network devices that pods ask for: shared RDMA cards, and virtual functions by SR-IOV."""
