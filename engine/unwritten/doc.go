// Package unwritten has the changes that a dry run would make.
//
// A dry run does not send its writes, so the cluster never answers them, and each reconciliation wants them
// again. Changes keeps what the last reconciliation of each primary wants: a change that stays the same counts
// once.
package unwritten
