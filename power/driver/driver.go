// Package driver brings the power drivers into the program: each has a folder
// here and a line below, and registers itself (power.Register) with its section
// of the configuration. What drivers share is in power/internal, and what each
// must pass in power/internal/powertest.
package driver

import (
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
