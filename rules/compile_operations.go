package rules

import (
	"reconcel/rules/expr"
	"reconcel/rules/source"
)

// A template is data that has become a list of operations, each of which
// appends bytes of JSON. Everything that is known beforehand is written
// beforehand: neighbouring literals are one operation, and maps are sorted.
//
// Each entry of a map or list ends in a comma, which the closing bracket
// overwrites. So an entry can be left out, or taken back, without a look at
// its neighbours.
type template struct{ ops []op }

type opKind int

const (
	opLiteral     opKind = iota // lit
	opValue                     // lit, the value of prog
	opText                      // lit, text in quotes
	opClose                     // closes a map or list with lit[0]
	opMark                      // remembers where an entry begins that may turn out empty
	opCloseMarked               // closes it, and takes it back if it is empty
	opGroup                     // ops, or nothing if one of them has to wait
	opName                      // lit, the child's name
	opNamespace                 // lit, the child's namespace
	opOwner                     // lit, the owner reference
	opOwnerUID                  // the annotation that stands for an owner reference
	opMarks                     // labels or annotations that are an expression
	opSecret                    // a Secret's data of which some is an expression
	opIgnorable                 // lit, ops, unless the field is ignored
)

type op struct {
	kind   opKind
	lit    []byte // what comes before: a key and its colon, or nothing
	prog   *expr.Program
	text   *text
	ops    []op
	key    string // of the entry
	index  int    // of an ignorable field
	omit   expr.Omit
	isText bool         // the value must be text
	ours   []entryBytes // of labels, to be put among the author's
	where  string       // field, for messages
	pos    source.Pos
	secret *secret
}

// An entryBytes is an entry of a map that is known beforehand.
type entryBytes struct{ key, value string }

// A secret is the data of a Secret. The API server turns stringData into data
// and forgets it, so the rendering does the same.
type secret struct{ data, plain *data }

// An entry is where a value stands: under a key, or, with an empty prefix, in
// a list.
type entry struct {
	key   string
	lit   []byte // `"key":`
	where string
}

func keyed(key, where string) entry {
	return entry{key: key, lit: append(expr.AppendString(nil, key), ':'), where: where}
}
