// Package server serves a cluster in memory as Kubernetes' API over HTTP, so that kubectl, client-go and what is built
// on it work against it.
//
//	s := server.New(server.Options{Cluster: cluster, Token: token})
//	go s.Run(ctx)             // the controllers
//	http.ServeTLS(listener, s, certificate, key)
//
// Package sim decides what a request does. This package turns paths, bodies and headers into its calls, and adds what
// exists only over HTTP: discovery, OpenAPI, watches, tables, and the strict decoding of fields.
//
// # What is the same
//
//   - JSON and YAML in both directions, tables, and metadata alone. Protobuf is read, and is answered by JSON. A client
//     that accepts nothing else gets 406.
//   - Watches from any resourceVersion of the last changes, with bookmarks and initial events; older ones get 410.
//   - fieldValidation, dryRun, fieldManager and all preconditions.
//   - An Event is the same object in both of its API groups.
//   - A CRD that is created is served as soon as it is established.
//
// # What is different
//
//   - A patch with unknown fields sends no warnings. With the fieldValidation Strict, it is rejected.
//   - OpenAPI v2 describes no kinds. kubectl validates the items of a List by it, and leaves these to the server.
//   - A list has no pages: limit and continue are ignored.
//   - Every client with the token may do everything. Access reviews say so.
//   - Nothing runs: no logs, exec, attach, port-forward, proxy, eviction or binding.
//   - There is no admission, and no aggregated API.
package server
