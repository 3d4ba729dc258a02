package rules

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
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
