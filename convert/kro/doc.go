// Package kro turns ResourceGraphDefinitions of kro into rules and CRDs.
//
// A definition becomes one rule. Its schema becomes a CRD (schema.go), its resources
// children or lookups (resource.go), and its expressions read self in place of schema
// (expression.go).
//
// In kro, an expression that reads an absent field of the instance keeps the instance
// waiting, whatever else it has. Rules say so in validate, so that the author of the
// instance reads which field to set (needs.go). A field that only an optional resource
// reads is tested in the when of the child.
//
// The types of the status come from the expressions in it, as in kro: the rule is checked
// against the schemas of its kinds once it is complete (status.go).
package kro
