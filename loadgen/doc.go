// Package loadgen sends requests to a service and accounts for every one of them, so
// that its view of an outage is reliable.
//
// A [Generator] starts requests in one of three shapes ([Burst], [Hold],
// [Rate]). Each request is one entry of the ledger, is in one state at any
// moment (dialing, sent, streaming) and ends in exactly one [Class]. [Totals],
// [Second] and [Gauge] are computed from these entries; [Totals.Balanced]
// holds for every [Run] that is handed out, and for each single run
// ([Generator.Result]). A request that ends feeds four places: the caller, by one [Record]
// of evidence; its run's [RunSum]; its [Second] of the series; and the durations of all. Callers note
// the Record in a [Window] or [Spells] of their own. All other numbers are queries on these.
//
// The generator sends a request again only if the server proves that it has not processed it
// (HTTP/2): it stays one entry with one class. It sends none
// through a proxy; a redirect is an answer like any other. It speaks HTTP/2 over single [http.ClientConn] values, which do not
// retry, and HTTP/1.1 over connections of its own: a ClientConn uses about twice the CPU
// for each request (it has two goroutines per connection, and formats every request again),
// and CPU use distorts the times that the generator measures. By default each request has a
// connection to itself, so that a service that balances connections (kube-proxy) spreads
// the requests. [KeepAlive] detects peers that have gone silent.
//
// The gauge compares the ledger with the servers' own reports: backends ([Backend]) and
// proxies in front of them ([Source]). [Basis] distinguishes measured, partly measured
// and estimated numbers; a server that does not answer within 1 s has given no answer,
// which is not 0.
//
// Memory does not grow with the length of a run: times are kept in histograms
// ([Quantiles]), and seconds up to a limit.
//
// What belongs here: load shapes, the ledger, the classes of failure, the
// streamed-chat client, the gauge and its sources. What does not: watching the
// cluster, switching machines, files, and the screen. The package is handed
// the ways to dial, to reach a pod and to know the backends as plain functions.
package loadgen
