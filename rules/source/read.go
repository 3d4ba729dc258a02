package source

// ReadFile reads a file with one document, in which ${...} has no meaning. Its
// error is an Errors with every error of the file. Without an error, the node
// conforms to the shape.
func (sh *Shape) ReadFile(file File) (*Node, error) {
	r := &Reader{}
	docs, isYAML := r.Documents(file)
	if !isYAML {
		return nil, r.Err(file)
	}
	if len(docs) == 0 {
		if len(r.errs) == 0 {
			r.Add(NewError(Pos{file.Name, 1, 1}, "", "file is empty", ""))
		}
		return nil, r.Err(file)
	}
	for _, more := range docs[1:] {
		more.Errorf("a second document").Hint = "write it into a file of its own"
	}
	return docs[0].read(sh.Schema()), r.Err(file)
}

// read returns the value if it conforms to a schema. Otherwise it records an error
// and returns nil.
func (v Value) read(s *Schema) *Node {
	switch {
	case v.Broken():
		return nil
	case !s.accepts(v):
		v.WrongShape(s.noun())
		return nil
	}
	for _, one := range s.AnyOf {
		if one.accepts(v) {
			return v.read(one)
		}
	}
	others, _ := s.Others.(*Schema)
	switch {
	case s.shape != nil:
		return v.readShape(s.shape)
	case others != nil:
		d := &Node{Kind: Map, Pos: v.Pos()}
		for _, e := range v.Entries() {
			d.add(e.Key, e.Value.read(others))
		}
		return d
	case s.Items != nil:
		return v.readItems(s.Items)
	case s.Enum != nil && v.oneOf(s.Enum).Value == "":
		return nil
	case s == DurationText && v.Duration(1).Value == 0:
		return nil
	case s.MinLength > 0 && v.node.Value == "":
		v.Errorf("is empty")
		return nil
	}
	d := v.AsItIs()
	if d != nil && s.Minimum != nil && d.Value.(int64) < int64(*s.Minimum) {
		v.Errorf("must be at least %d, got %d", *s.Minimum, d.Value)
		return nil
	}
	return d
}

func (v Value) readShape(sh *Shape) *Node {
	t := v.Table(sh)
	d := &Node{Kind: Map, Pos: v.Pos()}
	for _, e := range v.PeekEntries() {
		if k := sh.Find(e.Key.Value); k != nil {
			d.add(e.Key, t.Key(k.Name).read(k.Value))
		}
	}
	return d
}

// readItems reads a list. Errors in an item with a name include the name.
func (v Value) readItems(item *Schema) *Node {
	d := &Node{Kind: List, Pos: v.Pos()}
	for _, at := range v.PeekItems() {
		if name := at.Peek("name"); name.IsText() && name.Scalar() != "" {
			at = at.Named(name.Scalar())
		}
		if value := at.read(item); value != nil {
			d.Items = append(d.Items, value)
		}
	}
	return d
}

// add adds a field unless it could not be read.
func (n *Node) add(key String, value *Node) {
	if value != nil {
		n.Fields = append(n.Fields, Field{key, value})
	}
}

// accepts reports whether the author meant a value of the schema.
func (s *Schema) accepts(v Value) bool {
	for _, one := range s.AnyOf {
		if one.accepts(v) {
			return true
		}
	}
	if len(s.Type) == 0 {
		return false
	}
	switch s.Type[0] {
	case "object":
		return v.IsMap()
	case "array":
		return v.IsList()
	case "null":
		return v.IsNull()
	}
	if !v.IsScalar() || v.IsNull() || s.Enum != nil || s == DurationText {
		return v.IsScalar() && !v.IsNull() // A later check reports a more precise error.
	}
	switch s.Type[0] {
	case "boolean":
		return v.node.Tag == "!!bool"
	case "integer":
		return v.node.Tag == "!!int"
	}
	return v.IsText()
}

// noun returns the name of the schema's values in messages.
func (s *Schema) noun() string {
	switch {
	case len(s.AnyOf) > 0:
		var nouns []string
		for _, one := range s.AnyOf {
			nouns = append(nouns, one.noun())
		}
		return joinOr(nouns)
	case s == DurationText:
		return "a duration"
	case s.Enum != nil:
		return joinOr(s.Enum)
	}
	return map[string]string{
		"object": "a map", "array": "a list", "null": "null", "boolean": "true or false", "integer": "a whole number", "string": "a string",
	}[s.Type[0]]
}
