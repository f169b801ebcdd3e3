"""The tolerations that let pods onto tainted nodes, judged by whether they then fit there."""

from typing import Any

import pytest

from components.effects.placement import Fit, fits
from components.machines.fleet import side_of
from components.making.taints import tolerations
from schemas.model.site_file import Pool
from tests.kit.scheduling_site import site

RESERVED = {"key": "example.com/reserved", "effect": "NoSchedule"}


def pool(taints: Any) -> Pool:
    return Pool.model_validate({"name": "a", "hardware": "cpu-1u", "taints": taints})


def test_pods_fit_the_pools_that_they_tolerate_and_no_other_tainted_one() -> None:
    made = site()
    control, h100 = (each for each in made.file.pools if each.name in ("control", "h100"))
    for mine, other in ((control, h100), (h100, control)):
        found = fits(side_of(made, {}), {"tolerations": tolerations([mine])})
        assert {found[host.name] for host in made.hosts_of(mine)} == {Fit.YES}
        assert {found[host.name] for host in made.hosts_of(other)} == {Fit.NO}


@pytest.mark.parametrize(
    ("taint", "expected"),
    [
        ({**RESERVED, "value": "big"}, [{**RESERVED, "operator": "Equal", "value": "big"}]),
        (RESERVED, [{**RESERVED, "operator": "Exists"}]),
        ({**RESERVED, "effect": "PreferNoSchedule"}, []),
    ],
    ids=["a value", "no value", "the last choice"],
)
def test_each_taint_that_keeps_pods_out_is_tolerated_once(taint: Any, expected: Any) -> None:
    assert tolerations([pool([taint]), pool([taint]), pool([])]) == expected
