// Package vagrant is the power driver for the machines of a Vagrantfile, by the
// vagrant command and its machine-readable output
// (https://developer.hashicorp.com/vagrant/docs/cli/machine-readable).
//
// "vagrant halt" asks the guest first and pulls the plug when it does not obey;
// "vagrant halt -f" pulls it at once; "vagrant up" powers on. They lock the
// machine and refuse to wait for each other, so that one of them runs at a time
// for each Vagrantfile. A status takes a second or more, and tells all machines.
//
// Here may live what concerns that command. What may not: creating or
// destroying machines.
package vagrant
