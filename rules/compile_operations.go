package rules

import (
	"reconcel/rules/expr"
	"reconcel/rules/source"
)

// A template is data compiled to a list of operations, each of which appends JSON.
// Everything literal is written at compile time: adjacent literals are one
// operation, and maps are sorted.
//
// Each entry of a map or list ends with a comma, which the closing bracket
// overwrites. So an entry can be omitted or removed without a change to its
// neighbours.
type template struct{ ops []op }

type opKind int

const (
	opLiteral     opKind = iota // lit
	opValue                     // lit, the value of prog
	opText                      // lit, text in quotes
	opClose                     // closes a map or list with lit[0]
	opMark                      // marks the beginning of an entry that may be empty
	opCloseMarked               // closes it, and removes it if it is empty
	opGroup                     // ops, or nothing if one of them waits
	opName                      // lit, the child's name
	opNamespace                 // lit, the child's namespace
	opOwner                     // lit, the owner reference
	opOwnerUID                  // the annotation that replaces an owner reference
	opMarks                     // labels or annotations that are an expression
	opMetadata                  // evaluates metadata, for the operations without prog
	opSecret                    // a Secret's data that contains expressions
	opIgnorable                 // lit, ops, unless the field is ignored
)

type op struct {
	kind   opKind
	lit    []byte        // precedes the value: a key and its colon, or nothing
	prog   *expr.Program // nil of opValue and opMarks: the value is the field key of opMetadata
	text   *text
	ops    []op
	key    string // of the entry
	index  int    // of an ignorable field
	omit   expr.Omit
	isText bool         // the value must be text
	ours   []entryBytes // reconcel's own labels, to be sorted among the author's
	where  string       // field, for messages
	pos    source.Pos
	secret *secret
}

// An entryBytes is a literal entry of a map.
type entryBytes struct{ key, value string }

// A secret is the data of a Secret. The API server turns stringData into data
// and does not store it, so the rendering does the same.
type secret struct{ data, plain *data }

// An entry is the position of a value: under a key, or in a list, if lit is empty.
type entry struct {
	key   string
	lit   []byte // `"key":`
	where string
}

func keyedEntry(key, where string) entry {
	return entry{key: key, lit: append(expr.AppendString(nil, key), ':'), where: where}
}
