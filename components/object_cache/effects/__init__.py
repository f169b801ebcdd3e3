"""Effects of changes to the cache's objects on machines, and on the objects that it keeps.

No host is drained for any of them. ``programs.py`` says what restarts mean, ``files.py`` what the
files of the programs mean, ``consequences.py`` what users feel, ``reached.py`` how pods come to the
cache; ``moved.py`` computes which keys another host is asked for.
"""

from components.effects import kinds
from components.effects.applying import rules
from components.effects.daemonsets import DAEMON_SET
from components.effects.kubernetes import RULES as KUBERNETES
from components.effects.rules import narrow
from components.object_cache.effects.files import FILES
from components.object_cache.effects.programs import note_restarts
from components.object_cache.effects.reached import BUDGETS, SERVICES, of_servers, once_given

_RIGHTS = ("ServiceAccount", kinds.CLUSTER_ROLE, kinds.CLUSTER_ROLE_BINDING)

RULES = [
    *rules(DAEMON_SET.narrowed(note_restarts), FILES, BUDGETS),
    *narrow(rules(SERVICES), {SERVICES.name: once_given}),
    *narrow(KUBERNETES, dict.fromkeys(_RIGHTS, of_servers)),
]
"""Of this component's objects; Kubernetes' own rules follow."""
