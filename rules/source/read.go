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
	return sh.Schema().read(docs[0]), r.Err(file)
}

// read returns a value if it conforms to the schema. Otherwise it records an error
// and returns nil.
func (s *Schema) read(v Value) *Node {
	switch {
	case v.Broken():
		return nil
	case !s.accepts(v):
		v.WrongShape(s.noun())
		return nil
	}
	for _, one := range s.AnyOf {
		if one.accepts(v) {
			return one.read(v)
		}
	}
	others, _ := s.Others.(*Schema)
	switch {
	case s.shape != nil:
		return s.shape.read(v)
	case others != nil:
		d := &Node{Kind: Map, Pos: v.Pos()}
		for _, e := range v.Entries() {
			d.add(e.Key, others.read(e.Value))
		}
		return d
	case s.Items != nil:
		return s.Items.readEach(v)
	case s.Enum != nil && oneOf(v, s.Enum).Value == "":
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

func (sh *Shape) read(v Value) *Node {
	t := v.Table(sh)
	d := &Node{Kind: Map, Pos: v.Pos()}
	for _, e := range v.PeekEntries() {
		if k := sh.Find(e.Key.Value); k != nil {
			d.add(e.Key, k.Value.read(t.Key(k.Name)))
		}
	}
	return d
}

// readEach reads a list of values of the schema. Errors in an item with a name include the name.
func (s *Schema) readEach(v Value) *Node {
	d := &Node{Kind: List, Pos: v.Pos()}
	for _, at := range v.PeekItems() {
		if name := at.Peek("name"); name.IsText() && name.Scalar() != "" {
			at = at.Named(name.Scalar())
		}
		if value := s.read(at); value != nil {
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
		"object": "a map", "array": "a list", "null": "null", "boolean": "true or false", "integer": "a whole number",
		"string": "a string",
	}[s.Type[0]]
}
