// Package portal is the lab's power API: an HTTP server that speaks as much of
// the REST API of mdx (https://mdx.jp) as its public clients use: projects,
// paged lists of virtual machines, their details, power_on, shutdown,
// power_off, tasks and the refresh of tokens.
//
// The API has no public specification. Paths, bodies and states follow the
// client of the National Institute of Informatics
// (nii-gakunin-cloud/mdx-rest-client-python) and mdx-cli (aida0710/mdx-cli);
// what neither shows (the bodies of errors) is in the style of Django REST
// framework, which the API's pages and messages suggest.
//
// It also does, on request, what a real portal does on bad days: see Fault.
// What a machine is comes in as an interface; nothing here knows Kubernetes.
package portal
