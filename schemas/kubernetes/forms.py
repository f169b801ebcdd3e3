"""Forms of names, addresses and references, as patterns of a whole text without ``^`` and ``$``.

Sources: RFC 1123, 2.1; k8s.io/apimachinery 0.34.3, pkg/api/validate/content (IsDNS1123Subdomain,
IsLabelKey); distribution/reference 0.6, regexp.go.
"""

_OCTET = r"(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
IPV4 = rf"{_OCTET}(\.{_OCTET}){{3}}"
PORT = r"([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])"
_NAMES = r"([A-Za-z0-9]([-A-Za-z0-9]{0,61}[A-Za-z0-9])?\.)*"
_LETTER = r"([A-Za-z]|0[A-WYZa-wyz]|0[-0-9]{1,61}[A-Za-z]|[1-9][-0-9]{0,61}[A-Za-z])"
HOST = rf"({IPV4}|{_NAMES}{_LETTER}([-A-Za-z0-9]{{0,61}}[A-Za-z0-9])?)"
"""A DNS name or an IPv4 address: what ends in a number, or 0x and one, is an address or nothing."""
LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
SUBDOMAIN = rf"{LABEL}(\.{LABEL})*"
"""A DNS subdomain as Kubernetes reads it; how long it may be is for the field to say."""
QUALIFIED = r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
"""The name in the key of a label, behind the domain."""
_COMPONENT = r"[a-z0-9]+((\.|__?|-+)[a-z0-9]+)*"
REGISTRY = rf"{SUBDOMAIN}(:{PORT})?"
REPOSITORY = rf"{_COMPONENT}(/{_COMPONENT})*"
TAG = r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}"
DIGEST = r"sha256:[0-9a-f]{64}"
