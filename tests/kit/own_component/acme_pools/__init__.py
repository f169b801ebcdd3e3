"""A component of one's own, as a team would write one: address pools with a kind of their own."""

from pathlib import Path

from pydantic import field_validator
from pydantic_core import PydanticCustomError

from foresite.own import CONTRACT, Component, DnsLabel, Network, OwnersRule, Settings, SiteView

print("a package may say something while it is loaded")


class Pools(Settings):
    """Address pools for Services."""

    addresses: dict[DnsLabel, Network]
    """Networks of addresses by the name of their pool."""
    fault: str = ""
    """What goes wrong, in tests."""
    parity: str = "even"
    """What its validator says, in tests."""

    @field_validator("parity")
    @classmethod
    def is_even(cls, value: str) -> str:
        """The value, unless it is odd."""
        if value == "odd":
            raise ValueError("that is odd")
        if value == "many":
            raise PydanticCustomError("too_many", "Value is too many")
        return {"even": value}[value]


def objects(site: SiteView, settings: Pools) -> list[dict[str, object]]:
    """A pool for each network, and what a test asks to go wrong."""
    made: list[dict[str, object]] = [
        {
            "apiVersion": "pools.example.com/v1",
            "kind": "AddressPool",
            "metadata": {"name": name, "namespace": "acme-pools"},
            "spec": {"addresses": [network], "site": site.name},
        }
        for name, network in settings.addresses.items()
    ]
    exec(settings.fault, {"made": made})
    return made


COMPONENT = Component(
    contract=CONTRACT,
    name="acme-pools",
    what="Address pools for Services.",
    settings=Pools,
    objects=objects,
    crds=(Path(__file__).with_name("crds.yaml"),),
    namespaces=("acme-pools",),
    effects=(
        OwnersRule(
            kind="AddressPool",
            path="spec.addresses",
            effect="none",
            why="addresses that are taken are kept",
            source="acme-pools 1.2.0, controller",
            owner="net-team",
            until="2028-06-30",
        ),
    ),
)
