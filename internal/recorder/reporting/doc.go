// Package reporting tells others what the recorder notices: a command and a webhook hear of outages,
// and an HTTP server answers /healthz and /metrics. Nothing in it delays the recorder.
package reporting
