package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"lightsout/internal/labtest"
	"lightsout/internal/testenv"
)

// A credential plugin asks before the screen opens. Later it has no terminal to ask on: its
// prompts would be on the screen, and the keys would go to both.
func TestACredentialPluginAsksBeforeTheScreenOpens(t *testing.T) {
	testenv.Long(t, 30)
	t.Parallel()
	l := labtest.Lease(t, "vagrant")
	raw, err := clientcmd.LoadFromFile(l.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	{
		user := raw.AuthInfos[raw.Contexts[raw.CurrentContext].AuthInfo]
		credential, err := json.Marshal(map[string]any{
			"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": map[string]any{
				"clientCertificateData": string(user.ClientCertificateData), "clientKeyData": string(user.ClientKeyData),
				"expirationTimestamp": time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)}}) // it is run for each request
		if err != nil {
			t.Fatal(err)
		}
		user.ClientCertificateData, user.ClientKeyData = nil, nil
		plugin := filepath.Join(dir, "plugin")
		testenv.Script(t, plugin, fmt.Sprintf(`#!/bin/sh
cd %s
if [ -e password ]; then
	(printf 'PROMPT' > /dev/tty) 2> /dev/null || echo none > later
else
	printf 'Enter password: ' > /dev/tty; read pw < /dev/tty; echo "$pw" > password
fi
cat credential
`, dir))
		if err := os.WriteFile(filepath.Join(dir, "credential"), credential, 0o600); err != nil {
			t.Fatal(err)
		}
		user.Exec = &clientcmdapi.ExecConfig{APIVersion: "client.authentication.k8s.io/v1", Command: plugin, InteractiveMode: clientcmdapi.IfAvailableExecInteractiveMode}
	}
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := clientcmd.WriteToFile(*raw, kubeconfig); err != nil {
		t.Fatal(err)
	}
	x := openTerminal(t, 160, 50, []string{"HOME=" + t.TempDir()}, fmt.Sprintf("%s --config %s --kubeconfig %s",
		labtest.Program(t, "lightsout"), l.ConfigWith(func(c map[string]any) { c["state"] = t.TempDir() }), kubeconfig))
	x.waitFor("the prompt", time.Minute, `Enter password:`)
	x.keys("b", "b", "Enter")
	s := x.waitFor("the nodes", time.Minute, `k8s2`, `k8s3`)
	if strings.Contains(s, "PROMPT") || strings.Contains(s, "Burst") {
		t.Errorf("the plugin is on the screen, or its password went to it:\n%s", s)
	}
	for name, want := range map[string]string{"password": "bb\n", "later": "none\n"} {
		until(t, name+" has "+want, func() bool { // a later run of the plugin writes it anew
			text, _ := os.ReadFile(filepath.Join(dir, name))
			return string(text) == want
		})
	}
}
