// Package loadgen sends requests to a service and accounts for every one of
// them, so that what a client sees of an outage can be trusted.
//
// A [Generator] starts requests in one of three shapes ([Burst], [Hold],
// [Rate]). Each request is one entry of the ledger, is in one state at any
// moment (dialing, sent, streaming) and ends in exactly one [Class]. [Totals],
// [Second] and [Gauge] are computed from these entries; [Totals.Balanced]
// holds for every [Run] that is handed out, and for each single run
// ([Generator.RunTotals]). One [Record] of evidence is handed to the caller for
// every request that ends.
//
// No request is sent twice, redirected or sent through a proxy without being
// told to. HTTP/2 is spoken over single [http.ClientConn] values, which do not
// retry; HTTP/1.1 over connections of the generator's own, since a ClientConn
// takes about twice the CPU for each request (two goroutines a connection, and
// the request written anew each time), and what loads the generator bends the
// times that it measures. By default each request has a connection to itself, which is what
// a service that balances connections (kube-proxy) needs to be seen as it is.
// Peers that have gone silent are found by [KeepAlive].
//
// The gauge puts the ledger beside what the servers say of themselves: backends
// ([Backend]) and proxies before them ([Source]). What is measured, measured in
// part, or estimated is told apart by [Basis]; a server that does not answer
// within 1 s has given no answer, which is not 0.
//
// Memory does not grow with the length of a run: times are kept in histograms
// ([Quantiles]), and seconds up to a limit.
//
// What belongs here: load shapes, the ledger, the classes of failure, the
// streamed-chat client, the gauge and its sources. What does not: watching the
// cluster, switching machines, files, and the screen. The package is handed
// the ways to dial, to reach a pod and to know the backends as plain functions.
package loadgen
