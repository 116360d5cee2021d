package vagrant

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"lightsout/internal/testenv"
	"lightsout/power"
)

// vagrantfile brings a provider whose machines are files, so that the real
// command does everything but run a hypervisor.
const vagrantfile = `
class FileProvider < Vagrant.plugin("2", :provider)
  def self.usable?(raise_error = false) = true
  def initialize(machine) = @machine = machine
  def file = File.join(__dir__, "state." + @machine.name.to_s)
  def state
    id = File.exist?(file) ? File.read(file).strip.to_sym : :not_created
    Vagrant::MachineState.new(id, id.to_s, "a machine that is a file, and " + id.to_s)
  end
  def action(name)
    to = { up: "running", halt: "poweroff" }[name]
    return nil unless to
    path = file
    Vagrant::Action::Builder.new.tap do |b|
      b.use(Class.new do
        define_method(:initialize) { |app, env| @app = app }
        define_method(:call) do |env|
          File.write(path + ".how", env[:force_halt] ? "forced" : "asked")
          File.write(path, to)
          @app.call(env)
        end
      end)
    end
  end
end
class FilePlugin < Vagrant.plugin("2")
  name "files"
  provider(:files, box_optional: true) { FileProvider }
end
Vagrant.configure("2") do |c|
  %w[k8s1 k8s2 k8s3].each { |n| c.vm.define(n) { |m| m.vm.provider :files } }
end
`

func TestTheRealCommand(t *testing.T) {
	if _, err := exec.LookPath("vagrant"); err != nil {
		testenv.Skip(t, "vagrant is not installed")
	}
	testenv.Long(t, 20)
	dir := t.TempDir()
	t.Setenv("VAGRANT_HOME", filepath.Join(dir, "home"))
	t.Setenv("VAGRANT_DEFAULT_PROVIDER", "files")
	for name, text := range map[string]string{"Vagrantfile": vagrantfile, "state.k8s1": "running", "state.k8s2": "running"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d, err := New(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	m, err := d.Find(t.Context(), power.NodeRef{Name: "k8s2"}, "")
	if err != nil {
		t.Fatal(err)
	}
	how := func() string {
		b, _ := os.ReadFile(filepath.Join(dir, "state.k8s2.how"))
		return string(b)
	}
	for _, step := range []struct {
		do    func() error
		state power.State
		how   string
	}{
		{func() error { return nil }, power.On, ""},
		{func() error { return d.Switch(t.Context(), power.ActionShutdown, m) }, power.Off, "asked"},
		{func() error { return d.Switch(t.Context(), power.ActionOn, m) }, power.On, "asked"},
		{func() error { return d.Switch(t.Context(), power.ActionOff, m) }, power.Off, "forced"},
	} {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		r, err := d.State(t.Context(), m)
		if err != nil || r.State != step.state || r.Proof != power.Proven {
			t.Fatalf("the state is %+v, %v, want %s", r, err, step.state)
		}
		if how() != step.how {
			t.Errorf("halted %q, want %q", how(), step.how)
		}
	}
	if r, err := d.State(t.Context(), machine("k8s3")); err != nil || r.State != power.Unknown || !strings.Contains(r.Detail, "not_created") {
		t.Errorf("a machine that was not created is %+v, %v", r, err)
	}
	// Without a Vagrantfile, what Vagrant says is handed on.
	empty, err := New(Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(empty.Close)
	if _, err := empty.State(t.Context(), m); err == nil || !strings.Contains(err.Error(), "NoEnvironmentError") {
		t.Errorf("without a Vagrantfile: %v", err)
	}
}
