// The scheduler of sites with gangs and limits: kube-scheduler with two more plugins.
package main

import (
	"os"

	"github.com/pfnet/scheduler-plugins/plugins/gang"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	"k8s.io/kubernetes/cmd/kube-scheduler/app"
)

func main() {
	command := app.NewSchedulerCommand(
		app.WithPlugin(throttlerName, newThrottler),
		app.WithPlugin(gang.PluginName, gang.NewPlugin),
	)
	os.Exit(cli.Run(command))
}
