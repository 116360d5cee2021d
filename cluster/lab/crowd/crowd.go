package crowd

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"

	"lightsout/cluster/lab/controlplane"
)

// Info is where a filled API server is found.
type Info struct {
	Kubeconfig string `json:"kubeconfig"`
	Size
}

// nobody refuses the API server's questions to pods and kubelets.
func nobody(_ context.Context, network, addr string) (net.Conn, error) {
	return nil, &net.OpError{Op: "dial", Net: network, Err: fmt.Errorf("there is nothing behind %s", addr)}
}

// Run starts an API server in a new folder below dir, fills it, tells ready where
// it is, and renews the nodes' Leases until ctx ends. Nothing is left behind.
func Run(ctx context.Context, dir string, size Size, ready func(Info) error) (err error) {
	dir, err = os.MkdirTemp(dir, "crowd-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	control, err := controlplane.Start(ctx, controlplane.Config{Dir: dir, Address: "127.0.0.1", APIOnly: true, Dial: nobody})
	if err != nil {
		return err
	}
	defer control.Close()
	if err := Fill(ctx, control.EtcdEndpoint(), size); err != nil {
		return err
	}
	info := Info{filepath.Join(dir, "kubeconfig"), size}
	server := "https://" + control.LocalAddress()
	if err := clientcmd.WriteToFile(*control.Kubeconfig("crowd", server, controlplane.Admin), info.Kubeconfig); err != nil {
		return err
	}
	if err := Beat(ctx, control.RESTConfig(controlplane.Machines)); err != nil {
		return fmt.Errorf("renew the nodes' leases: %w", err)
	}
	if err := ready(info); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}
