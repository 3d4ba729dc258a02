// Package leader lets several processes stand by while one of them writes. It
// knows nothing of rules.
//
// The leader holds a Lease. All processes watch, so that the next leader starts
// writing at once. Election is that of client-go. Its guarantee is not enough: a
// process that was stopped for a while does not notice, and client-go lets it
// write for another ten seconds. So one transport compares every write with the
// time of the last renewal (Candidate.Guard).
//
// A leader that could not renew the Lease in time writes nothing more. It does
// not stand again, since its caches may be old. The process is to end.
//
// A Lease that is renewed does not prove that its holder can do anything else. So
// the term of a leader also ends when all its other requests fail (Work), and a
// process whose requests fail does not stand.
package leader
