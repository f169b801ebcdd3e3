// Command pulumi-resource-kubernetes is Pulumi's Kubernetes provider, built from its library.
//
// The provider's own main package embeds files that its release process generates and Git ignores,
// so it cannot be built from the module alone. The two files embedded here lie in the module too;
// the build puts them next to this file (tools/toolchain/build.py).
package main

import (
	_ "embed"

	"github.com/pulumi/pulumi-kubernetes/provider/v4/pkg/provider"
)

//go:embed schema.json
var pulumiSchema []byte

//go:embed terraform-mapping.json
var terraformMapping []byte

// version is set by the build to the version of the Python SDK that the provider is paired with.
var version string

func main() {
	provider.Serve("kubernetes", version, pulumiSchema, terraformMapping)
}
