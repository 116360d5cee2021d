// Package simulator runs lightsout's switching in virtual time against a hostile world,
// and checks that it forgets no machine and switches none by an outdated judgement.
//
// A seed determines a sequence. In it operators at screens, people at shells, and
// trials with and without clients switch machines through the program's own packages
// session, trial, power, record, loadgen and config. The API server, the machines,
// their drivers, the disks and the other accounts are simulated. invariants_test.go has
// the invariants.
//
//	LIGHTSOUT_SEQUENCES   how many sequences are tried (200)
//	LIGHTSOUT_SEED        the first one's seed (1)
//	LIGHTSOUT_FAILURES    how many may fail before the search ends (1)
//	LIGHTSOUT_INVARIANTS  checks only these, by their names
//	LIGHTSOUT_STORY       1 shows the whole story of a sequence that fails
//	LIGHTSOUT_FAULTS      1 puts each fault of testdata/faults back and finds it
//
// It also runs the recorder beside a cluster of its own, which writes to an API server
// whose connections are pipes: the recorder's watcher, session and generator are the
// program's. Every outage must be in one record, and quiet hours in none
// (recorder_test.go).
//
//	LIGHTSOUT_HOURS       how many hours pass (1); 50 outages happen in 24
//	LIGHTSOUT_SEED        the seed (by the clock; the test prints it)
package simulator
