package syntax

import (
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

const (
	pathLike = `write it like spec.replicas or metadata.annotations["example.com/x"]`
	noItems  = "fields inside lists cannot be ignored"
)

var ignoredShape = shape{
	doc: "A field of the template that is left to others while a condition holds.",
	keys: []key{
		{name: "path", required: true, value: fieldPath, doc: "The field, like `spec.replicas`."},
		{name: "when", required: true, value: boolExpr,
			doc: "While it is true the field keeps the value that it has. While it is false the field is rendered and enforced like all others."},
	},
	wrong: map[string]wrongKey{
		"field": {hint: "write path", means: "path"},
		"if":    {hint: "write when", means: "when"},
	},
}

// readIgnoreFields reads the paths of fields that are left to others once the
// object exists. The template must set each of them in the open.
func (s scope) readIgnoreFields(n, template *yaml.Node, read *Node) []*FieldPath {
	var paths []*FieldPath
	for i, item := range s.list(n) {
		if p := s.index(i).readIgnored(item, template); p != nil {
			paths = append(paths, p)
		}
	}
	paths = s.distinct(paths)
	// What could not be read of the template has been complained about there.
	return slices.DeleteFunc(paths, func(p *FieldPath) bool { return !read.has(p.Keys) })
}

// distinct complains about paths that others of the list include.
func (s scope) distinct(paths []*FieldPath) []*FieldPath {
	first := make(map[string]*FieldPath)
	for _, p := range paths {
		if path := pathOf(p.Keys); first[path] == nil {
			first[path] = p
		}
	}
	return slices.DeleteFunc(paths, func(p *FieldPath) bool {
		if first[pathOf(p.Keys)] != p {
			s.errorf(p.Pos, "%s is named twice", p.Text)
			return true
		}
		for i := 1; i < len(p.Keys); i++ {
			if whole := pathOf(p.Keys[:i]); first[whole] != nil {
				s.errorf(p.Pos, "%s is ignored already, with all of %s", p.Text, whole)
				return true
			}
		}
		return false
	})
}

// readIgnored reads an entry: a path, or a path with a condition.
func (s scope) readIgnored(n, template *yaml.Node) *FieldPath {
	entry := "ignoreFields" + s.path[strings.LastIndexByte(s.path, '['):]
	if n.Kind != yaml.MappingNode {
		p := s.readPath(n, template)
		if p != nil {
			p.Entry = entry
		}
		return p
	}
	t := s.table(n, &ignoredShape)
	when := s.key("when").expr(t["when"])
	p := s.key("path").readPath(t["path"], template)
	if p == nil || when == nil {
		return nil
	}
	p.Entry, p.When = entry, when
	return p
}

func (s scope) readPath(n, template *yaml.Node) *FieldPath {
	text, ok := s.literal(n)
	if !ok {
		return nil
	}
	keys, wrong := splitPath(text.Value)
	switch {
	case wrong == noItems:
		s.errorf(text.Pos, "%s: %s", text.Value, noItems).Hint = "ignore the list as a whole"
		return nil
	case len(keys) > maxDepth:
		s.errorf(text.Pos, "leads more than %d levels deep", maxDepth)
		return nil
	case wrong != "":
		s.errorf(text.Pos, "%q is not the path of a field", text.Value).Hint = wrong
		return nil
	}
	p := &FieldPath{Pos: text.Pos, Text: text.Value, Keys: keys}
	if !s.isIgnorable(p) || template == nil || template.Kind != yaml.MappingNode || !s.isSet(p, template) {
		return nil
	}
	return p
}

// splitPath returns the keys of a path, or what is wrong with it.
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
			if !isPlain(rest[:end]) {
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
	return text != "" && !strings.ContainsAny(text[:1], "./") && !slices.ContainsFunc(strings.Split(text, "."), func(key string) bool {
		return !isPlain(key)
	})
}

// hintPath says how to write a path whose keys are more than words.
func hintPath(text string) string {
	for _, marks := range []string{"metadata.labels", "metadata.annotations"} {
		key, found := strings.CutPrefix(text, marks)
		key = strings.Trim(key, ".[]'`\"")
		if found && key != "" && !strings.ContainsAny(key, "\"'`[] \\") {
			return "write " + pathOf(append(strings.Split(marks, "."), key))
		}
	}
	return pathLike
}

// pathOf writes keys as a path.
func pathOf(keys []string) string {
	var s scope
	for _, key := range keys {
		s = s.key(key)
	}
	return s.path
}

// isIgnorable complains about fields that nobody else can take over.
func (s scope) isIgnorable(p *FieldPath) bool {
	why, hint := "", ""
	switch field := pathOf(p.Keys[:min(len(p.Keys), 2)]); {
	case p.Keys[0] == "apiVersion", p.Keys[0] == "kind":
		why = "it says what the object is"
	case p.Keys[0] == "status":
		why = "a template does not set it"
	case field == "metadata":
		why = "the object is found by its name"
	case field == "metadata.name", field == "metadata.namespace", field == "metadata.generateName":
		why = "the object is found by it"
	case len(p.Keys) == 2 && (field == "metadata.labels" || field == "metadata.annotations"):
		why, hint = "reconcel's own are among them", "name each one, like "+field+`["example.com/x"]`
	default:
		return true
	}
	s.errorf(p.Pos, "%s cannot be ignored: %s", p.Text, why).Hint = hint
	return false
}

// isSet complains about a path at which the template, as it is written, has no
// field.
func (s scope) isSet(p *FieldPath, template *yaml.Node) bool {
	at := template
	for i, key := range p.Keys {
		switch before := pathOf(p.Keys[:i]); {
		case broken(at):
			return false
		case at.Kind == yaml.SequenceNode:
			s.errorf(p.Pos, "%s: %s, and %s is one", p.Text, noItems, before).Hint = "write " + before + " to ignore the whole list"
			return false
		case computed(at):
			s.errorf(p.Pos, "%s is computed as a whole: write it out, so that %s is known", before, p.Text)
			return false
		}
		value := valueAt(at, key)
		if value == nil {
			s.errorf(p.Pos, "the template does not set %s", p.Text).Hint = hintField(p.Keys, i, at, template)
			return false
		}
		at = value
	}
	return !broken(at)
}

// valueAt returns what stands under a key of a map, or nil.
func valueAt(n *yaml.Node, key string) *yaml.Node {
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		if n.Content[i].Kind == yaml.ScalarNode && n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// hintField finds the path that was meant by one that leads to no field from
// its i-th key on, where the template holds at.
func hintField(keys []string, i int, at, template *yaml.Node) string {
	var fields []string
	for j := 0; at.Kind == yaml.MappingNode && j+1 < len(at.Content); j += 2 {
		fields = append(fields, scalarText(at.Content[j]))
	}
	var meant [][]string
	if i == 0 && len(keys) > 1 {
		meant = append(meant, keys[1:]) // template.spec for spec.
	}
	for j := i + 2; j <= len(keys); j++ {
		// A key with dots in it, which would have needed ["..."].
		meant = append(meant, slices.Concat(keys[:i], []string{strings.Join(keys[i:j], ".")}, keys[j:]))
	}
	if near := Nearest(keys[i], fields); near != "" {
		meant = append(meant, slices.Concat(keys[:i], []string{near}, keys[i+1:]))
	}
	for _, path := range meant {
		if at := template; !slices.ContainsFunc(path, func(key string) bool { at = valueAt(at, key); return at == nil }) {
			return "did you mean '" + pathOf(path) + "'?"
		}
	}
	return ""
}

// has tells whether keys lead to a field.
func (n *Node) has(keys []string) bool {
	for _, key := range keys {
		if n == nil {
			return false
		}
		i := slices.IndexFunc(n.Fields, func(f Field) bool { return f.Key.Value == key })
		if i < 0 {
			return false
		}
		n = n.Fields[i].Value
	}
	return n != nil
}
