"""Metal3's objects of a site, as its management cluster has them."""

from foresite.command import UsageError
from foresite.delivery.servers.apiserver import ApiServer, NoAnswerError, RefusedError
from foresite.delivery.servers.probe import needed_kubectl
from schemas.kubernetes.bodies import Json


def metal3_objects(context: str, namespace: str, plural: str) -> list[Json]:
    """The objects of a kind. Raises UsageError where the management cluster does not list them."""
    kubectl, path = needed_kubectl(), f"/apis/metal3.io/v1alpha1/namespaces/{namespace}/{plural}"
    try:
        with ApiServer(kubectl, context) as server:
            answer = server.get(path)
    except (NoAnswerError, RefusedError) as error:
        raise UsageError(f"{context}: no {plural} of {namespace}: {error}") from None
    return list((answer or {}).get("items", ()))
