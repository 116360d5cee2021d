package simulator

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"lightsout/internal/testenv"
)

// Each patch in testdata/faults reintroduces one fault of the third safety review, by
// its number there. With LIGHTSOUT_FAULTS=1 the test reintroduces and finds each of
// them.

// root is the repository's folder.
const root = "../.."

// patches returns the absolute paths of the faults.
func patches(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/faults/*.patch")
	if err != nil || len(files) == 0 {
		t.Fatal("there are no patches", err)
	}
	for i, f := range files {
		if files[i], err = filepath.Abs(f); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

var patched = regexp.MustCompile(`(?m)^\+\+\+ b/(\S+)`)

// overlay applies a patch to copies of its files. It returns the file that makes the go
// command read the copies, and the folders of the patched packages.
func overlay(t *testing.T, patch string) (file string, packages []string) {
	t.Helper()
	text, err := os.ReadFile(patch)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	replace := map[string]string{}
	for _, m := range patched.FindAllStringSubmatch(string(text), -1) {
		to := filepath.Join(dir, m[1])
		data, err := os.ReadFile(filepath.Join(root, m[1]))
		if err != nil {
			t.Fatal(err)
		}
		from, err := filepath.Abs(filepath.Join(root, m[1]))
		if err == nil {
			err = os.MkdirAll(filepath.Dir(to), 0o700)
		}
		if err == nil {
			err = os.WriteFile(to, data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		replace[from] = to
		if p := filepath.Join(root, filepath.Dir(m[1])); !slices.Contains(packages, p) {
			packages = append(packages, p)
		}
	}
	cmd := exec.Command("git", "apply", "--recount", "-C0", patch)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s does not apply any more: %v\n%s", filepath.Base(patch), err, out)
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	file = filepath.Join(dir, "overlay.json")
	if err == nil {
		err = os.WriteFile(file, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return file, packages
}

// foundBy lists the invariant that each fault breaks.
var foundBy = map[string]invariant{
	"01-evidence-is-dated-by-its-arrival":                         forgotten,
	"02-a-judgement-never-expires":                                workers,
	"03-one-busy-machine-refuses-the-restore-of-all":              silent,
	"04-a-damaged-line-powers-on-what-nobody-named":               named,
	"05-a-lock-holds-up-powering-on":                              silent,
	"06-presumed-off-is-taken-for-proof":                          forgotten,
	"07-a-boot-from-before-it-went-off-settles":                   forgotten,
	"09-an-aborted-trial-waits-for-what-is-busy":                  asked,
	"10-workers-that-take-no-pods-count-as-left":                  workers,
	"11-an-error-window-ends-with-the-last-request-sent":          verdict,
	"12a-a-relative-state-follows-the-working-folder":             returned,
	"12b-the-printed-restore-command-leaves-config-and-state-out": returned,
}

// faultName returns a patch's name in foundBy.
func faultName(patch string) string { return strings.TrimSuffix(filepath.Base(patch), ".patch") }

func TestEachFaultPatchAppliesAndCompiles(t *testing.T) {
	testenv.Long(t, 20)
	for _, p := range patches(t) {
		file, packages := overlay(t, p)
		if out, err := exec.Command("go", append([]string{"build", "-overlay", file}, packages...)...).CombinedOutput(); err != nil {
			t.Errorf("%s does not compile any more: %v\n%s", faultName(p), err, out)
		}
		if foundBy[faultName(p)] == "" {
			t.Errorf("foundBy has no invariant for %s", faultName(p))
		}
	}
}

var failure = regexp.MustCompile(`seed (\d+): (\w+): (.*)`)

// built builds the simulator with a fault, or without one for an empty patch.
func built(t *testing.T, patch string) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "simulator")
	args := []string{"test", "-c", "-o", binary, "."}
	if patch != "" {
		file, _ := overlay(t, patch)
		args = slices.Insert(args, 2, "-overlay", file)
	}
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return binary
}

// search runs sequences of a simulator until one breaks an invariant, and returns its
// seed and the violation; an empty seed if none does.
func search(t *testing.T, binary string, first, sequences string, i invariant) (seed, wrong string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, "-test.run", "TestLightsoutForgetsNoMachine", "-test.v", "-test.timeout", "0")
	cmd.Env = append(os.Environ(), "LIGHTSOUT_SEED="+first, "LIGHTSOUT_SEQUENCES="+sequences, "LIGHTSOUT_FAILURES=1", "LIGHTSOUT_INVARIANTS="+string(i))
	out, err := cmd.CombinedOutput()
	m := failure.FindStringSubmatch(string(out))
	switch {
	case err == nil:
		return "", ""
	case m == nil:
		t.Fatalf("the simulator itself failed: %v\n%s", err, out)
	case m[2] != string(i):
		t.Fatalf("the sequence broke %s, not %s:\n%s", m[2], i, m[0])
	}
	return m[1], m[3]
}

func TestTheSimulatorFindsEachFault(t *testing.T) {
	if os.Getenv("LIGHTSOUT_FAULTS") == "" {
		t.Skip("this builds and runs the simulator once for each fault; set LIGHTSOUT_FAULTS=1")
	}
	sound := built(t, "")
	table := "| fault | breaks | first sequence | violation |\n|---|---|---|---|\n"
	for _, p := range patches(t) {
		name := faultName(p)
		t.Run(name, func(t *testing.T) {
			seed, wrong := search(t, built(t, p), "1", "5000", foundBy[name])
			if seed == "" {
				t.Fatal("not found in 5,000 sequences")
			}
			if _, also := search(t, sound, seed, "1", foundBy[name]); also != "" {
				t.Fatalf("sequence %s also fails without the fault: %s", seed, also)
			}
			table += fmt.Sprintf("| %s | %s | %s | %s |\n", name, foundBy[name], seed, wrong)
		})
	}
	t.Log("\n" + table)
}
