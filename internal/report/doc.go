// Package report turns a trial's record into something to read and to keep:
// Markdown, one self-contained HTML page with a picture, plain lines
// for a terminal, and tables that set several records side by side.
//
// Everything here is a pure function of a record.Record or record.Summary: the same
// record gives the same bytes, it uses no clock, network or file, and judges and
// forecasts nothing again. It only computes how far an observation is from its
// forecast.
//
// factsOf reads the outages out of a record (nodes.go, clients.go, workloads.go); opening.go makes
// the sentences of them and facttables.go the tables, for every format.
//
// A record may hold anything: it comes from a cluster, from servers and
// machines, or from a folder that somebody sent. So every string passes through
// clean before it is used, and is then escaped for the format that it goes to.
//
// The package may import package record and the value types of cluster, power
// and loadgen, and nothing above them.
package report
