//go:build !race

package testenv

// Race: data races are looked for, in the tests and in the programs they run.
const Race = false
