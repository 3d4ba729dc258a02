// Package faultproxy is a proxy between a controller and the API server for tests. It
// makes requests fail in the ways in which they fail in a real network.
//
//	proxy := faultproxy.Start(t, cluster.UserConfig(t, "reconcel"))
//	proxy.OnWrite(func(w faultproxy.Write) bool {
//		if w.N == 3 && w.Committed {
//			kill(controller) // It wrote, and will never know.
//			return false
//		}
//		return true
//	})
//	controller := start("--kubeconfig", proxy.Kubeconfig(t))
//
// A [Fault] happens to requests, and a [FrameFault] to the events of watches. Both are
// data, so that a test can read them from a file. [Proxy.Freeze] makes the API server lag
// behind, and [Proxy.HideGroup] hides an API group from discovery.
//
// The controller sends plain HTTP to the proxy, on a port of 127.0.0.1. The proxy
// authenticates to the API server as the user of its own configuration, because it cannot
// pass on a client certificate. Use it only in tests: whoever reaches the port acts as
// that user.
//
// A [Link] works on the network below: it holds back or drops data without interpreting
// it.
package faultproxy
