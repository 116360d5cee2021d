// Package powertest is what every power driver must pass, whatever it
// switches: the promises of power.Driver, put to the test on a real driver and
// a world that the test can inspect from the other side.
//
// Here may live what holds for all drivers. What may not: anything that one
// driver alone does, which is tested next to it.
package powertest
