package controlplane

import (
	"os"
	"slices"

	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

// The components, by the names of their programs.
const (
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
)

// Components returns the names of all components, in the order in which they
// are started.
func Components() []string {
	return []string{Etcd, APIServer, ControllerManager, Scheduler}
}

// Main runs a component and exits when the program's first argument names
// one, and otherwise returns. A program (or a TestMain) that calls Start must
// call it first of all: Start executes the program again, as the component.
func Main() {
	if len(os.Args) < 2 || !slices.Contains(Components(), os.Args[1]) {
		return
	}
	os.Args = os.Args[1:]
	switch os.Args[0] {
	case Etcd:
		etcdmain.Main(os.Args)
		os.Exit(0)
	case APIServer:
		os.Exit(cli.Run(apiserver.NewAPIServerCommand()))
	case ControllerManager:
		os.Exit(cli.Run(controllermanager.NewControllerManagerCommand()))
	case Scheduler:
		os.Exit(cli.Run(scheduler.NewSchedulerCommand()))
	}
}
