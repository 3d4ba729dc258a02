// Package cli is the reconcel command: it reads flags, settings and files,
// runs what they ask for, and prints the answer.
//
// It is the only package that prints or exits. Results go to stdout, and everything
// else goes to stderr. The exit codes are:
//
//   - 0: yes
//   - 1: no, such as invalid rules, or a resource that cannot be rendered
//   - 2: the command line is wrong
//   - 3: reconcel failed, such as on an unreadable file or without a cluster
//   - 4: diff or plan found a write that is rejected, or something that fails
//
// For diff and plan, 1 means that there are differences, and invalid rules are 3, as with
// kubectl diff.
//
// A rules file that cannot be read counts as invalid rules, because a controller
// could not run it.
//
// # Commands
//
// Each command has a file and a type of its own. The fields of the type are what the
// command uses: a printer for its answer, a loader for the files that it reads, a completer
// for the words that a shell completes, a repeater for -w. None of them knows a command.
//
// # Settings
//
// The flags of run are also settings. The flag log-level is RECONCEL_LOG_LEVEL in
// the environment and log-level in reconcel.yaml; the flag wins, then the
// environment. All three share one parser, so that they accept the same values.
// viper finds the settings. It never reads a rules file, because it folds the case
// of keys and splits them at dots.
//
// # render
//
// Rendering needs no cluster. A CRD given with --crd replaces the API server: it
// lists the versions, prunes unknown fields and sets defaults. It does not validate
// values. reconcel walks the schema with its own code, because the API server's
// code has too many dependencies.
package cli
