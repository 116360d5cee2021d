// Package driver brings the power drivers into the program: each has a folder
// here and a line below, and registers itself (power.Register) with its section
// of the configuration, of which example.yaml there is the example. What drivers
// share is in power/internal, and what each must pass in power/powertest.
package driver

import (
	"embed"

	_ "lightsout/power/driver/exec"
	_ "lightsout/power/driver/fence"
	_ "lightsout/power/driver/ipmi"
	_ "lightsout/power/driver/mdx"
	_ "lightsout/power/driver/openstack"
	_ "lightsout/power/driver/redfish"
	_ "lightsout/power/driver/vagrant"
	_ "lightsout/power/driver/wol"
	_ "lightsout/power/ssh"
)

//go:embed */example.yaml
var examples embed.FS

// Example shows a driver's section with every field and a word on each, as YAML,
// and below "nodes:" the fields of nodes that no other driver shows. It is empty
// for a driver without a folder here.
func Example(name string) string {
	text, _ := examples.ReadFile(name + "/example.yaml")
	return string(text)
}
