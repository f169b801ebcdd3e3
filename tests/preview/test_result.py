"""The preview of a site is the same after another process has sent it."""

import pickle

import pytest

from components.effects.vocabulary import ABSENT, FieldChange
from preview.result import SitePreview, State
from tests.kit import preview_samples as samples
from tests.kit.preview_samples import changed

SITES = {
    made.__name__: made()
    for made in (
        samples.harmless_site,
        samples.disruptive_site,
        samples.destructive_site,
        samples.cache_site,
        samples.unknown_site,
        samples.stuck_site,
        samples.invalid_site,
    )
}


@pytest.mark.parametrize("site", SITES.values(), ids=SITES)
def test_a_site_arrives_as_it_was_sent(site: SitePreview) -> None:
    arrived = pickle.loads(pickle.dumps(site))
    assert arrived == site
    assert repr(arrived) == repr(site)  # a named tuple equals a plain one
    assert arrived.counts == site.counts


def test_a_site_without_anything_arrives_too() -> None:
    empty = SitePreview("tokyo-1", State.CHANGED)
    assert pickle.loads(pickle.dumps(empty)) == empty


def test_a_field_that_is_not_there_is_not_there_in_another_process() -> None:
    change = changed("MachineDeployment", "tokyo-1", "v100", FieldChange(("spec",), ABSENT, 1))
    assert pickle.loads(pickle.dumps(change)).fields[0].before is ABSENT
