// Package cli is the reconcel command: it reads flags, settings and files,
// runs what they ask for, and prints the answer.
//
// It is the only package that prints or exits. Results go to stdout and
// everything else to stderr. The exit code is 0 for yes, 1 for no (rules that
// are wrong, a resource that cannot be rendered), 2 for a command that was
// used wrongly, and 3 when reconcel could not do its work (a file that cannot
// be read, no cluster to talk to). A rules file that cannot be read is a
// wrong one: a controller told to follow it has nothing to follow.
//
// # Settings
//
// The flags of run are also settings: the flag log-level is RECONCEL_LOG_LEVEL
// in the environment and log-level in reconcel.yaml, and the first of these
// that says something counts. They share one parser, so that a value is right
// or wrong in the same way wherever it stands. viper finds them; it never sees
// a rules file, because it folds the case of keys and splits them at dots.
//
// # diff
//
// diff decides nothing itself. It lists what the rules read, has the engine
// reconcile each primary once (engine.Preview) with a client that turns writes into
// dry runs (internal/dryrun), and prints what was written and why the rest was not.
// Exit code 1 means that there are differences; rules that are wrong are 3 there,
// as with kubectl diff, and 4 means that something is refused or fails.
//
// # render
//
// Rendering needs no cluster. A CRD given with --crd stands in for the API
// server: it says which versions there are, drops unknown fields and fills in
// defaults. It does not check values. The walk over its schema is our own,
// since the API server's comes with half of the API server.
package cli
