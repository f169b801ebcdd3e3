// Command kubelet_managers makes the kubelet's managers of topology, processors and memory for a
// host that is a table in its input: real code, and no hardware.
//
// Usage: kubelet_managers < script.json
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"time"

	cadvisor "github.com/google/cadvisor/info/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/kubelet/config/v1beta1"
	internal "k8s.io/kubernetes/pkg/kubelet/apis/config"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/memorymanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/utils/cpuset"
)

// Script is a kubelet's configuration, and the host that it is for.
type Script struct {
	Configuration v1beta1.KubeletConfiguration
	NumaNodes     int
	Cores         int
	MemoryGiB     uint64
}

func main() {
	var script Script
	if err := json.NewDecoder(os.Stdin).Decode(&script); err != nil {
		fmt.Println("input:", err)
		os.Exit(2)
	}
	if err := makeManagers(script); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("started")
}

func host(script Script) *cadvisor.MachineInfo {
	cores := script.Cores / script.NumaNodes
	info := &cadvisor.MachineInfo{
		NumCores: 2 * script.Cores, NumPhysicalCores: script.Cores, NumSockets: script.NumaNodes,
		MemoryCapacity: script.MemoryGiB << 30,
	}
	for node := 0; node < script.NumaNodes; node++ {
		found := cadvisor.Node{Id: node, Memory: info.MemoryCapacity / uint64(script.NumaNodes)}
		for core := 0; core < cores; core++ {
			id := node*cores + core
			threads := []int{id, id + script.Cores}
			found.Cores = append(found.Cores, cadvisor.Core{Id: core, SocketID: node, Threads: threads})
		}
		for other := 0; other < script.NumaNodes; other++ {
			found.Distances = append(found.Distances, 10)
		}
		info.Topology = append(info.Topology, found)
	}
	return info
}

func makeManagers(script Script) error {
	given, info := script.Configuration, host(script)
	policy, scope := given.TopologyManagerPolicy, given.TopologyManagerScope
	if policy == "" {
		policy = topologymanager.PolicyNone
	}
	if scope == "" {
		scope = "container"
	}
	topology, err := topologymanager.NewManager(info.Topology, policy, scope, given.TopologyManagerPolicyOptions)
	if err != nil {
		return err
	}
	reserved := map[string]string{}
	for name, value := range given.SystemReserved {
		reserved[name] = value
	}
	cpus, err := cpuset.Parse(given.ReservedSystemCPUs)
	if err != nil {
		return err
	}
	if cpus.Size() > 0 {
		reserved["cpu"] = strconv.Itoa(cpus.Size())
	}
	cpu, err := resource.ParseQuantity(reserved["cpu"])
	if err != nil {
		return err
	}
	memory, err := resource.ParseQuantity(reserved["memory"])
	if err != nil {
		return err
	}
	evicting, err := resource.ParseQuantity(given.EvictionHard["memory.available"])
	if err != nil {
		return err
	}
	memory.Add(evicting)
	kept := v1.ResourceList{v1.ResourceCPU: cpu, v1.ResourceMemory: memory}
	folder, err := os.MkdirTemp("", "kubelet-managers")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	cpuPolicy, memoryPolicy := given.CPUManagerPolicy, given.MemoryManagerPolicy
	if cpuPolicy == "" {
		cpuPolicy = "none"
	}
	if memoryPolicy == "" {
		memoryPolicy = "None"
	}
	_, err = cpumanager.NewManager(cpuPolicy, given.CPUManagerPolicyOptions, time.Second, info, cpus, kept, folder, topology)
	if err != nil {
		return err
	}
	var memories []internal.MemoryReservation
	for _, each := range given.ReservedMemory {
		memories = append(memories, internal.MemoryReservation{NumaNode: each.NumaNode, Limits: each.Limits})
	}
	_, err = memorymanager.NewManager(context.Background(), memoryPolicy, info, kept, memories, folder, topology)
	return err
}
