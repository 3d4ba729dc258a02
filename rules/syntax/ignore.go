package syntax

import (
	"slices"
	"strconv"
	"strings"

	"reconcel/rules/source"
)

const (
	pathLike = `write it like spec.replicas or metadata.annotations["example.com/x"]`
	noItems  = "fields inside lists cannot be ignored"
)

var ignoredShape = source.Shape{
	Doc: "A field of the template that is left to other writers while a condition is true.",
	Keys: []source.Key{
		{Name: "path", Required: true, Value: fieldPath, Doc: "The field, like `spec.replicas`."},
		{Name: "when", Required: true, Value: boolExpr,
			Doc: "While it is true, the field keeps its value. While it is false, the field is rendered and enforced like all " +
				"others."},
	},
	Wrong: map[string]source.WrongKey{
		"field": {Means: "path"},
		"if":    {Means: "when"},
	},
}

// readIgnoreFields reads the paths of fields that belong to others once the object
// exists. The template must contain each of them literally.
func readIgnoreFields(v, template source.Value, read *source.Node) []*FieldPath {
	var paths []*FieldPath
	for i, item := range v.Items() {
		if p := readIgnored(item, template); p != nil {
			p.Entry = "ignoreFields[" + strconv.Itoa(i) + "]"
			paths = append(paths, p)
		}
	}
	paths = distinctPaths(v, paths)
	// A part of the template that could not be read already has an error.
	return slices.DeleteFunc(paths, func(p *FieldPath) bool { return read == nil || read.At(p.Keys...) == nil })
}

// distinctPaths removes paths that other paths of the list include.
func distinctPaths(v source.Value, paths []*FieldPath) []*FieldPath {
	first := make(map[string]*FieldPath)
	for _, p := range paths {
		if path := source.PathOf(p.Keys); first[path] == nil {
			first[path] = p
		}
	}
	return slices.DeleteFunc(paths, func(p *FieldPath) bool {
		if first[source.PathOf(p.Keys)] != p {
			v.ErrorAt(p.Pos, "%s is listed twice", p.Text)
			return true
		}
		for i := 1; i < len(p.Keys); i++ {
			if whole := source.PathOf(p.Keys[:i]); first[whole] != nil {
				v.ErrorAt(p.Pos, "%s is already ignored, as part of %s", p.Text, whole)
				return true
			}
		}
		return false
	})
}

// readIgnored reads an entry: a path, or a path with a condition.
func readIgnored(v, template source.Value) *FieldPath {
	if !v.IsMap() {
		return readPath(v, template)
	}
	t := v.Table(&ignoredShape)
	when := t.Key("when").Expr()
	p := readPath(t.Key("path"), template)
	if p == nil || when == nil {
		return nil
	}
	p.When = when
	return p
}

func readPath(v, template source.Value) *FieldPath {
	text, ok := v.Literal()
	if !ok {
		return nil
	}
	keys, wrong := splitPath(text.Value)
	switch {
	case wrong == noItems:
		v.Errorf("%s: %s", text.Value, noItems).Hint = "ignore the list as a whole"
		return nil
	case len(keys) > source.MaxDepth:
		v.Errorf("is more than %d levels deep", source.MaxDepth)
		return nil
	case wrong != "":
		v.Errorf("%q is not the path of a field", text.Value).Hint = wrong
		return nil
	}
	p := &FieldPath{Pos: text.Pos, Text: text.Value, Keys: keys}
	if !isIgnorable(v, p) || !template.IsMap() || !isWritten(v, p, template) {
		return nil
	}
	return p
}

// splitPath returns the keys of a path, or a hint about its error.
func splitPath(text string) (keys []string, wrong string) {
	if after, found := strings.CutPrefix(text, "."); found && isPath(after) {
		return nil, "write " + after
	}
	if after, found := strings.CutPrefix(text, "/"); found {
		if path := strings.ReplaceAll(after, "/", "."); isPath(path) {
			return nil, "write " + path
		}
	}
	for rest := text; ; {
		if inner, bracket := strings.CutPrefix(rest, "["); bracket {
			quoted, err := strconv.QuotedPrefix(inner)
			key, _ := strconv.Unquote(quoted)
			switch after, closed := strings.CutPrefix(strings.TrimPrefix(inner, quoted), "]"); {
			case inner != "" && strings.Contains("0123456789*]-", inner[:1]):
				return nil, noItems
			case err != nil || inner[0] != '"' || !closed || key == "" || len(keys) == 0:
				return nil, hintPath(text)
			default:
				keys, rest = append(keys, key), after
			}
		} else {
			end := strings.IndexAny(rest, ".[")
			if end < 0 {
				end = len(rest)
			}
			if !source.IsPlain(rest[:end]) {
				return nil, hintPath(text)
			}
			keys, rest = append(keys, rest[:end]), rest[end:]
		}
		if rest == "" {
			return keys, ""
		}
		if after, dot := strings.CutPrefix(rest, "."); dot {
			if rest = after; strings.HasPrefix(rest, "[") {
				return nil, hintPath(text)
			}
		} else if rest[0] != '[' {
			return nil, hintPath(text)
		}
	}
}

func isPath(text string) bool {
	return text != "" && !strings.ContainsAny(text[:1], "./") &&
		!slices.ContainsFunc(strings.Split(text, "."), func(key string) bool {
			return !source.IsPlain(key)
		})
}

// hintPath returns the correct form of a path with keys that need quotes.
func hintPath(text string) string {
	for _, marks := range []string{"metadata.labels", "metadata.annotations"} {
		key, found := strings.CutPrefix(text, marks)
		key = strings.Trim(key, ".[]'`\"")
		if found && key != "" && !strings.ContainsAny(key, "\"'`[] \\") {
			return "write " + source.PathOf(append(strings.Split(marks, "."), key))
		}
	}
	return pathLike
}

// isIgnorable reports whether a field can be ignored, and records an error if not.
func isIgnorable(v source.Value, p *FieldPath) bool {
	why, hint := "", ""
	switch field := source.PathOf(p.Keys[:min(len(p.Keys), 2)]); {
	case p.Keys[0] == "apiVersion", p.Keys[0] == "kind":
		why = "it identifies the object"
	case p.Keys[0] == "status":
		why = "a template does not set it"
	case field == "metadata":
		why = "its name identifies the object"
	case field == "metadata.name", field == "metadata.namespace", field == "metadata.generateName":
		why = "it identifies the object"
	case len(p.Keys) == 2 && (field == "metadata.labels" || field == "metadata.annotations"):
		why, hint = "reconcel's own are among them", "name each one, like "+field+`["example.com/x"]`
	default:
		return true
	}
	v.Errorf("%s cannot be ignored: %s", p.Text, why).Hint = hint
	return false
}

// isWritten reports whether the template contains the field of a path literally,
// and records an error if not.
func isWritten(v source.Value, p *FieldPath, template source.Value) bool {
	at := template
	for i, key := range p.Keys {
		switch before := source.PathOf(p.Keys[:i]); {
		case at.Broken():
			return false
		case at.IsList():
			v.ErrorAt(p.Pos, "%s: %s, and %s is one", p.Text, noItems,
				before).Hint = "write " + before + " to ignore the whole list"
			return false
		case at.Computed():
			v.ErrorAt(p.Pos, "%s is computed as a whole: write it out, so that %s is known", before, p.Text)
			return false
		}
		value := at.Peek(key)
		if value.Missing() {
			v.ErrorAt(p.Pos, "the template does not set %s", p.Text).Hint = hintField(p.Keys, i, at, template)
			return false
		}
		at = value
	}
	return !at.Broken()
}

// hintField suggests the correct path for one whose i-th key does not exist in at,
// a part of the template.
func hintField(keys []string, i int, at, template source.Value) string {
	var fields []string
	for key := range at.PeekPairs() {
		fields = append(fields, key.Scalar())
	}
	var meant [][]string
	if i == 0 && len(keys) > 1 {
		meant = append(meant, keys[1:]) // template.spec for spec.
	}
	for j := i + 2; j <= len(keys); j++ {
		// A key that contains dots needs ["..."] in a path.
		meant = append(meant, slices.Concat(keys[:i], []string{strings.Join(keys[i:j], ".")}, keys[j:]))
	}
	if near := source.Nearest(keys[i], fields); near != "" {
		meant = append(meant, slices.Concat(keys[:i], []string{near}, keys[i+1:]))
	}
	for _, path := range meant {
		at := template
		for _, key := range path {
			at = at.Peek(key)
		}
		if !at.Missing() {
			return "did you mean '" + source.PathOf(path) + "'?"
		}
	}
	return ""
}
