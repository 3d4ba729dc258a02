package expr

import (
	"strings"

	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common/types"
)

// TypeName returns a type as messages show it.
func TypeName(t *types.Type) string {
	r := typeReader{rest: checker.FormatCELType(t)}
	return r.next()
}

// plainTypes are the names of CEL's types in messages. Any other type with parts is
// that of an object.
var plainTypes = map[string]string{
	"int": "integer", "uint": "unsigned integer", "double": "number", "bool": "boolean", "string": "string",
	"bytes": "bytes", "type": "type",
	"dyn": "any", "any": "any", "error": "any", "null_type": "null", "null": "null",
	"google.protobuf.Timestamp": "timestamp", "timestamp": "timestamp", "google.protobuf.Duration": "duration",
	"duration": "duration",
}

// IsSpecial reports whether no object can hold values of a type of a library, such as a
// quantity or an address.
func IsSpecial(t *types.Type) bool { return isSpecial(t.TypeName()) }

func isSpecial(name string) bool {
	return strings.HasPrefix(name, "kubernetes.") || strings.HasPrefix(name, "net.")
}

// A typeReader reads types as CEL prints them: list(map(string, dyn)).
type typeReader struct{ rest string }

// next reads a type and returns it in plain words.
func (r *typeReader) next() string {
	i := strings.IndexAny(r.rest, "(),")
	if i < 0 {
		i = len(r.rest)
	}
	name := strings.TrimSpace(r.rest[:i])
	r.rest = r.rest[i:]
	parts := r.parts()
	last := "any"
	if len(parts) > 0 {
		last = parts[len(parts)-1]
	}
	switch {
	case name == "optional_type":
		return "optional " + last
	case name == "wrapper":
		return last // or null
	case (name == "list" || name == "map") && last != "any":
		return name + " of " + last
	case name == "list" || name == "map" || name == "type":
		return name
	case plainTypes[name] != "":
		return plainTypes[name]
	case strings.HasPrefix(name, "<") || strings.HasPrefix(name, "_var"):
		return "any" // A parameter of a type.
	case isSpecial(name):
		return strings.ToLower(name[strings.LastIndexByte(name, '.')+1:])
	}
	return "map"
}

// parts reads types in parentheses, if there are any.
func (r *typeReader) parts() []string {
	rest, ok := strings.CutPrefix(r.rest, "(")
	if !ok {
		return nil
	}
	r.rest = rest
	var out []string
	for r.rest != "" {
		if rest, ok := strings.CutPrefix(strings.TrimLeft(r.rest, ", "), ")"); ok {
			r.rest = rest
			break
		}
		r.rest = strings.TrimLeft(r.rest, ", ")
		out = append(out, r.next())
	}
	return out
}

// A signature is what a function was called with.
type signature struct {
	target string // of a method, or ""
	args   []string
}

// readSignature reads the arguments as CEL prints them: (int, string), or target.(int).
func readSignature(s string) signature {
	r := typeReader{rest: s}
	if strings.HasPrefix(s, "(") {
		return signature{args: r.parts()}
	}
	target := ""
	// A name may have dots. The last one before the arguments is the call.
	if i := strings.LastIndex(s, ".("); i >= 0 {
		t := typeReader{rest: s[:i]}
		target = t.next()
		r.rest = s[i+1:]
	}
	return signature{target: target, args: r.parts()}
}
