package syntax

import (
	"regexp"

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
	case "dnsNames", "validity", "renewBefore", "user", "text":
		return v.Data()
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
