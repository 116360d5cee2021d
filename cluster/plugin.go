package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// PluginArg is the first argument of the program when it is to become a credential plugin:
// see Plugin.
const PluginArg = "become-credential-plugin"

// execInfo is the variable by which client-go tells a plugin whether it may ask.
const execInfo = "KUBERNETES_EXEC_INFO"

// Plugin becomes the credential plugin of these arguments, and returns an exit code if that
// fails. The plugin gets the terminal if nothing else has it; otherwise it has none, so that
// it can neither draw on the screen nor take its keys. On Linux it ends when this program does.
func Plugin(argv []string) int {
	path, err := exec.LookPath(argv[0])
	env := os.Environ()
	if err == nil && !terminalIsFree() {
		env, err = withoutTerminal(env)
	}
	if err == nil {
		err = endWithParent()
	}
	if err == nil {
		err = syscall.Exec(path, argv, env)
	}
	fmt.Fprintf(os.Stderr, "the credential plugin %s can't be run: %s\n", argv[0], flat(err))
	return 1
}

// terminalIsFree reports whether standard input is a terminal that reads lines, and this
// process may read them: a program that draws a screen reads single keys.
func terminalIsFree() bool {
	mode, err := unix.IoctlGetTermios(0, getTermios)
	if err != nil || mode.Lflag&unix.ICANON == 0 {
		return false
	}
	group, err := unix.IoctlGetInt(0, unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// withoutTerminal gives this process a session of its own, and tells the plugin by its
// environment that nobody can answer.
func withoutTerminal(env []string) ([]string, error) {
	if _, err := unix.Setsid(); err != nil && !errors.Is(err, unix.EPERM) { // EPERM: it leads its group
		return nil, err
	}
	null, err := os.Open(os.DevNull)
	if err == nil {
		err = unix.Dup2(int(null.Fd()), 0)
	}
	if err != nil {
		return nil, err
	}
	for i, v := range env {
		text, is := strings.CutPrefix(v, execInfo+"=")
		var info map[string]any
		if !is || json.Unmarshal([]byte(text), &info) != nil {
			continue
		}
		if spec, ok := info["spec"].(map[string]any); ok {
			spec["interactive"] = false
		}
		if changed, err := json.Marshal(info); err == nil {
			env[i] = execInfo + "=" + string(changed)
		}
	}
	return env, nil
}

// errLoggedIn ends the request of LogIn, which is not sent.
var errLoggedIn = errors.New("the credentials are there")

// logInKey is the context key of a request that is only to get its credentials.
type logInKey struct{}

// LogIn runs the kubeconfig's credential plugin if it may ask something, as long as the
// terminal is free: client-go keeps its answer until it expires. It sends nothing, and waits
// until the plugin ends or ctx does. Calls that fail later give the reason.
func (c *Client) LogIn(ctx context.Context) {
	p := c.cfg.rest.ExecProvider
	if p == nil || p.InteractiveMode == clientcmdapi.NeverExecInteractiveMode || !terminalIsFree() {
		return
	}
	_ = c.get().AbsPath("/version").Do(context.WithValue(ctx, logInKey{}, true)).Error()
}

// gettingCredentials begins client-go's errors about a plugin.
const gettingCredentials = "getting credentials: "

// plugin is the credential plugin of a kubeconfig, which client-go runs by way of Plugin.
type plugin struct{ command, self string }

// newPlugin has client-go run a credential plugin by way of Plugin. A plugin that is not
// there stays as it is: client-go's error has the kubeconfig's hint for it.
func newPlugin(c *clientcmdapi.ExecConfig) *plugin {
	self, err := os.Executable()
	if _, missing := exec.LookPath(c.Command); err != nil || missing != nil {
		return nil
	}
	p := &plugin{command: c.Command, self: self}
	c.Command, c.Args = self, append([]string{PluginArg, p.command}, c.Args...)
	return p
}

// wrap makes client-go's errors name the plugin.
func (p *plugin) wrap(rt http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		resp, err := rt.RoundTrip(r)
		if err != nil && strings.Contains(err.Error(), gettingCredentials) {
			err = errors.New(strings.ReplaceAll(err.Error(), p.self, p.command))
		}
		return resp, err
	})
}
