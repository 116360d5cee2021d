package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lightsout/power/driver/exec"
	"lightsout/power/driver/fence"
	"lightsout/power/driver/mdx"
	"lightsout/power/driver/vagrant"
)

// restore runs in any folder, with a config that was written for its own folder.
func TestFilePathsAreRelativeToTheConfigsFolder(t *testing.T) {
	dir := t.TempDir()
	text := `
kubeconfig: kube/config
state: st
ssh: {config: ssh_config, identity_files: [id, ~/.ssh/id, /abs/id, $HOME/id, "${HOME}/id", $UNSET_HERE/id], known_hosts: [known]}
power:
  off_by: exec
  on_by: vagrant
  exec: {state_command: [./state.sh, n1/x], on_command: [virsh, start], off_command: [bin/off]}
  fence: {agent: fence_virsh, secrets: {password: {file: pw}}}
  mdx: {project: p, token_file: token}
load: {url: "https://a/", ca_file: ca.pem, profile: chat, prompts_file: ../prompts, api_key_file: key}
`
	if err := os.WriteFile(filepath.Join(dir, Name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	c, err := Flags{File: filepath.Join(dir, Name), State: "mine"}.Read()
	if err != nil {
		t.Fatal(err)
	}
	s := c.Power.Sections
	for _, f := range [][2]string{
		{c.Kubeconfig, "kube/config"}, {c.SSH.Config, "ssh_config"}, {c.SSH.IdentityFiles[0], "id"}, {c.SSH.KnownHosts[0], "known"},
		{c.Load.CAFile, "ca.pem"}, {filepath.Dir(c.Load.PromptFile), ".."}, {c.Load.APIKeyFile, "key"},
		{s["exec"].(*exec.Options).State[0], "state.sh"}, {s["exec"].(*exec.Options).Off[0], "bin/off"},
		{s["mdx"].(*mdx.Options).TokenFile, "token"}, {s["fence"].(*fence.Options).Kept["password"].File, "pw"},
		{s["vagrant"].(*vagrant.Options).Dir, "."},
	} {
		if want := filepath.Join(dir, f[1]); f[0] != want {
			t.Errorf("%s, not %s", f[0], want)
		}
	}
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	asWritten := []string{c.SSH.IdentityFiles[1], c.SSH.IdentityFiles[2], s["exec"].(*exec.Options).State[1], s["exec"].(*exec.Options).On[0], s["fence"].(*fence.Options).Agent, c.State}
	asWritten = append(asWritten, c.SSH.IdentityFiles[3:]...)
	if got := strings.Join(asWritten, " "); got != home+"/.ssh/id /abs/id n1/x virsh fence_virsh mine "+home+"/id "+home+"/id "+dir+"/$UNSET_HERE/id" {
		t.Error(got)
	}
}
