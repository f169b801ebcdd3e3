"""The whole preview's text on a site's cache: keys that move, and objects that are lost."""

import html
import json
import re
from collections.abc import Callable, Iterator

import pytest

from components.effects.vocabulary import Action, Impact
from components.object_cache.effects.moved import CacheMove
from preview import report
from preview.result import Preview, SitePreview
from preview.verdict.group import group_sites
from tests.kit.preview_repository import Repository
from tests.verdicts.edits import applied

SITE = "tokyo-1"
FILE = f"sites/{SITE}.yaml"
Edit = Callable[[Repository], object]
"""tokyo-1: 400 hosts, all of which keep objects; v100 has 120 with 2 spares, h100 50."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """The example sites; tokyo-1's own cluster answers."""
    repository = Repository(tmp_path_factory.mktemp("repository"))
    applied(SITE)(repository)
    repository.commit("applied")
    return repository


@pytest.fixture
def repository(made: Repository) -> Iterator[Repository]:
    start = made.git("rev-parse", "HEAD")
    yield made
    made.git("reset", "-q", "--hard", start)


def swap(old: str, new: str) -> Edit:
    return lambda repository: repository.replace(FILE, old, new)


def found(edit: Edit, repository: Repository) -> SitePreview:
    edit(repository)
    return repository.site(SITE)


def cache(edit: Edit, repository: Repository) -> CacheMove:
    move = found(edit, repository).cache
    assert move is not None
    return move


def rows(change: Callable[[list[dict[str, str]]], object]) -> Edit:
    return lambda repository: repository.hosts(SITE, change)


def at(pool: str, lines: list[dict[str, str]]) -> int:
    return next(n for n, line in enumerate(lines) if line["pool"] == pool)


def without(pool: str) -> Edit:
    return rows(lambda lines: lines.pop(at(pool, lines)))


TAINTS = "    taints: [{key: example.com"
REIMAGES = swap(TAINTS, f"    kubelet: {{max_pods: 200}}\n{TAINTS}")
"""The pool h100, whose machines are replaced two at a time."""


def test_re_imaged_hosts_lose_what_they_keep(repository: Repository) -> None:
    move = cache(REIMAGES, repository)
    assert (move.wiped, move.at_once, move.lost) == (50, 2, 50 / 400)
    assert not move.at_most and not move.changes_routing


def test_a_spare_more_takes_the_disk_of_some_host(repository: Repository) -> None:
    move = cache(swap("spares: 2", "spares: 3"), repository)
    assert (move.wiped, move.at_most, move.lost) == (1, True, 1 / 400)
    assert (move.servers_before, move.servers_after) == (398, 397)
    assert not move.changes_routing  # it stays in the list
    assert 1 / 400 < move.idle < 3 / 400


def test_a_spare_less_brings_a_server(repository: Repository) -> None:
    fewer = "    spares: 1\n    rollout: {max_unavailable: 4, max_surge: 1}"
    move = cache(
        swap("    spares: 2\n    rollout: {max_unavailable: 4, max_surge: 2}", fewer), repository
    )
    assert (move.wiped, move.servers_before, move.servers_after) == (0, 398, 399)
    for text in reports(repository.preview()).values():
        assert re.search(r"about 0\.\d+ % of the keys move to former spares, once these are", text)


def test_a_host_that_leaves_moves_keys_and_is_not_counted_as_wiped(repository: Repository) -> None:
    """cpu has no spare: that Cluster API deletes one of the other machines is possible."""
    move = cache(without("cpu"), repository)
    assert (move.hosts_before, move.hosts_after) == (400, 399)
    assert move.unavoidable < move.moved < 3 * move.unavoidable
    assert (move.wiped, move.at_most) == (1, True)


def test_a_host_in_another_pool_moves_no_key_and_loses_its_disk(repository: Repository) -> None:
    def edit(lines: list[dict[str, str]]) -> None:
        lines[at("cpu", lines)]["pool"] = "v100"

    move = cache(rows(edit), repository)
    assert move.moved == 0
    assert move.wiped >= 1


def test_a_new_address_is_not_answered_before_the_host_is_installed_again(
    repository: Repository,
) -> None:
    def edit(lines: list[dict[str, str]]) -> None:
        lines[at("h100", lines)]["ip"] = "10.16.3.200"

    move = cache(rows(edit), repository)
    assert (move.readdressed, move.moved, move.wiped) == (1, 0, 0)


def test_another_folder_empties_the_cache(repository: Repository) -> None:
    def edit(of: Repository) -> None:
        text = of.text(FILE).replace("/srv/nvme/cache", "/srv/nvme/other")
        text = text.replace("folders: {cache: 65532}", "folders: {other: 65532}")
        of.write(FILE, text)

    move = cache(edit, repository)
    assert move.afresh and not move.changes_routing


@pytest.mark.parametrize(
    "edit",
    [
        swap("cache:\n", "# the object cache\ncache:\n"),
        swap("namespaces: [vision, language, biology]", "namespaces: [biology, vision, language]"),
        rows(lambda lines: lines.reverse()),
    ],
)
def test_a_cosmetic_change_is_none(edit: Edit, repository: Repository) -> None:
    edit(repository)
    assert repository.preview().sites == ()


@pytest.mark.parametrize(
    "edit",
    [
        swap("quota: 20Ti", "quota: 30Ti"),
        swap("    reloads_config: true", "    reloads_config: true\n    cpu: 2"),
        swap("max_unavailable: 10", "max_unavailable: 11"),
    ],
)
def test_of_a_change_that_leaves_objects_where_they_are_nothing_is_said(
    edit: Edit, repository: Repository
) -> None:
    assert found(edit, repository).cache is None


def test_a_bucket_that_goes_is_no_loss_that_has_to_be_named(repository: Repository) -> None:
    line = "    - {name: datasets, quota: 200Ti, public: true, namespaces: [vision, language, biology]}\n"  # noqa: E501
    assert found(swap(line, ""), repository).deletions == ()


def test_the_namespace_of_a_cache_that_goes_has_to_be_named(repository: Repository) -> None:
    def edit(of: Repository) -> None:
        text = of.text(FILE)
        of.write(
            FILE, text.partition("\ncache:\n")[0] + "\n" + text[text.index("\nremediation:") :]
        )

    site = found(edit, repository)
    assert [(each.what, each.count) for each in site.deletions] == [("Namespace", 1)]
    refused = {e.change.one.name for e in site.objects if e.action is Action.REFUSED}
    assert refused == {"Namespace/cache-service"}
    assert site.cache is None
    # As image layers end too, machines are installed again: the two spares have no pods to stop.
    assert site.counts == {Impact.REIMAGE: 398}


# --- reports ---
def reports(preview: Preview) -> dict[str, str]:
    made = {
        "text": report.text(preview),
        "comment": report.comment(preview),
        "page": report.html(preview).partition("<body>")[2],
    }
    return {form: html.unescape(re.sub(r"<[^>]*>|[`*]", "", text)) for form, text in made.items()}


TABLE = swap("  capacity: 3000Gi\n", "  capacity: 3000Gi\n  table_size: 1299709\n")


def both(repository: Repository) -> None:
    """A host leaves, and a pool is installed again."""
    REIMAGES(repository)
    without("cpu")(repository)


def test_every_report_says_which_keys_move_and_what_is_lost(repository: Repository) -> None:
    both(repository)
    preview = repository.preview()
    (site,) = preview.sites
    assert site.cache is not None
    moved = f"{site.cache.moved * 100:.2f} %"
    for text in reports(preview).values():
        assert f"{moved} of the cache's keys move to other hosts" in text
        assert re.search(r"up to 12\.8 % of the cache's objects are lost with wiped disks", text)
        assert f"{moved} of the keys move to another host" in text
        assert "hosts: 400 → 399" in text
        assert "every listed host is taken to be up" in text


def test_another_table_is_told_with_its_sizes(repository: Repository) -> None:
    TABLE(repository)
    for text in reports(repository.preview()).values():
        assert "99.7 % of the cache's keys move to other hosts" in text
        assert "entries of the table: 1,048,573 → 1,299,709" in text
        assert "with any even spread" not in text


def test_the_record_has_the_cache(repository: Repository) -> None:
    both(repository)
    preview = repository.preview()
    (site,) = json.loads(report.document(preview))["sites"]
    assert site["cache"]["hosts_before"] == 400
    assert site["cache"]["table_after"] == 1_048_573
    assert site["cache"]["discovery_after"] == "hosts"
    assert site["cache"]["wiped"] == 51
    repository.git("checkout", "-q", "--", ".")
    swap("max_unavailable: 10", "max_unavailable: 11")(repository)
    (site,) = json.loads(report.document(repository.preview()))["sites"]
    assert site["cache"] is None


def test_several_sites_are_told_apart(repository: Repository) -> None:
    TABLE(repository)
    repository.replace("sites/tsukuba-1.yaml", "max_unavailable: 2}}", "max_unavailable: 3}}")
    for text in reports(repository.preview()).values():
        assert re.search(r"99\.7 % of the cache's keys move to other hosts[\s|]*tokyo-1", text)


def test_of_what_is_not_applied_yet_the_headline_says_when_it_will_hold(
    repository: Repository,
) -> None:
    """lab-1 names no cluster; of its three hosts one keeps a key by chance."""
    repository.replace("sites/lab-1.yaml", "  discovery: dns\n", "  table_size: 1299709\n")
    for text in reports(repository.preview()).values():
        assert "66.7 % of the keys move to another host" in text
        assert "Envoys know the hosts by: DNS → a file of hosts" in text
        assert "the cache is not deployed yet" in text
        assert "once the cache is deployed: 66.7 % of the cache's keys move" in text
        assert "restarts pods on 3 hosts" in text


def test_what_users_feel_stands_in_the_headline_and_is_not_folded(repository: Repository) -> None:
    line = "    - {name: datasets, quota: 200Ti, public: true, namespaces: [vision, language, biology]}\n"  # noqa: E501
    for old, new in ((line, ""), ("vision, quota: 400Ti", "vision, quota: 100Ti")):
        swap(old, new)(repository)
    swap("capacity: 3000Gi", "capacity: 2900Gi")(repository)
    comment = report.comment(repository.preview())
    headline, _, rest = comment.partition("\n\n")
    assert "Bucket datasets ends; each server keeps at most 96.6 % of what it could" in headline
    assert "1 more consequence for users of the cache" in rest.partition("### ")[0]
    assert "bucket vision keeps at most 25 % of what it could" in rest.partition("<details>")[0]


def test_pods_of_a_cache_that_ends_stop_and_do_not_restart(repository: Repository) -> None:
    """Without image layers none is installed again; two are spares."""
    layers = "  image_layers: {bucket: image-layers, registries: [docker.io, registry.example]}\n"
    swap(layers, "")(repository)
    swap("  address: 10.96.0.80\n", "")(repository)
    repository.commit("without image layers")
    repository.write(FILE, repository.text(FILE).partition("\ncache:\n")[0] + "\n")
    for text in reports(repository.preview()).values():
        assert re.search(r"stops pods for good[\s|]*at most 398 of 400 hosts", text)
        assert "the cache ends: every object is a miss" in text and "estarts pods" not in text


def test_a_host_is_one_line_of_what_differs(repository: Repository) -> None:
    """The path names it, and hosts that change alike are told as one."""
    without("h100")(repository)
    text = report.text(repository.preview())
    endpoint = re.findall(r"^ +data\[endpoints\.json\].*", text, re.MULTILINE)
    assert len(endpoint) == 1
    assert re.search(r"lb_endpoints\[tokyo-1-[a-d]-\d{3}\]: gone: ", endpoint[0])
    repository.git("checkout", "-q", "--", ".")
    swap("    reloads_config: true", "    reloads_config: true\n    port: 8082")(repository)
    text = report.text(repository.preview())
    (line,) = re.findall(r"^ +data\[endpoints\.json\].*", text, re.MULTILINE)
    assert line.endswith("port_value: 8081 → 8082, and so in 399 more")


def test_a_field_of_the_bootstrap_is_told_by_its_path(repository: Repository) -> None:
    TABLE(repository)
    text = report.text(repository.preview())
    at = "data[envoy.json].static_resources.clusters[cache].maglev_lb_config.table_size"
    assert f"{at}: 1048573 → 1299709" in text


def test_sites_to_which_the_same_happens_are_still_one(repository: Repository) -> None:
    site = found(TABLE, repository)
    (entry,) = group_sites([site])
    assert entry.site.cache == site.cache
