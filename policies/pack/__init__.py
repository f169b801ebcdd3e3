"""The rules as a policy pack of Pulumi (CrossGuard), for ``--policy-pack policies/pack``.

Speaks the engine's protocol for policies itself. A pack by pulumi-policy decodes every resource
once for each policy, which doubles the time of a preview, and lets whoever calls turn a rule off;
here each resource is decoded once, and a rule is held unless an exception in Git says otherwise.
Source: pulumi 3.255, proto/pulumi/analyzer.proto and sdk/go/common/resource/plugin.
"""
