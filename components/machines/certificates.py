"""Certificates of authorities that a host trusts."""

from schemas.facts.site import Site
from schemas.model.release import OsFamily
from schemas.model.site_file import Pool

TRUST = {
    OsFamily.DEBIAN: ("/usr/local/share/ca-certificates", "crt", "update-ca-certificates"),
    OsFamily.RHEL: ("/etc/pki/ca-trust/source/anchors", "pem", "update-ca-trust extract"),
}
"""Where each family keeps trusted certificates, their suffix, and the command that reads them."""


def certificate_files(site: Site, pool: Pool) -> dict[str, str]:
    """The certificates that a pool's hosts trust, by their paths."""
    folder, suffix, _ = TRUST[site.operating_system(pool).family]
    return {
        f"{folder}/foresite-{number}.{suffix}": site.texts[path].replace("\r\n", "\n")
        for number, path in enumerate(site.first_boot(pool).ca_certificates, start=1)
    }


def trust_command(site: Site, pool: Pool) -> str:
    """The command with which a pool's hosts read them."""
    return TRUST[site.operating_system(pool).family][2]
