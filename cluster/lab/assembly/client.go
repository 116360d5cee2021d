package assembly

import (
	"bytes"
	"fmt"
	"net"
	"strings"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"lightsout/cluster/lab/controlplane"
	"lightsout/cluster/lab/scenario"
)

// user is the account on the bastion and on every machine.
const user = "mdxuser"

// The names of the files for the client, in the lab's folder.
const (
	configFile     = "lightsout.yaml"
	kubeconfigFile = "kubeconfig"
	sshConfigFile  = "ssh_config"
	knownHostsFile = "known_hosts"
	identityFile   = "id_ed25519"
	tokenFile      = "mdx-token"
	apiKeyFile     = "api-key"
	stateDir       = "state"
)

// writeClient writes everything that a client needs.
func (l *Lab) writeClient(hostKeys map[string]ssh.PublicKey) error {
	config, err := yaml.Marshal(l.config())
	if err != nil {
		return err
	}
	cluster := l.control.Kubeconfig(l.scenario.Context, "https://"+l.scenario.APIServer,
		controlplane.Admin, controlplane.Viewer, controlplane.Nobody)
	kubeconfig, err := clientcmd.Write(*cluster)
	if err != nil {
		return err
	}
	files := map[string][]byte{
		configFile:            append([]byte("# How lightsout reaches this lab. Written by lightsout-lab.\n"), config...),
		kubeconfigFile:        kubeconfig,
		sshConfigFile:         l.sshConfig(),
		knownHostsFile:        l.knownHosts(hostKeys),
		identityFile:          l.identity.Private,
		identityFile + ".pub": l.identity.Public,
		tokenFile:             []byte(l.token + "\n"),
	}
	if key := l.scenario.Load.APIKey; key != "" {
		files[apiKeyFile] = []byte(key + "\n")
	}
	for name, data := range files {
		if err := l.folder.write(name, data); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	return nil
}

// config returns the content of lightsout.yaml.
func (l *Lab) config() map[string]any {
	s := l.scenario
	nodes := map[string]any{}
	for _, m := range s.Machines {
		nodes[m.Name] = map[string]any{
			"machine": m.Name, "address": m.IP, "service_level": m.ServiceLevel, "off_by": "ssh", "on_by": "mdx",
		}
	}
	load := map[string]any{
		"url": s.Load.URL, "profile": s.Load.Profile, "timeout": s.Load.Timeout.String(),
		"deployment": s.Load.Deployment, "burst": s.Load.Burst, "hold": s.Load.Hold,
	}
	for name, value := range map[string]string{"host": s.Load.Host, "model": s.Load.Model, "prompt": s.Load.Prompt} {
		if value != "" {
			load[name] = value
		}
	}
	if s.Load.MaxTokens > 0 { // a chat: its front is always there, and busy with all of the lab
		load["max_tokens"], load["connect_timeout"] = s.Load.MaxTokens, "15s"
	}
	if s.Load.APIKey != "" {
		load["api_key_file"] = l.folder.in(apiKeyFile)
	}
	return map[string]any{
		"context":    s.Context,
		"kubeconfig": l.folder.in(kubeconfigFile),
		"namespaces": l.namespaces(),
		"bastion":    user + "@" + l.Bastion(),
		"pace":       string(s.Pace),
		"ssh": map[string]any{
			"config":         l.folder.in(sshConfigFile),
			"user":           user,
			"identity_files": []string{l.folder.in(identityFile)},
			"known_hosts":    []string{l.folder.in(knownHostsFile)},
			"shutdown":       "sudo -n shutdown -h now",
		},
		"power": map[string]any{
			"off_by": "ssh", "on_by": "mdx",
			"mdx": map[string]any{
				"url": "http://" + portalIP, "project": projectName,
				"token_file": l.folder.in(tokenFile), "via_bastion": true,
				"plain_http": true, // within one process
			},
			"nodes": nodes,
		},
		"load":  load,
		"state": l.folder.in(stateDir),
	}
}

// namespaces are the namespaces that a client watches: the workload's, and that of
// Knative's activators, which report the number of waiting requests.
func (l *Lab) namespaces() []string {
	if l.scenario.Serving {
		return []string{"default", scenario.ServingNamespace}
	}
	return []string{"default"}
}

// sshConfig returns a file for ssh -F: the machines by name or address,
// through the host "bastion".
func (l *Lab) sshConfig() []byte {
	host, port, _ := net.SplitHostPort(l.Bastion())
	var b bytes.Buffer
	fmt.Fprintf(&b, "Host bastion\n  HostName %s\n  Port %s\n\n", host, port)
	var all []string
	for _, m := range l.scenario.Machines {
		fmt.Fprintf(&b, "Host %s\n  HostName %s\n\n", m.Name, m.IP)
		all = append(all, m.Name, m.IP)
	}
	fmt.Fprintf(&b, "Host %s\n  ProxyJump bastion\n\n", strings.Join(all, " "))
	fmt.Fprintf(&b, "Host *\n  User %s\n  IdentityFile %q\n  IdentitiesOnly yes\n  UserKnownHostsFile %q\n  StrictHostKeyChecking yes\n",
		user, l.folder.in(identityFile), l.folder.in(knownHostsFile))
	return b.Bytes()
}

// knownHosts returns the host keys of the bastion and of the machines, by
// name and by address.
func (l *Lab) knownHosts(keys map[string]ssh.PublicKey) []byte {
	var b bytes.Buffer
	fmt.Fprintln(&b, knownhosts.Line([]string{knownhosts.Normalize(l.Bastion())}, keys[bastionName]))
	for _, m := range l.scenario.Machines {
		fmt.Fprintln(&b, knownhosts.Line([]string{m.Name, m.IP}, keys[m.Name]))
	}
	return b.Bytes()
}
