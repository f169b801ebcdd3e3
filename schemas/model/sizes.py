"""Sizes of memory, disk space and processor cores, with bounds: outside nobody means what the text
says (the unit is missing or another one), or a program cannot read it."""

from typing import Annotated

from pydantic import AfterValidator, Field

from schemas.kubernetes.quantities import SITE_FORM, amount
from schemas.model.primitives import fault, text_form
from schemas.model.texts import words


def _within(low: str, high: str, unit: str = "bytes") -> AfterValidator:
    """A validator of quantities; ``unit`` is what they count."""

    def check(value: str) -> str:
        found = amount(value)
        if amount(low) <= found <= amount(high):
            return value
        end = ", with its unit" if unit == "bytes" else ""
        if found < amount(low):
            raise fault(words("size-too-small", value, found, unit, low, high, end))
        raise fault(words("size-too-large", value, low, high, end))

    return AfterValidator(check)


Quantity = Annotated[str, text_form(SITE_FORM, "500Mi")]
"""A Kubernetes resource quantity: a whole number with an optional unit."""
Cores = Annotated[str, text_form("[0-9]{1,6}m?", "1"), _within("1m", "4096", "cores")]
"""Processor cores: a whole number, or thousandths of one, as 500m; 4096 at most."""
Memory = Annotated[Quantity, Field(examples=["2Gi"]), _within("1Mi", "128Ti")]
"""Memory of a host or a program, with its unit: 1Mi to 128Ti."""
LogSize = Annotated[Quantity, Field(examples=["50Mi"]), _within("1Mi", "100Gi")]
"""Size of a log: 1Mi to 100Gi. The kubelet does not start with a size in thousandths, or one beyond
64 bits (Kubernetes 1.34, pkg/kubelet/logs/container_log_manager.go, parseMaxSize)."""
ScratchSpace = Annotated[Quantity, Field(examples=["50Gi"]), _within("1Mi", "1000Ti")]
"""Space on a host's disk for one container: 1Mi to 1000Ti."""
DiskSpace = Annotated[Quantity, Field(examples=["3000Gi"]), _within("1Gi", "1000000Ti")]
"""Space on many disks, with its unit: 1Gi to 1000000Ti."""
