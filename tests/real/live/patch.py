"""Merge patches, as controllers write the few fields that are theirs."""

from controlplane import Client, Manifest


def merge(client: Client, body: Manifest, change: Manifest, subresource: str = "") -> Manifest:
    """Merge ``change`` into the object that ``body`` names; the object as it is then.

    Raises ApiError, also where the object is gone.
    """
    metadata = body["metadata"]
    path = client._path(
        body["apiVersion"], body["kind"], metadata.get("namespace"), metadata["name"]
    )
    where = f"{path}/{subresource}" if subresource else path
    return client.request("PATCH", where, change, "application/merge-patch+json")
