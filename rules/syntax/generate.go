package syntax

import (
	"regexp"
	"strings"

	"reconcel/rules/generate"
	"reconcel/rules/source"
)

var generatedShape = source.Shape{
	Doc: "A value that reconcel makes once and then keeps. Without keys, it is a text of 32 letters and digits.",
	Keys: []source.Key{
		{Name: "length", Value: &source.Schema{Type: source.Types{"integer"}, Minimum: new(generate.MinLength),
			Maximum: new(generate.MaxLength)}, Default: "32",
			Doc: "The number of characters of a random text."},
		{Name: "charset", Value: charsets.Schema(), Default: "alphanumeric", Doc: "The characters of a random text."},
		{Name: "privateKey", Value: algorithms.Schema(),
			Doc: "The algorithm of a private key, which is stored in PEM, PKCS #8."},
		{Name: "certificate", Value: dataKeyName,
			Doc: "The key of the private key for which a self-signed certificate is made."},
		{Name: "dnsNames", Value: listData, Doc: "The DNS names of the certificate. If they change, it is made again."},
		{Name: "validity", Value: filledData, Default: "8760h", Doc: "How long the certificate is valid, like `2160h`."},
		{Name: "renewBefore", Value: filledData,
			Doc: "How long before the end of its validity the certificate is made again. The default is a third of `validity`."},
		{Name: "bcrypt", Value: dataKeyName, Doc: "The key of the random text whose bcrypt hash is made."},
		{Name: "htpasswd", Value: dataKeyName,
			Doc: "The key of the random text for which a line of an htpasswd file is made."},
		{Name: "user", Value: filledData, Doc: "The user in the line of the htpasswd file."},
		{Name: "text", Value: filledData, Doc: "A text in which `$(KEY)` stands for the generated value of another key, " +
			"such as a connection string. It follows them."},
	},
	Wrong: map[string]source.WrongKey{
		"size":     {Means: "length"},
		"alphabet": {Means: "charset"},
		"tls":      {Hint: "write one entry with privateKey, and one with certificate"},
		"days":     {Hint: "write validity: 2160h", Means: "validity"},
		"duration": {Means: "validity"},
		"hosts":    {Means: "dnsNames"},
	},
}

var (
	charsets = source.Choices{
		{Text: string(generate.Alphanumeric), Doc: "A to Z, a to z, 0 to 9."},
		{Text: string(generate.Hex), Doc: "0 to 9, a to f."},
		{Text: string(generate.Digits), Doc: "0 to 9."},
		{Text: string(generate.Symbols), Doc: "A to Z, a to z, 0 to 9, and -_.~, which need no quotes."},
	}
	algorithms = source.Choices{
		{Text: string(generate.ECDSA), Doc: "ECDSA with the curve P-256."},
		{Text: string(generate.Ed25519), Doc: "Ed25519."},
		{Text: string(generate.RSA), Doc: "RSA with 3072 bits."},
	}
	dataKey     = regexp.MustCompile(`^[-._a-zA-Z0-9]{1,253}$`)
	dataKeyName = &source.Schema{Type: source.Types{"string"}, Pattern: dataKey.String()}
	generated   = &source.Schema{Type: source.Types{"object", "null"}, Names: dataKeyName,
		Others: orNothing(generatedShape.Schema())}
)

// ways are the keys that say what kind of value it is, with the keys that belong to each.
var ways = map[string][]string{
	"privateKey":  nil,
	"certificate": {"dnsNames", "validity", "renewBefore"},
	"bcrypt":      nil,
	"htpasswd":    {"user"},
	"text":        nil,
}

// readGenerated reads the values that are made once.
func readGenerated(v source.Value) []*Generated {
	if v.Missing() || v.IsNull() {
		return nil
	}
	if !v.IsMap() {
		v.WrongShape("a map")
		return nil
	}
	var all []*Generated
	for _, e := range v.Entries() {
		if !dataKey.MatchString(e.Key.Value) {
			v.ErrorAt(e.Key.Pos, "%q is not a key of a Secret: letters, digits, - _ and . are allowed", e.Key.Value)
			continue
		}
		if g := readOneGenerated(e); g != nil {
			all = append(all, g)
		}
	}
	return all
}

func readOneGenerated(e source.Entry) *Generated {
	g := &Generated{Key: e.Key, Node: &source.Node{Kind: source.Map, Pos: e.Key.Pos}}
	if e.Value.IsNull() {
		return g
	}
	t := e.Value.Table(&generatedShape)
	if !t.IsMap() {
		return nil
	}
	way := ""
	for _, k := range generatedShape.Keys {
		value := t.Key(k.Name)
		if value.Missing() {
			continue
		}
		if _, is := ways[k.Name]; is {
			if way != "" {
				value.Errorf("%s and %s exclude each other", way, k.Name)
				return nil
			}
			way = k.Name
		}
		n := readGeneratedKey(k.Name, value)
		if n == nil {
			return nil
		}
		g.Node.Fields = append(g.Node.Fields, source.Field{Key: source.String{Value: k.Name, Pos: value.Pos()}, Value: n})
	}
	if !checkWay(e.Value, t, way) {
		return nil
	}
	return g
}

func readGeneratedKey(name string, v source.Value) *source.Node {
	switch name {
	case "dnsNames", "validity", "renewBefore", "user":
		return v.Data()
	case "text":
		return readReferences(v.Sentence())
	case "charset":
		return literalNode(v.OneOf(charsets))
	case "privateKey":
		return literalNode(v.OneOf(algorithms))
	case "length":
		if n := v.Data(); n != nil && n.Kind != source.Interp {
			return n
		}
		v.Errorf("must be a literal number")
		return nil
	}
	s, _ := v.Literal()
	return literalNode(s)
}

// reference is $(KEY), or $$(KEY), which is the text $(KEY): the syntax of the variables in the command of a container.
var reference = regexp.MustCompile(`\$\$\([^()]*\)|\$\(([-._a-zA-Z0-9]{1,253})\)`)

// readReferences returns a list with the parts of a text, and between them the keys that it names by $(KEY). What an
// expression gives is text: it names no key.
func readReferences(text *source.Node) *source.Node {
	if text == nil {
		return nil
	}
	list, around := &source.Node{Kind: source.List, Pos: text.Pos}, references{pos: text.Pos}
	if text.Kind == source.Text {
		text = &source.Node{Parts: []source.Part{{Text: text.Value.(string)}}}
	}
	for _, p := range text.Parts {
		if p.Expr != nil {
			around.parts = append(around.parts, p)
			continue
		}
		from := 0
		for _, at := range reference.FindAllStringSubmatchIndex(p.Text, -1) {
			around.add(p.Text[from:at[0]])
			if from = at[1]; at[2] < 0 {
				around.add(p.Text[at[0]+1 : at[1]])
				continue
			}
			key := source.String{Value: p.Text[at[2]:at[3]], Pos: list.Pos}
			list.Items = append(list.Items, around.flush(), literalNode(key))
		}
		around.add(p.Text[from:])
	}
	list.Items = append(list.Items, around.flush())
	return list
}

// references collect the parts of a text around a reference.
type references struct {
	pos   source.Pos
	parts []source.Part
}

func (r *references) add(text string) { r.parts = append(r.parts, source.Part{Text: text}) }

// flush returns the parts as one text.
func (r *references) flush() *source.Node {
	n := &source.Node{Kind: source.Text, Pos: r.pos}
	var literal strings.Builder
	for _, p := range r.parts {
		literal.WriteString(p.Text)
		if p.Expr != nil { // With another part, one expression makes a text, too.
			n.Kind, n.Parts = source.Interp, append(r.parts, source.Part{})
		}
	}
	if n.Kind == source.Text {
		n.Value = literal.String()
	}
	r.parts = nil
	return n
}

// literalNode returns a node of a text, or nil if it could not be read.
func literalNode(s source.String) *source.Node {
	if s.Value == "" {
		return nil
	}
	return &source.Node{Kind: source.Text, Pos: s.Pos, Value: s.Value}
}

// checkWay records errors for keys that do not belong to the kind of value, and for
// missing ones.
func checkWay(v source.Value, t source.Table, way string) bool {
	ok := true
	complain := func(p source.Pos, format string, args ...any) {
		v.ErrorAt(p, format, args...)
		ok = false
	}
	for other, keys := range ways {
		for _, k := range keys {
			if p, written := t.Written(k); written && way != other {
				complain(p, "%s belongs to %s", k, other)
			}
		}
	}
	for _, k := range []string{"length", "charset"} {
		if p, written := t.Written(k); written && way != "" {
			complain(p, "%s belongs to a random text, not to %s", k, way)
		}
	}
	for _, k := range map[string][]string{"certificate": {"dnsNames"}, "htpasswd": {"user"}}[way] {
		if _, written := t.Written(k); !written {
			complain(v.Pos(), "%s needs %s", way, k)
		}
	}
	return ok
}

// checkGenerated checks what the values of generate need of the other keys of a child.
func checkGenerated(v source.Value, t source.Table, c *Child) {
	p, written := t.Written("generate")
	if !written || len(c.Generate) == 0 {
		return
	}
	if !c.applies() {
		v.ErrorAt(p, "generate needs onChange: apply: %s would lose the values, or never make those that are missing",
			c.OnChange.Value).Hint = "remove onChange"
	}
	if c.Template == nil {
		return
	}
	if !isSecret(c.Template) {
		v.ErrorAt(p, "only a Secret has generate").Hint = "write apiVersion: v1 and kind: Secret in the template"
		return
	}
	for _, field := range []string{"data", "stringData"} {
		n := c.Template.At(field)
		switch {
		case n == nil || n.Kind == source.Null:
		case n.Kind != source.Map:
			v.ErrorAt(n.Pos, "%s must be written out as a map beside generate, so that no key has two values", field)
		default:
			for _, g := range c.Generate {
				if other := n.At(g.Key.Value); other != nil {
					v.ErrorAt(g.Key.Pos, "%s of the template has the key %q too", field, g.Key.Value).Hint = "keep one of them"
				}
			}
		}
	}
}

func isSecret(template *source.Node) bool {
	for key, want := range map[string]string{"apiVersion": "v1", "kind": "Secret"} {
		n := template.At(key)
		if n == nil || n.Literal().Value != want {
			return false
		}
	}
	return true
}
