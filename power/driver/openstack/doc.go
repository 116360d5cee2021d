// Package openstack is the power driver for servers of an OpenStack cloud, by
// Nova's actions os-start and os-stop. Credentials come from where OpenStack's
// own commands take them: clouds.yaml, or the environment variables OS_*.
//
// os-stop asks the guest to shut down and pulls the plug when it has not after
// a while (Nova's shutdown_timeout, a minute by default). There is no action
// that pulls it at once.
//
// Here may live what concerns Nova's power actions and what they need of
// Keystone. What may not: any other service of OpenStack.
package openstack
