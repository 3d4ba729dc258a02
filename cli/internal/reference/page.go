package reference

import "strings"

// A Page describes one kind.
type Page struct {
	Kind, Group string
	Sections    []Section // the first one is about the kind as a whole
}

// A Section is a part of a page under a heading.
type Section struct {
	Title  Text
	Level  int // 1: the page, 2: a section, 3: a part of one
	Blocks []Block
}

// A Block is one of a paragraph, a table or YAML.
type Block struct {
	Text  Text
	Table *Table
	YAML  string
}

// A Table has a cell for each title in each row. Without titles, the first cell of a row
// is its title.
type Table struct {
	Titles []string
	Rows   [][]Text
}

// A Text is what a sentence or a cell says.
type Text []Span

// A Span is a part of a text in one style.
type Span struct {
	Text  string
	Style Style
}

// A Style says how a span looks.
type Style int

// The styles.
const (
	Plain  Style = iota
	Code         // as it is written in a file
	Strong       // must not be overlooked
	Break        // a new line; it has no text
)

func code(text string) Text { return Text{{text, Code}} }

// compose joins strings, which are plain, and texts.
func compose(parts ...any) (all Text) {
	for _, part := range parts {
		switch part := part.(type) {
		case string:
			all = append(all, Span{part, Plain})
		case Text:
			all = append(all, part...)
		}
	}
	return all
}

// enumerate joins texts as a sentence does: a, b and c.
func enumerate(word string, texts []Text) (all Text) {
	for i, t := range texts {
		switch {
		case i == 0:
		case i == len(texts)-1:
			all = compose(all, " "+word+" ")
		default:
			all = compose(all, ", ")
		}
		all = append(all, t...)
	}
	return all
}

// String returns the text without styles.
func (t Text) String() string {
	var b strings.Builder
	for _, s := range t {
		if s.Style == Break {
			b.WriteByte('\n')
		}
		b.WriteString(s.Text)
	}
	return b.String()
}

// upper returns a text that begins with a capital, unless it begins with code.
func (t Text) upper() Text {
	if len(t) == 0 || t[0].Style == Code || t[0].Text == "" {
		return t
	}
	first := t[0].Text
	return append(Text{{strings.ToUpper(first[:1]) + first[1:], t[0].Style}}, t[1:]...)
}

func paragraph(parts ...any) Block { return Block{Text: compose(parts...)} }

func table(titles []string, rows [][]Text) Block { return Block{Table: &Table{titles, rows}} }
