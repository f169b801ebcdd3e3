"""The reboot of a host by its BareMetalHost: on a real API server."""

import contextlib
import itertools
import time

import pytest
from node_repair.names import HISTORY

from components.making.faults import TURN_LABEL
from components.making.manifest import Json
from components.remediation.names import REBOOTS, settings_of
from components.remediation.rights import rights
from controlplane import ApiError, Client
from controlplane.access import read_kubeconfig
from tests.kit.remediation_host import (
    ASKED,
    HOST,
    MACHINE,
    MARK,
    NODE,
    OTHER,
    SITE,
    WINDOW,
    Rebooting,
    boots,
    host,
    make,
    outcome,
    patch_host,
    rebooting,
    run,
    told,
    until_asked,
)
from tests.kit.remediation_rounds import ago
from tests.kit.remediation_server import HOST_API, SECONDS, Server
from tests.kit.repository import all_sites

pytestmark = [pytest.mark.controlplane, pytest.mark.proof]
MANY = 5000
"""Annotations of a host: a hundred times as many as any has."""
NOT_ALLOWED: list[Json] = [
    {"spec": {"online": False}},
    {"metadata": {"labels": {"rack": "r2"}}},
    {"metadata": {"annotations": {"inspect.metal3.io": ""}}},
    {"metadata": {"annotations": {OTHER: "changed"}}},
    {"metadata": {"annotations": {OTHER: None}}},
]


def test_a_reboot_from_the_request_to_the_end(server: Server) -> None:
    old, recent = ago(WINDOW + 60), ago(60)
    make(server, reboots=f"{old},{recent}")
    with rebooting(server) as process:
        until_asked(server, process)
        history = host(server)[HISTORY]
        assert host(server) == {ASKED: '{"mode":"hard"}', MARK: "job-1", HISTORY: history}
        assert not host(server, "other")
        operation, boot, asked, state = (server.note(NODE, "reboot") or "").split(",")
        assert (operation, boot, state) == ("job-1", "boot-1", "asked")
        assert server.note(NODE, "reboots") == f"{recent},{asked}"
        assert abs(int(asked) - time.time()) < SECONDS
        boots(server)
        assert process.wait(SECONDS) == 0
    assert server.note(NODE, "reboot") == f"job-1,boot-1,{asked},done"
    assert server.note(NODE, "history") == history


def test_a_node_counts_as_back_when_it_is_ready(server: Server) -> None:
    """Another boot is not enough."""
    make(server, reboot=f"job-1,boot-0,{ago(60)},asked")
    server.condition(NODE, Ready="False")
    assert run(server, seconds=61) == "late"


@pytest.mark.parametrize(
    ("provider", "expected"),
    [
        (f"metal3://other/{HOST}/{MACHINE}", "refused-foreign-host"),
        (f"metal3://{SITE}x/{HOST}/{MACHINE}", "refused-foreign-host"),
        ("metal3://4a5ea0f8-8c4d-4a35-9d5a-3a8a9a5c8f10", "refused-foreign-host"),
        (f"aws:///{SITE}/{HOST}/{MACHINE}", "refused-foreign-host"),
        (None, "refused-foreign-host"),
        (f"metal3://{SITE}/{HOST}/", "refused-foreign-host"),
        (f"metal3://{SITE}/--all/{MACHINE}", "refused-foreign-host"),
        (f'metal3://{SITE}/{HOST}/{MACHINE}","x":"', "refused-foreign-host"),
        (f"metal3://{SITE}/{HOST}/{MACHINE}\nboot-2", "refused-foreign-host"),
        (f"metal3://{SITE}/another/{MACHINE}", "refused-no-host"),
        (f"metal3://{SITE}/{HOST}/another", "refused-other-machine"),
    ],
)
def test_hosts_that_are_not_rebooted(server: Server, provider: str | None, expected: str) -> None:
    make(server, provider)
    assert run(server) == expected
    assert not host(server) and not host(server, "other")
    assert server.note(NODE, "reboots") is None


def test_no_reboot_beyond_the_attempts(server: Server) -> None:
    make(server, reboots=f"{ago(300)},{ago(200)}")
    assert run(server) == "refused-attempts"
    assert not host(server)


def test_odd_counts_do_not_stop_it(server: Server) -> None:
    make(server, reboots='"x",\n\t, 7,$(date)')
    with rebooting(server) as process:
        until_asked(server, process)
    assert (server.note(NODE, "reboots") or "").isdigit()


@pytest.mark.parametrize(
    "boot",
    [
        'b"},"labels":{"evil":"yes"},"x":{"y":"z',
        'b","evil":"yes',
        "b\nTrue\naccelerator-missing",
        "b\\",
        "",
    ],
)
def test_a_kubelet_writes_nothing_into_the_patches_of_its_node(server: Server, boot: str) -> None:
    """Its own account may not set all labels, and it may not say that a node is ready by a line."""
    make(server)
    before = server.get(NODE)["metadata"]
    server.boot(NODE, boot)
    server.condition(NODE, Ready='False"\nTrue')
    assert run(server, seconds=1) == "late"
    after = server.get(NODE)["metadata"]
    assert after["labels"] == before["labels"]
    ours = {f"remediation.foresite.dev/{each}" for each in ("reboot", "reboots")}
    assert after["annotations"].keys() - before.get("annotations", {}).keys() == ours


@pytest.mark.parametrize("when", ["", "08", "a[$(date)]", "99999999999", "9999999999", '1","x":"'])
def test_an_odd_time_that_is_noted_counts_as_now(server: Server, when: str) -> None:
    make(server, reboot=f"job-1,boot-0,{when},asked")
    assert run(server) == "done"
    asked = (server.note(NODE, "reboot") or "").split(",")[2]
    assert abs(int(asked) - time.time()) < SECONDS


def test_a_node_without_a_turn_is_left_alone(server: Server) -> None:
    """As one that a rollout has made anew under its old name."""
    make(server)
    server.patch(NODE, {"metadata": {"labels": {TURN_LABEL: None}}})
    assert run(server) == ""
    assert not host(server)
    server.client.delete("v1", "Node", NODE)
    assert Rebooting(told(server, 7200), lambda _method, _path: None).wait() == 0
    assert not host(server)


def test_a_host_that_nobody_reboots_is_late_and_is_not_rebooted_later(server: Server) -> None:
    """As one that is paused: the request must not lie there until somebody ends that."""
    make(server)
    assert run(server, seconds=1) == "late"
    assert not host(server) and server.note(NODE, "history") is None


def test_a_management_cluster_that_is_not_reached(server: Server) -> None:
    make(server)
    nowhere = server.folder / "nowhere.kubeconfig"
    nowhere.write_text(server.plane.kubeconfig().read_text().replace("127.0.0.1", "127.0.0.254"))
    assert run(server, seconds=1, MANAGEMENT_KUBECONFIG=str(nowhere)) == "refused-no-answer"
    assert server.note(NODE, "reboots") is None


def test_its_accounts_may_do_what_it_does_and_no_more(server: Server) -> None:
    """On the management cluster: two annotations of the site's hosts, by rights and by policy."""
    site = all_sites()[SITE]
    settings = settings_of(site)
    names = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": settings.namespace}}
    server.client.apply(names)
    for each in rights(site):
        server.client.apply(each.body)
    make(server)
    # The policy's cost grows with them.
    patch_host(server, {OTHER: "kept"} | {f"a{number}": "b" for number in range(MANY)})
    here = server.as_account(settings.namespace, REBOOTS)
    there = server.as_account(SITE, REBOOTS)
    with Client(read_kubeconfig(there)) as account:
        _until_the_policy_judges(account)
        for change in NOT_ALLOWED:
            with pytest.raises(ApiError, match="annotations alone"):
                _change(account, SITE, change)
        with pytest.raises(ApiError, match="forbidden"):
            _change(account, "other", {"metadata": {"annotations": {"a": "b"}}})
        with pytest.raises(ApiError, match="forbidden"):
            account.items("v1", "Secret", SITE)
    # Others change hosts as before.
    _change(server.client, SITE, {"spec": {"description": "x"}})
    told = {"MANAGEMENT_KUBECONFIG": str(there), "KUBECONFIG": str(here)}
    told["JOB_NAMESPACE"] = settings.namespace
    with rebooting(server, **told) as process:
        until_asked(server, process)
        process.terminate()
        assert process.wait(SECONDS) == 0
    assert ASKED not in host(server)
    server.annotate(NODE, reboot="")
    with rebooting(server, **told) as process:
        until_asked(server, process)
        boots(server)
        assert process.wait(SECONDS) == 0
    assert outcome(server) == "done"
    assert host(server)[OTHER] == "kept"


def _change(client: Client, space: str, body: Json) -> None:
    path = f"/apis/{HOST_API}/namespaces/{space}/baremetalhosts/{HOST}"
    client.request("PATCH", path, body, "application/merge-patch+json")


def _until_the_policy_judges(account: Client) -> None:
    """It comes into force a little after it is made."""
    end = time.monotonic() + SECONDS
    with contextlib.suppress(ApiError):
        for number in itertools.count():
            assert time.monotonic() < end
            _change(account, SITE, {"metadata": {"labels": {"number": str(number)}}})
            time.sleep(0.1)
