// Package faultproxy stands between a controller and the API server in tests,
// and lets requests go wrong as they may go wrong in a real network.
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
// The controller talks to the proxy in plain HTTP, on a port of 127.0.0.1. To the
// API server the proxy is the user whose configuration it was started with, for
// a client certificate cannot be passed on. That is why it is for tests only:
// whoever reaches the port is that user.
//
// A [Link] does the same to the network below: it holds back or loses what is
// sent, without a look into it.
package faultproxy
