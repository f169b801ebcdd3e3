"""The job templates of a site, in a fixed order; nothing where it has no teams."""

from collections.abc import Iterator

from components.making.manifest import Manifest, annotate, metadata_of, site_object
from components.training.examples import COMPONENT, IMAGE, examples
from components.training.fitting import has_users
from components.training.request import JobRequest, Template
from components.training.setting import Setting
from components.training.trainjob import API, runtime_name, runtime_spec
from schemas.facts.site import Site


def objects(site: Site) -> list[Manifest]:
    """Runtimes for each model that a team is guaranteed, and ready examples for each team."""
    return annotate([*runtimes(site), *examples(site)])


def runtimes(site: Site) -> Iterator[Manifest]:
    """The ClusterTrainingRuntimes that TrainJobs name: for each model one, and one with RDMA where
    its hosts have it. Workers have all of a host there unless the TrainJob says otherwise."""
    for model in site.models():
        if not has_users(site, model):
            continue
        for rdma in (False, True):
            request = JobRequest(Template.ALL_REDUCE_TRAINJOB, model, 1, IMAGE, rdma=rdma)
            setting, name = Setting(site, request), runtime_name(model, rdma=rdma)
            if setting.pools:
                named = metadata_of(COMPONENT, site, name)
                logical = f"ClusterTrainingRuntime/{name}"
                yield site_object(logical, API, named, spec=runtime_spec(setting))
