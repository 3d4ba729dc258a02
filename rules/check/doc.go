// Package check finds mistakes in rules by what the schemas of the kinds that
// they mention have to say about them.
//
//	found := check.Check(file, set, complaints)
//
// Every expression gets a type, and so does every value that a template, patch
// or status puts somewhere. What cannot be is an error: a field that does not
// exist, a value of another type, a required field that is missing. What may go
// wrong for some objects is a warning: a field of the primary that may be
// absent, read in a way that fails then. A kind without a schema is not
// checked, which is noted.
//
// Rules that do not load are checked as well, as far as they can be understood,
// so that all mistakes are said at once (damage.go). What loading has complained
// about is of any type and is not mentioned again, and nothing is said that may
// only follow from it.
//
// # Types
//
// The type checker is CEL's own. Each object of a schema is a type of its own,
// shared where schemas refer to the same definition (types.go). A map of let
// is such a type too, with the fields that it is seen to have (data.go). CEL
// does not let these stand where it wants maps, which at run time they are; so
// an expression that fails is looked at again with them, and with map
// literals, declared to be of any type (rewrite.go). What is wrong without
// regard to that is wrong still.
//
// A value is held against the schema of its place (walk.go, fits.go): literals
// as they stand, expressions by their types. Expressions that are built from
// parts are followed to these: both branches of a choice, the entries of a map
// literal, the data of a let.
//
// # Guards
//
// A plain step to a field that a schema calls optional, and that has no
// default, fails for objects without it. The walk in guards.go knows at each
// place of an expression which fields are surely there: because of has(), of
// an orValue() that is compared with something, of the when of the rule or the
// child, of the checks of validate. A let counts where it is used. What it
// cannot follow it does not warn about. What other objects lack makes an
// expression wait, and status is not looked at for the same reason.
package check
