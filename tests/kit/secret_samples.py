"""Samples of secrets, and of texts that only look like one: one list, for all who look for secrets.

None was ever a key of anybody's. What scanners of others know is in two pieces.
"""

from collections.abc import Mapping

LETTERS = "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zA" * 3
UPPER = "ABCDEFGHIJKLMNOPQRST"
AWS = "wJalrXUtnFEMI/K7MDENG/" + "bPxRfiCYEXAMPLEKEY"
"""A secret access key as AWS's own pages show it: base64, and so with slashes."""

FORMED: Mapping[str, tuple[str, ...]] = {
    "a private key": (
        "-----BEGIN " + "OPENSSH PRIVATE KEY-----\nhunter2\n-----END OPENSSH PRIVATE KEY-----",
        "-----BEGIN " + "EC PRIVATE KEY-----\nhunter2 cut off",
        "PuTTY-User-Key-File-3: ssh-ed25519\nhunter2",
    ),
    "a private key in base64": (
        "LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0tCmh1bnRlcjI=",
        "client-key-data: LS0tLS1CRUdJTiBFQyBQUklWQVRFIEtFWS0tLS0tCmh1bnRlcjI=",
    ),
    "a private key of age": (
        "AGE-SECRET-" + "KEY-1HUNTER2QQQQQQQQQQQQQQQQQQQQQQ",
        "AGE-SECRET-" + "KEY-1" + UPPER * 2 + UPPER[:18],
    ),
    "a key of AWS": ("AK" + "IAIOSFODNN7EXAMPLE", "AS" + "IAIOSFODNN7EXAMPLE"),
    "a key of Google Cloud": (
        "AI" + "za" + "hunter2" * 5,
        "GOC" + "SPX-hunter2hunter2hunter2hunt",
        "ya" + "29." + LETTERS[:40],
    ),
    "a key of Azure": (
        "DefaultEndpointsProtocol=https;Account" + "Key=" + "hunter2/" * 10 + "hunter==",
        "https://x.blob.core.windows.net/c?sv=1&sig=" + "hunter2%2B" * 5,
        "hun8" + "Q~" + "hunter2" * 4 + "abcdef",
    ),
    "a token of GitHub": ("gh" + "p_" + "hunter2" * 5, "github" + "_pat_" + "hunter2_" * 5),
    "a token of GitLab": ("gl" + "pat-hunter2hunter2hunter2", "gl" + "rt-hunter2hunter2hunter2"),
    "a web hook or token of Slack": (
        "https://hooks." + "slack.com/services/T0/B0/hunter2",
        "xo" + "xb-hunter2-hunter2",
        "xa" + "pp-1-hunter2hunter2",
    ),
    "a web hook of a chat": (
        "https://discord.com/api/" + "webhooks/1/hunter2",
        "https://x.webhook.office.com/" + "webhookb2/hunter2",
        "123456789:" + "AA" + "hunter2" * 4 + "abcde",
    ),
    "a key of PagerDuty": ("https://events.pagerduty.com/integration/hunter2/enqueue",),
    "a token of Hugging Face": ("h" + "f_" + "hunter2" * 5,),
    "a login of a registry": (
        '{"auths": {"r.lan": {"auth": "dXNlcjpodW50ZXIyaHVudGVyMg=="}}}',
        'auth = "dXNlcjpodW50ZXIyaHVudGVyMg=="',
        "auths:\n  r.lan: {auth: dXNlcjpodW50ZXIyaHVudGVyMg==}",
    ),
    "a JSON Web Token": ("ey" + "JhbGciOiJIUzI1NiJ9." + "ey" + "JzdWIiOiIxIn0.hunter2_hunter2",),
    "a token of a package registry": (
        "np" + "m_" + "hunter2" * 5,
        "dckr_" + "pat_hunter2hunter2hunter2",
        "py" + "pi-AgEIcHlwaS5vcmc" + LETTERS[:60],
    ),
    "a token of Vault": ("hv" + "s.hunter2hunter2hunter2hunter2",),
    "a token of Pulumi": ("pu" + "l-" + "0123456789" * 4,),
    "a key of a hosted model": ("sk-" + "ant-hunter2hunter2hunter2", "sk-" + "hunter2" * 7),
    "a token of Grafana": ("gl" + "sa_" + "hunter2" * 5,),
    "the hash of a password": ("$" + "6$salt$" + "hunter2" * 5, "$" + "2b$12$" + "hunter2" * 5),
    "a URL with a token in its query": ("https://x.example/hook?token=hunter2hunter2",),
    "a bootstrap token of kubeadm": ("abc" + "def.0123456789abcdef",),
}
"""Of each form, what it looks like, by the words for it."""

SPOKEN: Mapping[str, tuple[str, ...]] = {
    "a user and a password before an address": (
        "admin:hunter2@10.0.0.1",
        "bmc root:hunter2/1@idrac.example.com:623 is dead",
        "ipmi admin:p@ss:hunter2@10.40.0.16",
        "bmc=admin:password-hunter2@[fd00::1]",
    ),
    "a value of the header Authorization": (
        "Authorization: Basic aHVudGVyMg==",
        '{"authorization": "Bearer hunter2hunter2"}',
        "curl -H 'Authorization: token hunter2'",
    ),
    "a password in a command": (
        "mysql -uroot -phunter2",
        '["mysqldump", "--all", "-phunter2"]',
        "sshpass -p hunter2 ssh ops@node",
        "docker login -u a -p hunter22x r.lan",
        '["helm", "registry", "login", "-u", "a", "-p", "hunter22x", "r.lan"]',
        "ipmitool -I lanplus -U admin -P hunter2 power cycle",
    ),
    "a user and a password in a command": (
        "curl -u ops:hunter2 https://example.com/x",
        "curl -fsSLu 'ops:hunter2' -O https://example.com/x",
        '["curl", "--user", "ops:hunter2"]',
    ),
    "a password of an account or of VRRP": (
        "echo root:hunter22x | chpasswd",
        "chpasswd <<<'root:hunter22x'",
        "    auth_pass hunter22",
    ),
    "a password, a key or a token written out": (
        "# the BMC password is hunter2secret",
        "# Passwd: hunter2!",
        "password was 'hunter22'",
    ),
}
"""Of what people say in comments, cells and commands, how they say it, by the words for it."""

USERS = (
    "http://robot:hunter2@x",
    "http://hunter2@x",
    "ldap://a:hunter2/b@x",
    "x http://a:hunter2@b y",
    "postgres://app:" + "hunter2@db.example.com/app",
    "http://app:hunter2@[fd00::1]:8080/",
)
"""Users and passwords in URLs."""

NAMED = (
    ("AWS_SECRET_ACCESS_KEY", AWS),
    *(
        ("DB_PASSWORD", value)
        for value in ("hunter2", "Tr0ub4dor&3$x", "1234567", "correcthorse", "!hunter22",
                      "~hunter22", ".hunter22", "@hunter22", "%hunter22", "#hunter22",
                      "hunter(22)", "hunter<22", "hunter\\22", "{hunter22", "hunter*22")
    ),
    *(
        (name, "hunter22")
        for name in ("password", "PGPASSWORD", "MYSQL_PWD", "ENCRYPTION_KEY", "clientSecret",
                     "apiKey", "API_TOKEN", "SIGNING_KEY", "WEBHOOK_SECRET_URL", "private-key",
                     "auth-token", "passwd", "client-key-data", "GITHUB_CREDENTIALS",
                     "DB_PASSWORD_1", "REGISTRY_PASS")
    ),
)  # fmt: skip
"""Names of variables with values that are secrets."""

PLAIN = (
    *(
        ("TOKEN", value)
        for value in ("", "true", "off", "null", "$(OTHER)", "${OTHER}", "$(A)-$(B)", "<none>",
                      "/var/run/secrets/kubernetes.io/serviceaccount/token", "token.jwt")
    ),
    *(("secrets", value) for value in ("1000", "1k", "2Ki", "5M")),
    ("PASSWORD", "${PASSWORD:-}"),
    ("SERVICE_ACCOUNT_TOKEN", "/var/run/secrets/tokens/cache"),
    ("MAX_TOKENS", "4096"),
    ("LLM_MAX_INPUT_TOKENS", "1048576"),
    ("tokens_per_fill", "4294967295"),
    ("TOKEN_REVIEW", "1"),
    *(
        (name, "cache")
        for name in ("SECRET_NAME", "TOKEN_AUDIENCE", "credentialsName", "SECRET_STORE", "bypass",
                     "COMPASS", "topologyKey", "monkey", "passwordKey", "TOKEN_TYPE")
    ),
    ("TOKEN_SECONDS", "600"),
    ("CALLBACK", "https://x/a?token=$(TOKEN)"),
)  # fmt: skip
"""Names of variables with values that are none."""

WORDS = (
    ["--token", "s3cr3tvalue99"],
    ["serve", "--token", "correcthorse", "--level=info"],
    ["--token=abc"],
    ["--password=correcthorse"],
    ["--db-password", "!hunter22"],
    ["-c", "curl --api-key=" + LETTERS[:12] + " https://example.com"],
    ["-c", "serve --token s3cr3tvalue99"],
    ["mysql", "-uroot", "-phunter2"],
    ["sshpass", "-p", "hunter2", "ssh", "node"],
)
"""Arguments of which one is a secret."""

PLAIN_WORDS = (
    ["--token"],
    ["--token", "--level=info"],
    ["--token=$(TOKEN)", "--token", "$(TOKEN)"],
    ["--token-file", "/x", "--use-token", "--port=1"],
    ["--token-cache-size=100", "--check-tokens=true", "--secret-path", "/x"],
    ["--token-file=/var/run/secrets/kubernetes.io/serviceaccount/token"],
    ["-c", "TOKEN=$(cat /var/run/secrets/kubernetes.io/serviceaccount/token) serve"],
    ["-c", 'PASSWORD="${PASSWORD:-}" serve'],
    ["serve", "-p8080", "-p", "443:443"],
    ["mysql", "-p", "--port=3306", "-P3306"],
)
"""Arguments of which none is."""

TEXTS = (
    "password=hunter2",
    "set -e\ncurl --api-key=" + LETTERS[:12] + " https://example.com",
    "exec serve --password=correcthorse",
    "exec serve --token s3cr3tvalue99",
    "db:\n  client_secret: 'correct-horse-9'\n",
    '{"auth_token": "' + LETTERS[:20] + '"}',
    '{"password":"hunter22"}',
    "{password: hunter22}",
    "aws_secret_access_key = " + AWS,
    "users:\n- user:\n    client-key-data: " + LETTERS,
)
"""Texts with a secret that has no form."""

HARMLESS = (
    f"registry.example.com/web:1@sha256:{'5f1d' * 16}",
    "-----BEGIN CERTIFICATE-----\nMIIB0DCCAXegAwIBAgIUAdl9PZ22k0\n-----END CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----",
    "certificate-authority-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUI=",
    "https://prometheus.example.com:9090/api/v1?query=up@start",
    "http://$(USER):$(PASSWORD)@registry.example.com",
    "http://registry.example:5000/images/a@b",
    "https://[fd00::1]/os/noble@sha256:00",
    "https://[fd00::1]:8080/os/noble@sha256:00",
    "(http://wiki.example,ops@example.com)",
    "(http://wiki.example) or ops@example.com; http://wiki.example;ops@example.com",
    '["http://wiki.example","ops@example.com"]',
    "ssh://git@git.example/sites.git",
    "https://x/a?token=$(TOKEN)",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFymhLku4SdfYrPbCwX88H668olnzzQcg7SSyMhAs2aA ops@example",
    "sk-ssh-ed25519@openssh.com AAAAGnNrLXNzaC1lZDI1NTE5QG9wZW5zc2guY29tAAAAIA== ops",
    "sk-ecdsa-sha2-nistp256@openssh.com",
    "SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU",
    "password=$(cat /run/secrets/password)",
    "docker login -u ops --password-stdin r.lan <<<$TOKEN; echo root:$NEW | chpasswd",
    "auth_pass ${VRRP_SECRET}",
    "auth: OAuth2ClientCredentials",
    "auth: ClientCertificate1x",
    "TOKEN=$(cat /var/run/secrets/kubernetes.io/serviceaccount/token)",
    'PASSWORD="${PASSWORD:-}"',
    "token: {{ .Token }}",
    "--token-file=/var/run/secrets/kubernetes.io/serviceaccount/token",
    "exec serve --token-cache-size=100",
    "use --token to say who you are",
    "secretName: bmc-credentials",
    "token: it is mounted at /var/run",
    "a token= b, and a password: required",
    "key = value\nsort_key=name",
    "password: <none>",
    "images.tokyo-1.example",
    "kubectl get secret web -o jsonpath='{.data.password}'",
    "cost $6$7 and $PATH$HOME",
    "EX21000001",
    "52:54:00:11:00:01",
    "mailto:ops@example.com",
    "contact:ops@localhost",
    "contact:ops@example.com",
    "tel:+81-3-1234@pbx.example",
    "npm:react@18.2.0",
    "uses: actions/checkout:v4@main",
    "git@github.com:org/repo",
    "a:$(PASS)@db.example.com and b:${PASS}@10.0.0.1",
    "registry:5000/x/y:v1@sha256:00aa",
    "docker run -p 8080:80 nginx",
    "gcc -pthread -pipe",
    "mysql --port 3306 -P 3306x -p production2",
    "ipmitool -P $PASS1x power",
    "# the password is in Vault, and is rotated every 90d",
    "# password: see docs/secrets.md",
    "# password: kv/bmc1",
    "passwordAuthentication: true",
    "authorization: {mode: Webhook}",
    "--authorization-mode=Node,RBAC",
    "Authorization: Bearer $(TOKEN)",
    "Authorization: Bearer <token>",
)
"""Texts of the kind that files and objects have: long, random or called alike, and no secrets."""

UNSURE = (
    "admin:hunter2@bmc-1",
    "admin:hunter2@localhost",
    "# owner:ops@example.com",
    "serviceAccount:foo@project.iam.gserviceaccount.com",
    "serviceAccount:foo-12@project-1.iam.gserviceaccount.com",
    "user:jane@corp.example",
    "group:team@example.com",
    "team:ops24@example.com",
    "on-call:ops24@example.com",
    "sre:jane.doe@corp.example",
    "10.0.0.1:9100@dc1.example",
    "node-1:9100@dc1.example",
    "10.0.0.1:9100@10.0.0.2",
    "# password: see-doc-123",
    "# password: runbook_12",
    "# the password is OPS-1234",
    "docker run -phunter2x",
)
"""Texts that may have a password in them, and often have none: hidden, and no problem."""
