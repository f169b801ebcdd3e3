"""The claims of a token, none of them believed: enough to see which tokens cannot be good here.

Whoever sends any bytes as a token must not have the API server asked about them, as what it is
asked about waits in one line with the tokens that are good.
"""

import base64
import binascii
import json
import re
import time
from typing import Any

LEEWAY_SECONDS = 60.0
"""Seconds that this node's clock and the API server's may differ."""
ACCOUNT = re.compile(r"system:serviceaccount:([^:]+):([^:]+)")
"""The user name of a ServiceAccount (k8s.io/apiserver, pkg/authentication/serviceaccount). It is
the claim ``sub`` of its tokens (Kubernetes 1.34, pkg/serviceaccount/claims.go)."""


def claims(token: str) -> dict[str, Any] | None:
    """The claims of a token in the form of RFC 7519; None where it has another form."""
    parts = token.split(".")
    if len(parts) != 3 or not all(parts):
        return None
    payload = parts[1]
    try:
        found = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    except (binascii.Error, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def never_good(token: str, audience: str) -> str | None:
    """Why the API server would refuse a token whoever signed it; None where it may be good. Nothing
    of the token is in the text, which is for its sender and the log."""
    found = claims(token)
    if found is None:
        return "it is no token of a ServiceAccount"
    account, audiences, end = found.get("sub"), found.get("aud"), found.get("exp")
    if not isinstance(account, str) or ACCOUNT.fullmatch(account) is None:
        return "it is no token of a ServiceAccount"
    # One string is allowed too (RFC 7519, section 4.1.3); tokens of old have no audience.
    allowed = [audiences] if isinstance(audiences, str) else audiences
    if allowed is not None and (not isinstance(allowed, list) or audience not in allowed):
        return "it is for another audience"
    if isinstance(end, int | float) and end < time.time() - LEEWAY_SECONDS:
        return "it has expired"
    return None


def seconds_left(token: str) -> float:
    """How long a token is good for by its own claim ``exp`` (RFC 7519, section 4.1.4), once the API
    server has checked its signature; 0 where it does not say."""
    end = (claims(token) or {}).get("exp")
    return end - time.time() if isinstance(end, float | int) else 0.0
