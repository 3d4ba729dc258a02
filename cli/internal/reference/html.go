package reference

import (
	"bytes"
	_ "embed" // for the page
	"fmt"
	"html/template"
	"strings"
)

//go:embed page.html.tmpl
var pageText string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"anchor":    anchor,
	"breakable": breakable,
	"plain":     Text.String,
	"title":     titleOf,
}).Parse(pageText))

// HTML returns pages as one document that needs no other files.
func HTML(pages []*Page) ([]byte, error) {
	var b bytes.Buffer
	if err := pageTemplate.Execute(&b, pages); err != nil {
		return nil, fmt.Errorf("write the HTML: %w", err)
	}
	return b.Bytes(), nil
}

// titleOf names a document.
func titleOf(pages []*Page) string {
	var kinds []string
	for _, p := range pages {
		kinds = append(kinds, p.Kind)
	}
	return strings.Join(kinds, ", ")
}

// breakable splits the path of a field where a line may break. Other code breaks anywhere.
func breakable(text string) []string {
	if strings.ContainsAny(text, " ()") {
		return []string{text}
	}
	return strings.SplitAfter(text, ".")
}

// anchor returns the id of a section of a page.
func anchor(p *Page, s Section) string {
	if s.Level == 1 {
		return slug(p.Kind + " " + p.Group)
	}
	return slug(p.Kind + " " + p.Group + " " + s.Title.String())
}

// Cell returns the title of a column, "" for one without.
func (t *Table) Cell(i int) string {
	if i < len(t.Titles) {
		return t.Titles[i]
	}
	return ""
}
