package lsp

import "strings"

// An outline is the tree of a YAML file as its lines and their indentation show it. It
// exists for every text, also for one that is not valid YAML.
type outline struct {
	root *node
	all  []*node // in the order of the file
}

// A node is a document, a key with its value, an item of a list, or a text that may
// become a key.
type node struct {
	parent   *node
	children []*node
	item     bool
	key      string // "": not a key
	partial  bool   // text that may become a key
	line     int
	indent   int // where the key, text or dash begins
	end      int // where the key ends
	value    string
	at       int  // where the value begins
	block    bool // the value is text on the following lines, up to last
	last     int
}

func newOutline(lines [][]rune) *outline {
	o := &outline{root: &node{line: -1, indent: -1}}
	top := o.add(o.root, &node{line: -1, indent: -1})
	var block *node
	for i, line := range lines {
		indent := indentOf(line)
		if indent == len(line) {
			continue
		}
		if block != nil && indent > block.indent {
			block.last = i
			continue
		}
		block = nil
		switch {
		case line[indent] == '#':
		case indent == 0 && (strings.HasPrefix(string(line), "---") || string(line) == "..."):
			top = o.add(o.root, &node{line: i, indent: -1})
		default:
			top = o.read(top, i, line, indent)
			if top.block {
				block = top
			}
		}
	}
	return o
}

func indentOf(line []rune) int {
	n := 0
	for n < len(line) && (line[n] == ' ' || line[n] == '\t') {
		n++
	}
	return n
}

// read adds the nodes of a line, and returns the last one.
func (o *outline) read(after *node, i int, line []rune, column int) *node {
	for column < len(line) && line[column] == '-' && (column+1 == len(line) || line[column+1] == ' ') {
		after = o.add(after.holder(column, true), &node{item: true, line: i, indent: column, end: column + 1, at: column + 1})
		for column++; column < len(line) && line[column] == ' '; column++ {
		}
	}
	if column == len(line) || line[column] == '#' {
		return after
	}
	key, end, found := keyAt(line, column)
	value, at := valueAt(line, column)
	switch {
	case found:
		value, at = valueAt(line, end+1)
		after = o.add(after.holder(column, false), &node{key: key, line: i, indent: column, end: end, value: value, at: at})
	case after.item && after.line == i:
		after.value, after.at = value, at
	default:
		after = o.add(after.holder(column, false), &node{partial: true, line: i, indent: column, value: value, at: column})
	}
	if strings.HasPrefix(value, "|") || strings.HasPrefix(value, ">") {
		after.block, after.last = true, i
	} else if strings.HasPrefix(value, "{") || strings.HasPrefix(value, "[") {
		o.flow(after, line, at)
	}
	return after
}

func (o *outline) add(parent, n *node) *node {
	n.parent = parent
	parent.children = append(parent.children, n)
	o.all = append(o.all, n)
	return n
}

// holder returns the nearest of a node and its parents that may hold something with
// this indentation.
func (n *node) holder(indent int, item bool) *node {
	for ; n.parent != nil && n.parent.parent != nil; n = n.parent {
		if n.mayHold() && (indent > n.indent || item && !n.item && indent == n.indent) {
			return n
		}
	}
	return n
}

func (n *node) mayHold() bool { return n.value == "" && !n.partial || strings.HasPrefix(n.value, "&") }

// documents returns the documents of the file.
func (o *outline) documents() []*node { return o.root.children }

// before returns the last node that begins before a line.
func (o *outline) before(line int) *node {
	last := o.root.children[0]
	for _, n := range o.all {
		if n.line >= line {
			break
		}
		last = n
	}
	return last
}

// find returns the node at the end of keys, or nil.
func (n *node) find(keys ...string) *node {
	for _, key := range keys {
		if n == nil {
			return nil
		}
		var next *node
		for _, c := range n.children {
			if c.key == key {
				next = c
			}
		}
		n = next
	}
	return n
}

// items returns the entries of a list.
func (n *node) items() (all []*node) {
	if n == nil {
		return nil
	}
	for _, c := range n.children {
		if c.item {
			all = append(all, c)
		}
	}
	return all
}

// text returns a scalar without its quotes and comment.
func (n *node) text() string {
	if n == nil {
		return ""
	}
	value := n.value
	if quote := strings.IndexAny(value, `"'`); quote == 0 {
		inner, _, _ := strings.Cut(value[1:], value[:1])
		return inner
	}
	value, _, _ = strings.Cut(value, " #")
	return strings.TrimSpace(value)
}

// path returns the keys from the top of the file. An item of a list is "".
func (n *node) path() (path []string) {
	for ; n.parent != nil && n.parent.parent != nil; n = n.parent {
		path = append([]string{n.key}, path...)
	}
	return path
}

// keyAt returns the key that begins at a column, and the column of its colon.
func keyAt(line []rune, from int) (key string, colon int, found bool) {
	i := from
	switch line[from] {
	case '"', '\'':
		for i++; i < len(line) && line[i] != line[from]; i++ {
		}
		if i++; i >= len(line) || line[i] != ':' {
			return "", 0, false
		}
		return string(line[from+1 : i-1]), i, true
	case '{', '[', '#', '|', '>':
		return "", 0, false
	}
	for ; i < len(line); i++ {
		if line[i] == ':' && (i+1 == len(line) || line[i+1] == ' ' || line[i+1] == '\t') {
			return strings.TrimSpace(string(line[from:i])), i, true
		}
		if line[i] == ' ' && i+1 < len(line) && line[i+1] == '#' {
			break
		}
	}
	return "", 0, false
}

// valueAt returns the value that begins at a column or after blanks, and its column.
func valueAt(line []rune, from int) (string, int) {
	for from < len(line) && (line[from] == ' ' || line[from] == '\t') {
		from++
	}
	if from >= len(line) || line[from] == '#' {
		return "", from
	}
	return strings.TrimRight(string(line[from:]), " \t"), from
}

// maxNested is the depth to which collections on one line are read.
const maxNested = 100

// flow adds the nodes of a map in { } or a list in [ ], as far as it is on one line.
func (o *outline) flow(holder *node, line []rune, from int) {
	f := flow{outline: o, line: line, at: from, number: holder.line}
	f.collection(holder)
}

// A flow reads a collection from left to right.
type flow struct {
	*outline
	line   []rune
	at     int
	number int
	depth  int
}

// collection reads from the opening bracket to the closing one.
func (f *flow) collection(holder *node) {
	f.depth++
	defer func() { f.depth-- }()
	isMap := f.line[f.at] == '{'
	f.at++
	for {
		f.skip(" \t,")
		if f.at >= len(f.line) || f.line[f.at] == '#' {
			return
		}
		if f.line[f.at] == '}' || f.line[f.at] == ']' {
			f.at++
			return
		}
		before := f.at
		f.entry(holder, isMap)
		if f.at == before {
			f.at++ // A character that no entry begins with.
		}
	}
}

// entry reads a key with its value, or an item.
func (f *flow) entry(holder *node, isMap bool) {
	n := &node{item: !isMap, line: f.number, indent: f.at, end: f.at}
	if isMap {
		start := f.at
		f.scalar(":")
		n.end = f.at
		n.key = unquoted(f.line[start:f.at])
		if f.at >= len(f.line) || f.line[f.at] != ':' {
			n.key, n.partial, n.value = "", true, string(f.line[start:f.at])
			f.add(holder, n)
			return
		}
		f.at++
		f.skip(" \t")
	}
	n.at = f.at
	f.add(holder, n)
	if f.at < len(f.line) && (f.line[f.at] == '{' || f.line[f.at] == '[') && f.depth < maxNested {
		f.collection(n)
		n.value = string(f.line[n.at:min(f.at, len(f.line))])
		return
	}
	f.scalar("")
	n.value = string(f.line[n.at:f.at])
}

func (f *flow) skip(chars string) {
	for f.at < len(f.line) && strings.ContainsRune(chars, f.line[f.at]) {
		f.at++
	}
}

// scalar reads up to the end of a scalar, or to one of the characters.
func (f *flow) scalar(until string) {
	if f.at < len(f.line) && (f.line[f.at] == '"' || f.line[f.at] == '\'') {
		quote := f.line[f.at]
		for f.at++; f.at < len(f.line) && f.line[f.at] != quote; f.at++ {
			if f.line[f.at] == '\\' && quote == '"' {
				f.at++
			}
		}
		f.at = min(f.at+1, len(f.line))
		return
	}
	for f.at < len(f.line) && !strings.ContainsRune(",}]"+until, f.line[f.at]) {
		if f.line[f.at] == '$' && f.at+1 < len(f.line) && f.line[f.at+1] == '{' {
			for f.at < len(f.line) && f.line[f.at] != '}' {
				f.at++
			}
			f.at = min(f.at+1, len(f.line))
			continue
		}
		f.at++
	}
}

// unquoted returns a key without its quotes.
func unquoted(key []rune) string {
	if n := len(key); n >= 2 && (key[0] == '"' || key[0] == '\'') && key[n-1] == key[0] {
		key = key[1 : n-1]
	}
	return string(key)
}
