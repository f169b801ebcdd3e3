"""Effects of changes to the cache's objects on machines, and on the objects that it keeps.

No host is drained for any of them. ``programs.py`` says what restarts mean, ``files.py`` and
``buckets.py`` what the files of the programs mean, ``reached.py`` how pods come to the cache;
``moved.py`` computes which keys another host is asked for.
"""

from components.effects import kinds
from components.effects.applying import Applier, rules
from components.effects.daemonsets import DAEMON_SET
from components.effects.kubernetes import RULES as KUBERNETES
from components.effects.rules import Rule
from components.object_cache.effects.files import FILES
from components.object_cache.effects.programs import add_restart_notes
from components.object_cache.effects.reached import BUDGETS, SERVICES, of_servers, once_given

_PROGRAMS = DAEMON_SET._replace(
    added=add_restart_notes(DAEMON_SET.added),
    gone=add_restart_notes(DAEMON_SET.gone),
    fields=tuple((path, add_restart_notes(judge)) for path, judge in DAEMON_SET.fields),
    replaced=add_restart_notes(DAEMON_SET.replaced or DAEMON_SET.gone),
)
_RIGHTS = {"ServiceAccount", kinds.CLUSTER_ROLE, kinds.CLUSTER_ROLE_BINDING}

RULES: list[Rule] = [
    *(rule for kind in (_PROGRAMS, FILES, BUDGETS) for rule in rules(kind, Applier.PULUMI)),
    *(rule._replace(judge=once_given(rule.judge)) for rule in rules(SERVICES, Applier.PULUMI)),
    *(rule._replace(judge=of_servers(rule.judge)) for rule in KUBERNETES if rule.kind in _RIGHTS),
]
"""Of this component's objects; Kubernetes' own rules follow."""
