package lsp

import "strings"

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
