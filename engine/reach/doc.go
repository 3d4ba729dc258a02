// Package reach knows whether a process can use the API server.
//
// A Lease that is renewed proves only that a process can write Leases. One whose other
// requests all fail, because its network, TLS or credentials are broken, would keep the
// Lease and do nothing, while a standby could work. A Monitor sees the requests for everything
// but the Lease. Any answer counts as a success, also 403, 429 and 500: another process would
// get it, too. A 401 does not: credentials differ between processes.
package reach
