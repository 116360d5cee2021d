// Package house holds the tests of the repository itself: which package may
// import which, and that what the documents name is there.
package house
