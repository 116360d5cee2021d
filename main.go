// Command lightsout switches Kubernetes nodes off and on, shows what the
// cluster and the service do meanwhile, and keeps the record.
package main

import (
	"os"

	"lightsout/internal/cli"
)

// version is set by the linker.
var version = "dev"

func main() { os.Exit(cli.Main(version)) }
