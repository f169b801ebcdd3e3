"""PyTorch: a DataLoader whose worker processes read through the cache.

``torchrun pytorch_job.py s3://bucket/train/``
"""

import sys

from cached_files import CachedFiles, names_of


class Samples(CachedFiles):
    """The samples for the loader: a number in, a sample out. Decode your format here."""

    def __getitem__(self, number: int) -> list[int]:  # type: ignore[override]
        return list(super().__getitem__(number)[:16])


def main(url: str) -> None:
    """Read every sample once, each rank its share."""
    import torch
    import torch.distributed
    from torch.utils.data import DataLoader, DistributedSampler

    torch.distributed.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    samples = Samples(url, names_of(url))
    sampler = DistributedSampler(samples)
    loader = DataLoader(samples, batch_size=8, sampler=sampler, num_workers=4, collate_fn=list)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for batch in loader:
            print(torch.distributed.get_rank(), epoch, len(batch))
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1])
