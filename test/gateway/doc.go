// Package gateway is a server in front of an API server for tests. Clients reach it as
// they reach API servers: over TLS with a certificate of its own, and with credentials
// that it checks on each request.
//
//	tokens := &gateway.Tokens{}
//	g := gateway.Start(t, cluster.UserConfig(t, "reconcel"), gateway.Options{Identify: tokens.Identify})
//	kubeconfig := g.Kubeconfig(t, func(_ *api.Cluster, user *api.AuthInfo) { user.Token = tokens.Issue(time.Hour) })
//
// The gateway forwards requests as the user of its own configuration. Use it only in
// tests: whoever satisfies it acts as that user.
//
// It breaks the network below the requests: [Gateway.Swallow], [Gateway.Cut] and
// [Gateway.Renew]. To make single requests fail, put a faultproxy.Proxy behind it.
//
// [Credentials] is a server from which an exec plugin gets tokens and certificates, and
// [Tunnel] is an HTTP proxy for the proxy-url of a kubeconfig.
package gateway
