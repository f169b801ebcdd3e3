package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	throttles "github.com/everpeace/kube-throttler/pkg/apis/schedule/v1alpha1"
	"github.com/everpeace/kube-throttler/pkg/controllers"
	"github.com/everpeace/kube-throttler/pkg/generated/clientset/versioned"
	"github.com/everpeace/kube-throttler/pkg/generated/informers/externalversions"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/utils/clock"
)

// throttlerName is the plugin's name in the profile and in pluginConfig.
const throttlerName = "kube-throttler"

const (
	resync          = 5 * time.Minute
	defaultInterval = 15 * time.Second
	defaultWorkers  = 4
)

// throttlerArgs has the spelling of kube-throttler 1.7.4, so that one configuration fits both.
type throttlerArgs struct {
	Name                string        `json:"name"`
	Kubeconfig          string        `json:"kubeconfig"`
	TargetSchedulerName string        `json:"targetSchedulerName"`
	GroupNameAnnotation string        `json:"groupNameAnnotation"`
	Interval            time.Duration `json:"reconcileTemporaryThresholdInterval"`
	Workers             int           `json:"controllerThrediness"`
	KeyMutexes          int           `json:"numKeyMutex"`
}

// throttler is the part of kube-throttler that the scheduler calls. What counts, reserves and
// writes the status of throttles are kube-throttler's own controllers.
type throttler struct {
	handle     framework.Handle
	namespaced *controllers.ThrottleController
	wide       *controllers.ClusterThrottleController
	group      string
}

var (
	_ framework.PreFilterPlugin   = &throttler{}
	_ framework.ReservePlugin     = &throttler{}
	_ framework.EnqueueExtensions = &throttler{}
)

func newThrottler(
	ctx context.Context, configuration runtime.Object, handle framework.Handle,
) (framework.Plugin, error) {
	args := throttlerArgs{Interval: defaultInterval, Workers: defaultWorkers}
	if err := frameworkruntime.DecodeInto(configuration, &args); err != nil {
		return nil, fmt.Errorf("arguments of %s: %w", throttlerName, err)
	}
	if args.Name == "" || args.TargetSchedulerName == "" {
		return nil, fmt.Errorf("arguments of %s: name and targetSchedulerName are needed", throttlerName)
	}
	config, err := clientcmd.BuildConfigFromFlags("", args.Kubeconfig)
	if err != nil {
		return nil, err
	}
	client, err := versioned.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	core, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	own := externalversions.NewSharedInformerFactory(client, resync)
	// The controllers index pods by namespace, which the scheduler's own informer does not.
	shared := informers.NewSharedInformerFactory(core, resync)
	kinds, pods := own.Schedule().V1alpha1(), shared.Core().V1().Pods()
	found := &throttler{handle: handle, group: args.GroupNameAnnotation}
	found.namespaced = controllers.NewThrottleController(
		args.Name, args.TargetSchedulerName, args.Interval, *client,
		kinds.Throttles(), pods, clock.RealClock{}, args.Workers, args.KeyMutexes,
	)
	found.wide = controllers.NewClusterThrottleController(
		args.Name, args.TargetSchedulerName, args.Interval, *client,
		kinds.ClusterThrottles(), pods, shared.Core().V1().Namespaces(), clock.RealClock{},
		args.Workers, args.KeyMutexes,
	)
	own.Start(ctx.Done())
	shared.Start(ctx.Done())
	for kind, synced := range own.WaitForCacheSync(ctx.Done()) {
		if !synced {
			return nil, fmt.Errorf("%s: %v cannot be read", throttlerName, kind)
		}
	}
	for kind, synced := range shared.WaitForCacheSync(ctx.Done()) {
		if !synced {
			return nil, fmt.Errorf("%s: %v cannot be read", throttlerName, kind)
		}
	}
	if err := found.namespaced.Start(ctx.Done()); err != nil {
		return nil, err
	}
	return found, found.wide.Start(ctx.Done())
}

// Name implements framework.Plugin.
func (t *throttler) Name() string { return throttlerName }

// PreFilter holds a pod whose requests would exceed a throttle. The status is one for which the
// scheduler does not preempt: no pod that ended would help a limit.
func (t *throttler) PreFilter(
	_ context.Context, _ fwk.CycleState, pod *v1.Pod, _ []fwk.NodeInfo,
) (*framework.PreFilterResult, *fwk.Status) {
	active, insufficient, exceeded, _, err := t.namespaced.CheckThrottled(pod, false)
	if err != nil {
		return nil, fwk.AsStatus(err)
	}
	wideActive, wideInsufficient, wideGroup, wideExceeded, _, err := t.wide.CheckThrottled(
		pod, false, t.group,
	)
	if err != nil {
		return nil, fwk.AsStatus(err)
	}
	var reasons []string
	say := func(kind string, status throttles.CheckThrottleStatus, names []string) {
		if len(names) > 0 {
			reasons = append(reasons, fmt.Sprintf("%s[%s]=%s", kind, status, strings.Join(names, ",")))
		}
	}
	tooMuch := append(wideNames(wideExceeded), namespacedNames(exceeded)...)
	say("clusterthrottle", throttles.CheckThrottleStatusPodRequestsExceedsThreshold, wideNames(wideExceeded))
	say("throttle", throttles.CheckThrottleStatusPodRequestsExceedsThreshold, namespacedNames(exceeded))
	say("clusterthrottle", throttles.CheckThrottleStatusActive, wideNames(wideActive))
	say("throttle", throttles.CheckThrottleStatusActive, namespacedNames(active))
	say("clusterthrottle", throttles.CheckThrottleStatusInsufficient, wideNames(wideInsufficient))
	say("clusterthrottle", throttles.CheckThrottleStatusInsufficientIncludingPodGroup, wideNames(wideGroup))
	say("throttle", throttles.CheckThrottleStatusInsufficient, namespacedNames(insufficient))
	if len(reasons) == 0 {
		return nil, nil
	}
	if len(tooMuch) > 0 {
		t.handle.EventRecorder().Eventf(
			pod, nil, v1.EventTypeWarning, "ResourceRequestsExceedsThrottleThreshold", throttlerName,
			"The pod alone requests more than these limits allow, so it never starts: %s",
			strings.Join(tooMuch, ","),
		)
	}
	return nil, fwk.NewStatus(fwk.UnschedulableAndUnresolvable, reasons...)
}

// PreFilterExtensions implements framework.PreFilterPlugin; there are none.
func (t *throttler) PreFilterExtensions() framework.PreFilterExtensions { return nil }

// Reserve counts a pod from now on, long before the API server knows its node: pods of a gang that
// wait for the others count too.
func (t *throttler) Reserve(_ context.Context, _ fwk.CycleState, pod *v1.Pod, _ string) *fwk.Status {
	if err := t.namespaced.Reserve(pod); err != nil {
		return fwk.AsStatus(err)
	}
	if err := t.wide.Reserve(pod); err != nil {
		return fwk.AsStatus(err)
	}
	return nil
}

// Unreserve counts a pod no longer; the scheduler calls it for all plugins where one of them fails.
func (t *throttler) Unreserve(_ context.Context, _ fwk.CycleState, pod *v1.Pod, _ string) {
	if err := t.namespaced.UnReserve(pod); err != nil {
		klog.ErrorS(err, "A throttle still counts a pod that has no node", "pod", klog.KObj(pod))
	}
	if err := t.wide.UnReserve(pod); err != nil {
		klog.ErrorS(err, "A cluster throttle still counts a pod that has no node", "pod", klog.KObj(pod))
	}
}

// EventsToRegister are the changes after which a pod that was held is looked at again.
func (t *throttler) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	kind := func(plural string) fwk.EventResource {
		version := throttles.SchemeGroupVersion
		return fwk.EventResource(fmt.Sprintf("%s.%s.%s", plural, version.Version, version.Group))
	}
	var found []fwk.ClusterEventWithHint
	for _, each := range []fwk.EventResource{
		fwk.Node, fwk.Pod, kind("throttles"), kind("clusterthrottles"),
	} {
		event := fwk.ClusterEvent{Resource: each, ActionType: fwk.All}
		found = append(found, fwk.ClusterEventWithHint{Event: event})
	}
	return found, nil
}

func namespacedNames(of []throttles.Throttle) []string {
	var names []string
	for _, each := range of {
		names = append(names, each.Namespace+"/"+each.Name)
	}
	return names
}

func wideNames(of []throttles.ClusterThrottle) []string {
	var names []string
	for _, each := range of {
		names = append(names, "/"+each.Name)
	}
	return names
}
