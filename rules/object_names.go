package rules

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"reconcel/rules/source"
)

// A naming is the form of the names of a kind.
type naming struct {
	check func(string) []string
	// in are the characters that a name may have besides letters and digits.
	in   string
	says string
}

var (
	domainNames = naming{validation.IsDNS1123Subdomain, "-.",
		"lower-case letters, digits, - and ., with a letter or digit at both ends"}
	labelNames = naming{validation.IsDNS1123Label, "-",
		"at most 63 lower-case letters, digits and -, with a letter or digit at both ends"}
)

const nameOfNamespace = "name of a namespace"

// anyNames are the names of kinds that are not restricted to DNS names.
var anyNames = naming{check: func(string) []string { return nil }}

func namingOf(gk schema.GroupKind) naming {
	switch {
	case freelyNamed(gk):
		return anyNames
	case gk == schema.GroupKind{Kind: "Service"}, gk == schema.GroupKind{Kind: "Namespace"}:
		return labelNames
	}
	return domainNames
}

func (r naming) allowsRune(c rune) bool {
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || strings.ContainsRune(r.in, c)
}

// hintName returns a hint with a similar name that is valid, or "".
func (r naming) hintName(name string) string {
	if strings.Contains(name, "{{") || strings.Contains(name, "$(") {
		return "a value is written ${...}"
	}
	similar := strings.Map(func(c rune) rune {
		if slices.Contains([]rune{'_', ' ', '.', '/', ':'}, c) && !r.allowsRune(c) {
			return '-'
		}
		return c
	}, strings.ToLower(name))
	if similar == name || len(r.check(similar)) > 0 {
		return ""
	}
	return "write " + similar
}

// illegalName returns why no object can have a name, or "". Some kinds have
// stricter rules.
func illegalName(gk schema.GroupKind, name string) string {
	switch {
	case name == "":
		return "the name is empty"
	case len(name) > validation.DNS1123SubdomainMaxLength:
		return fmt.Sprintf("the name is longer than %d characters", validation.DNS1123SubdomainMaxLength)
	case freelyNamed(gk):
		return illegalSegment(name)
	case !isLabel(name) && len(validation.IsDNS1123Subdomain(name)) > 0:
		return "the name may contain only " + domainNames.says
	}
	return ""
}

// isLabel reports whether a name is a label of DNS, as most names of objects are.
func isLabel(name string) bool {
	if len(name) > validation.DNS1123LabelMaxLength || name == "" || name[0] == '-' || name[len(name)-1] == '-' {
		return false
	}
	for i := range len(name) {
		if c := name[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return true
}

// freelyNamed reports whether names of the kind are not restricted to DNS names.
func freelyNamed(gk schema.GroupKind) bool {
	return gk.Group == "rbac.authorization.k8s.io" || gk == schema.GroupKind{Group: "networking.k8s.io", Kind: "IPAddress"}
}

// illegalSegment returns why a name cannot be part of the path of a request, or "".
func illegalSegment(name string) string {
	switch {
	case name == "." || name == "..":
		return "the name is . or .."
	case strings.ContainsAny(name, "/%"):
		return "the name contains / or %"
	}
	for _, c := range name {
		if c < ' ' || c == 0x7f || c == '\ufffd' {
			return "the name contains non-printable characters"
		}
	}
	return ""
}

// literalPart records an error if a name with these literal parts cannot be what it
// names. rest stands for what is appended to the name.
func (c *expressions) literalPart(n *source.Node, rule naming, where, rest, what string) {
	if name := c.literalName(n, rule, where); len(rule.check(name+rest)) > 0 {
		c.complain(n.Pos, "%s: %q cannot be the %s: %s", where, name, what, rule.says).Hint = rule.hintName(name)
	}
}

// literalName returns a literal name, or otherwise a name that is valid for every
// kind. It checks the text around expressions, and records an error for a name that
// must have been meant as an expression.
func (c *expressions) literalName(n *source.Node, rule naming, where string) string {
	const fine = "x"
	if n.Kind == source.Interp && rule.in != "" {
		c.nameParts(n, rule, where)
	}
	name, ok := n.Value.(string)
	if !ok || name == "" {
		return fine
	}
	if meant := source.Forgotten(name, func(name string) bool { return c.declared[name] }); meant != "" {
		c.complain(n.Pos, "%s: %q is literal text, not an expression", where, name).Hint = "write " + meant
		return fine
	}
	return name
}

// nameParts checks the text around expressions.
func (c *expressions) nameParts(n *source.Node, rule naming, where string) {
	for i, p := range n.Parts {
		if p.Expr != nil {
			continue
		}
		first, last := i == 0, i == len(n.Parts)-1
		bad := strings.IndexFunc(p.Text, func(r rune) bool { return !rule.allowsRune(r) }) >= 0 ||
			first && strings.HasPrefix(p.Text, "-") || last && strings.HasSuffix(p.Text, ".") ||
			last && strings.HasSuffix(p.Text, "-") && !strings.HasSuffix(where, "generateName")
		if bad {
			c.complain(n.Pos, "%s: %q cannot be part of a name: %s", where, p.Text, rule.says)
		}
	}
}

// Labels lets a selector read the labels of an object without a copy.
type Labels map[string]any

var _ labels.Labels = Labels(nil)

// LabelsOf returns the labels of an object without a copy.
func LabelsOf(object map[string]any) Labels {
	return mapAt(object, "metadata", "labels")
}

// Has reports whether the label exists.
func (l Labels) Has(key string) bool { _, ok := l[key]; return ok }

// Get returns the value of a label.
func (l Labels) Get(key string) string { s, _ := l[key].(string); return s }

// Lookup returns the value of a label, and whether it exists.
func (l Labels) Lookup(key string) (string, bool) { s, ok := l[key].(string); return s, ok }

// mapAt returns the map under the keys of an object, or nil.
func mapAt(object map[string]any, keys ...string) map[string]any {
	for _, key := range keys {
		object, _ = object[key].(map[string]any)
	}
	return object
}
