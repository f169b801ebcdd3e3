"""The agent on running hosts: its script on a folder in place of a host's root, with a fake
systemctl, its objects, and what the real kubelet makes of its file."""

import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.machines.applied import DROP_IN, LIST, applied_files
from components.machines.host_agent import settings_of
from components.machines.kubelet import IN_PLACE
from components.machines.workers import config_template
from components.making.manifest import Json
from schemas.facts.site import Site
from schemas.model.host_agent import HostAgent, InPlace
from schemas.model.kubelet import Kubelet
from schemas.model.site_file import Pool
from tests.golden import every_site
from tests.schemas.facts.test_feature_gates import PAST_ITS_CONFIGURATION, run
from tools.toolchain import locate

TOKYO = every_site()["tokyo-1"]
MIRROR = "/etc/containerd/certs.d/_default/hosts.toml"
CERTIFICATE = "/usr/local/share/ca-certificates/foresite-1.crt"
# Says what it is called with; the kubelet's process is a new one each time while a file says so.
SYSTEMCTL = """#!/bin/sh
echo "$*" >>"$FAKE/calls"
case "$1" in
  is-active) [ "$3" = chrony ] ;;
  show) [ -e "$FAKE/crashes" ] && grep -q 'maxPods: 200' "$FAKE"/root%s && echo $$ || echo 7 ;;
esac
"""


def with_agent(site: Site = TOKYO, *parts: InPlace, **changes: Any) -> Site:
    agent = HostAgent(applies=list(parts or InPlace))
    return replace(site, file=site.file.model_copy(update={"host_agent": agent, **changes}))


def worker(site: Site) -> Pool:
    return site.worker_pools[0]


class Host:
    """A folder as a host's root."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.root = folder, folder / "root"
        self.root.mkdir()
        programs = folder / "bin"
        programs.mkdir()
        for name, text in {
            "systemctl": SYSTEMCTL % DROP_IN,
            "update-ca-certificates": '#!/bin/sh\necho trust >>"$FAKE/calls"\n',
            "sleep": "#!/bin/sh\n",
        }.items():
            (programs / name).write_text(text)
            (programs / name).chmod(0o755)
        self.environment = {
            "PATH": f"{programs}:/usr/bin:/bin", "FAKE": str(folder), "STEADY_SECONDS": "2",
        }  # fmt: skip

    def boot(self, site: Site) -> None:
        """The host as its first boot leaves it."""
        files = config_template(site, worker(site)).body["spec"]["template"]["spec"]["files"]
        for each in files:
            self.write(each["path"], each["content"])

    def write(self, path: str, text: str) -> None:
        (self.root / path[1:]).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path[1:]).write_text(text)

    def text(self, path: str) -> str:
        return (self.root / path[1:]).read_text()

    def apply(self, settings: dict[str, str]) -> tuple[int, list[str]]:
        """The script's exit code, and the programs that it restarted."""
        here, calls = self.folder / "settings", self.folder / "calls"
        here.mkdir(exist_ok=True)
        for old in here.iterdir():
            old.unlink()
        for name, text in settings.items():
            (here / name).write_text(text)
        calls.unlink(missing_ok=True)
        done = subprocess.run(
            ["/bin/sh", here / "apply.sh", here, self.root],
            env=self.environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        said = calls.read_text().splitlines() if calls.exists() else []
        return done.returncode, [each for each in said if each.split()[0] in ("restart", "trust")]

    def files(self) -> dict[str, bytes]:
        found = (each for each in self.root.rglob("*") if each.is_file())
        return {str(each.relative_to(self.root)): each.read_bytes() for each in found}


@pytest.fixture
def host(tmp_path: Path) -> Host:
    made = Host(tmp_path)
    made.boot(with_agent())
    made.write("/etc/chrony/chrony.conf", "driftfile /a\nserver 10.1.1.1 iburst\npool b iburst\n")
    return made


def kubelet(max_pods: int, **more: Any) -> Site:
    own = {"kubelet": Kubelet(max_pods=max_pods, **more)}
    pools = [each.model_copy(update=own) for each in TOKYO.file.pools]
    return with_agent(TOKYO, pools=pools)


def of(site: Site) -> dict[str, str]:
    return settings_of(site, worker(site))


def test_a_host_of_the_same_settings_changes_nothing_but_its_time_servers(host: Host) -> None:
    assert host.apply(of(with_agent())) == (0, ["restart chrony"])
    before = host.files()
    assert host.apply(of(with_agent())) == (0, [])
    assert host.files() == before
    servers = [f"server {each} iburst" for each in TOKYO.file.first_boot.ntp]
    assert host.text("/etc/chrony/chrony.conf").splitlines() == ["driftfile /a", *servers]
    conf = host.text("/etc/systemd/timesyncd.conf.d/cloud-init.conf")
    assert conf == f"[Time]\nNTP={' '.join(TOKYO.file.first_boot.ntp)}\n"


def test_programs_that_read_a_changed_file_restart_and_no_other(host: Host) -> None:
    host.apply(of(with_agent()))
    sources = TOKYO.file.sources.model_copy(update={"registry_mirror": "https://b.example"})
    assert host.apply(of(with_agent(TOKYO, sources=sources))) == (0, ["restart containerd"])
    assert "b.example" in host.text(MIRROR)
    assert host.apply(of(with_agent())) == (0, ["restart containerd"])
    assert host.apply(of(kubelet(200))) == (0, ["restart kubelet"])
    assert yaml.safe_load(host.text(DROP_IN))["maxPods"] == 200


def test_what_the_settings_no_longer_have_goes(host: Host) -> None:
    host.apply(of(with_agent()))
    assert host.text(CERTIFICATE)
    host.write("/usr/local/share/ca-certificates/of-the-image.crt", "kept")
    boot = TOKYO.file.first_boot.model_copy(update={"ca_certificates": []})
    code, said = host.apply(of(with_agent(TOKYO, first_boot=boot)))
    assert (code, said) == (0, ["trust", "restart containerd"])
    assert CERTIFICATE[1:] not in host.files()
    assert host.text("/usr/local/share/ca-certificates/of-the-image.crt") == "kept"


def test_what_is_no_longer_applied_stays_until_the_host_is_installed_again(host: Host) -> None:
    host.apply(of(with_agent()))
    before = host.text(MIRROR), host.text(CERTIFICATE)
    assert host.apply(of(with_agent(TOKYO, InPlace.KUBELET))) == (0, [])
    assert before == (host.text(MIRROR), host.text(CERTIFICATE))


def test_a_change_by_hand_is_put_back(host: Host) -> None:
    host.apply(of(with_agent()))
    host.write(MIRROR, "by hand")
    host.write(CERTIFICATE, "by hand")
    assert host.apply(of(with_agent())) == (0, ["trust", "restart containerd"])
    assert "by hand" not in host.text(MIRROR) + host.text(CERTIFICATE)


def test_a_run_that_was_cut_short_is_finished_by_the_next(host: Host) -> None:
    host.apply(of(with_agent()))
    host.write("/var/lib/foresite/host-agent/changed-certificates", "")
    assert host.apply(of(with_agent())) == (0, ["trust", "restart containerd"])


def test_a_kubelet_that_does_not_run_gets_its_old_settings_and_no_second_try(host: Host) -> None:
    host.apply(of(with_agent()))
    before = host.text(DROP_IN)
    (host.folder / "crashes").write_text("")
    assert host.apply(of(kubelet(200))) == (1, ["restart kubelet", "restart kubelet"])
    assert host.text(DROP_IN) == before
    # It was killed before it had put them back.
    settings = of(kubelet(200))
    host.write(DROP_IN, next(settings[key] for key in settings if key.startswith("kubelet")))
    host.write("/var/lib/foresite/host-agent/kubelet-before", before)
    host.write("/var/lib/foresite/host-agent/changed-kubelet", "")
    assert host.apply(of(kubelet(200))) == (1, ["restart kubelet"])
    host.write(CERTIFICATE, "by hand")
    assert host.apply(of(kubelet(200))) == (1, ["trust", "restart containerd"])
    assert host.apply(of(kubelet(200))) == (1, [])
    assert host.text(DROP_IN) == before
    assert host.apply(of(kubelet(180))) == (0, ["restart kubelet"])


@pytest.mark.parametrize("part", InPlace)
def test_a_template_keeps_its_name_where_the_agent_applies_the_change(part: InPlace) -> None:
    changed: dict[InPlace, Json] = {
        InPlace.REGISTRIES: {"sources": {"registry_mirror": "https://b.example"}},
        InPlace.PROXY: {"first_boot": {"proxy": None}},
        InPlace.TIME_SERVERS: {"first_boot": {"ntp": ["10.9.9.9"]}},
        InPlace.CERTIFICATES: {"first_boot": {"ca_certificates": []}},
        InPlace.KUBELET: {"kubelet": {"max_pods": 201, "seccomp_default": True}},
    }
    ((section, fields),) = changed[part].items()
    # The proxy leaves the mirror out, so another mirror changes both.
    boot = {} if part is InPlace.PROXY else {"proxy": None}
    start = {"first_boot": TOKYO.file.first_boot.model_copy(update=boot)}
    file = TOKYO.file.model_copy(update=start)
    update = {section: getattr(file, section).model_copy(update=fields)}
    before = {other: with_agent(TOKYO, other, **start) for other in InPlace}
    for other, site in before.items():
        after = replace(site, file=site.file.model_copy(update=update))
        old, new = (config_template(each, worker(each)) for each in (site, after))
        assert old.body["spec"] != new.body["spec"]
        same = old.body["metadata"]["name"] == new.body["metadata"]["name"]
        assert same is (other is part)
        assert (settings_of(site, worker(site)) != settings_of(after, worker(after))) is same


def test_a_host_has_from_its_first_boot_what_the_agent_looks_after() -> None:
    site = with_agent()
    config = config_template(site, worker(site)).body["spec"]["template"]["spec"]
    there = {each["path"]: each["content"] for each in config["files"]}
    settings = of(site)
    for line in settings["index"].splitlines():
        _, content, path = line.split()
        assert there[path] == settings[content]
    assert there[LIST] == settings["files"] != ""


@pytest.mark.scheduling
def test_the_real_kubelet_reads_the_file_after_its_own(tmp_path: Path) -> None:
    site = kubelet(201, max_parallel_image_pulls=4)
    config = config_template(site, worker(site)).body["spec"]["template"]["spec"]
    there = {Path(each["path"]).name: each["content"] for each in config["files"]}
    main = yaml.safe_load(there["kubeletconfiguration+strategic.yaml"])
    assert not IN_PLACE & main.keys()
    arguments = config["joinConfiguration"]["nodeRegistration"]["kubeletExtraArgs"]
    assert {"name": "config-dir", "value": str(Path(DROP_IN).parent)} in arguments
    folder = tmp_path / "kubelet.conf.d"
    folder.mkdir()
    (folder / Path(DROP_IN).name).write_text(there[Path(DROP_IN).name])
    (tmp_path / "kubelet.yaml").write_text(yaml.safe_dump(main))
    said = run(
        locate(["scheduling"])["kubelet"].path, f"--config={tmp_path / 'kubelet.yaml'}",
        f"--config-dir={folder}", "--exit-on-lock-contention", f"--root-dir={tmp_path}", "-v=5",
    ).stderr  # fmt: skip
    assert PAST_ITS_CONFIGURATION in said
    assert '"MaxPods": 201,' in said


@pytest.mark.parametrize(("pulls", "serial"), [(None, None), (1, None), (4, False)])
def test_parallel_pulls_are_not_serial_ones_by_the_default_of_the_kubelets_own_file(
    pulls: int | None, serial: bool | None
) -> None:
    site = kubelet(110, max_parallel_image_pulls=pulls)
    (text,) = (each.content for each in applied_files(site, worker(site)) if each.path == DROP_IN)
    assert yaml.safe_load(text).get("serializeImagePulls") is serial
