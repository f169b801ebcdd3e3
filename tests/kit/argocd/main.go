// Command argocd syncs a folder of manifests in waves as Argo CD does, with its gitops-engine, and with the rules of
// health of an argocd-cm, which Argo CD's own Lua runs. Each state of the operation is a line of JSON.
//
// A turn is one call of SyncAppState (argo-cd v3.2.12, controller/sync.go): live objects are read anew, and the results of
// the turns before are the initial state. What Argo CD makes of the child Applications is not part of it.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/argoproj/argo-cd/v3/util/lua"
	"github.com/argoproj/gitops-engine/pkg/cache"
	"github.com/argoproj/gitops-engine/pkg/sync"
	"github.com/argoproj/gitops-engine/pkg/sync/common"
	"github.com/argoproj/gitops-engine/pkg/utils/kube"
	"github.com/argoproj/gitops-engine/pkg/utils/tracing"
	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"
)

const (
	namespace = "argocd"
	key       = "resource.customizations.health."
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// rules are the health rules of an argocd-cm, by group/Kind as Argo CD keeps them.
func rules(path string) lua.ResourceHealthOverrides {
	text, err := os.ReadFile(path)
	check(err)
	var settings struct{ Data map[string]string }
	check(yaml.Unmarshal(text, &settings))
	found := map[string]v1alpha1.ResourceOverride{}
	for name, script := range settings.Data {
		if rest, ok := strings.CutPrefix(name, key); ok {
			found[strings.Replace(rest, "_", "/", 1)] = v1alpha1.ResourceOverride{HealthLua: script}
		}
	}
	return lua.ResourceHealthOverrides(found)
}

func manifests(folder string) []*unstructured.Unstructured {
	paths, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	check(err)
	var found []*unstructured.Unstructured
	for _, path := range paths {
		text, err := os.ReadFile(path)
		check(err)
		bodies, err := kube.SplitYAML(text)
		check(err)
		found = append(found, bodies...)
	}
	return found
}

// judge prints the health of each object of a file of JSON lines.
func judge(health lua.ResourceHealthOverrides, path string) {
	text, err := os.ReadFile(path)
	check(err)
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		body := &unstructured.Unstructured{}
		check(json.Unmarshal([]byte(line), &body.Object))
		found, err := health.GetResourceHealth(body)
		check(err)
		said, err := json.Marshal(found)
		check(err)
		fmt.Println(string(said))
	}
}

func main() {
	health := rules(os.Args[1])
	if len(os.Args) == 3 {
		judge(health, os.Args[2])
		return
	}
	kubeconfig, folder := os.Args[2], os.Args[3]
	seconds, err := strconv.Atoi(os.Args[4])
	check(err)
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	check(err)
	live := cache.NewClusterCache(config, cache.SetNamespaces([]string{namespace}), cache.SetPopulateResourceInfoHandler(
		func(_ *unstructured.Unstructured, _ bool) (any, bool) { return nil, true },
	))
	check(live.EnsureSynced())
	targets, kubectl := manifests(folder), &kube.KubectlCmd{Log: logr.Discard(), Tracer: tracing.NopTracer{}}
	phase, message, started := common.OperationRunning, "", metav1.Now()
	var results []common.ResourceSyncResult
	for !phase.Completed() {
		managed, err := live.GetManagedLiveObjs(targets, func(*cache.Resource) bool { return true })
		check(err)
		context, done, err := sync.NewSyncContext(
			"revision", sync.Reconcile(targets, managed, namespace, live), config, config, kubectl, namespace,
			live.GetOpenAPISchema(),
			sync.WithLogr(logr.Discard()),
			sync.WithHealthOverride(health),
			sync.WithInitialState(phase, message, results, started),
			sync.WithOperationSettings(false, false, false, false),
			sync.WithServerSideApply(true),
			sync.WithServerSideApplyManager("argocd-controller"),
			sync.WithPermissionValidator(func(*unstructured.Unstructured, *metav1.APIResource) error { return nil }),
			sync.WithSyncWaveHook(func(_ common.SyncPhase, _ int, last bool) error {
				if !last {
					time.Sleep(time.Duration(seconds) * time.Second)
				}
				return nil
			}),
		)
		check(err)
		context.Sync()
		phase, message, results = context.GetState()
		done()
		states := map[string]string{}
		for _, each := range results {
			states[each.ResourceKey.Name] = string(each.HookPhase)
		}
		said, err := json.Marshal(map[string]any{"phase": phase, "message": message, "states": states})
		check(err)
		fmt.Println(string(said))
		time.Sleep(200 * time.Millisecond)
	}
}
