package reference

import (
	"bytes"
	_ "embed" // for the style
	"fmt"
	"html"
	"strings"
)

//go:embed page.css
var style string

// An htmlWriter writes pages. It does not use html/template, which finds methods by their
// names: the linker would have to keep all methods of the program, 10 MB of them.
type htmlWriter struct{ bytes.Buffer }

// HTML returns pages as one document that needs no other files.
func HTML(pages []*Page) []byte {
	w := &htmlWriter{}
	w.line(`<!DOCTYPE html>`)
	w.line(`<html lang="en">`)
	w.line(`<head>`)
	w.line(`<meta charset="utf-8" />`)
	w.line(`<meta name="viewport" content="width=device-width, initial-scale=1" />`)
	w.line(`<meta name="color-scheme" content="light dark" />`)
	w.line(`<title>%s</title>`, titleOf(pages))
	w.WriteString("<style>\n" + style + "</style>\n")
	w.line(`</head>`)
	w.line(`<body>`)
	w.contents(pages)
	w.line(`<main>`)
	for _, p := range pages {
		w.line(`<article>`)
		for _, s := range p.Sections {
			w.section(p, s)
		}
		w.line(`</article>`)
	}
	w.line(`</main>`)
	w.line(`</body>`)
	w.line(`</html>`)
	return w.Bytes()
}

// line writes a line. Its arguments are texts, which are escaped.
func (w *htmlWriter) line(format string, texts ...string) {
	w.inline(format, texts...)
	w.WriteByte('\n')
}

func (w *htmlWriter) inline(format string, texts ...string) {
	escaped := make([]any, len(texts))
	for i, text := range texts {
		escaped[i] = html.EscapeString(text)
	}
	fmt.Fprintf(w, format, escaped...)
}

// contents writes links to the sections.
func (w *htmlWriter) contents(pages []*Page) {
	w.line(`<nav aria-label="Contents">`)
	for _, p := range pages {
		w.line(`<ul>`)
		for _, s := range p.Sections {
			if s.Level <= 2 {
				w.line(`<li><a href="#%s">%s</a></li>`, anchor(p, s), s.Title.String())
			}
		}
		w.line(`</ul>`)
	}
	w.line(`</nav>`)
}

func (w *htmlWriter) section(p *Page, s Section) {
	heading := fmt.Sprintf("h%d", s.Level)
	if s.Level <= 2 {
		w.inline(`<`+heading+` id="%s">`, anchor(p, s))
	} else {
		w.inline(`<` + heading + `>`)
	}
	w.text(s.Title)
	w.line(`</` + heading + `>`)
	for _, b := range s.Blocks {
		switch {
		case b.Table != nil:
			w.table(b.Table)
		case b.YAML != "":
			w.line(`<pre><code>%s</code></pre>`, b.YAML)
		default:
			w.inline(`<p>`)
			w.text(b.Text)
			w.line(`</p>`)
		}
	}
}

// table writes a table. The roles remain where a narrow page shows rows as blocks.
func (w *htmlWriter) table(t *Table) {
	if len(t.Titles) == 0 {
		w.line(`<div class="table"><table role="table" class="facts">`)
	} else {
		w.line(`<div class="table"><table role="table">`)
		w.inline(`<thead role="rowgroup"><tr role="row">`)
		for _, title := range t.Titles {
			w.inline(`<th scope="col" role="columnheader">%s</th>`, title)
		}
		w.line(`</tr></thead>`)
	}
	w.line(`<tbody role="rowgroup">`)
	for _, row := range t.Rows {
		w.inline(`<tr role="row">`)
		for i, cell := range row {
			w.cell(t, i, cell)
		}
		w.line(`</tr>`)
	}
	w.line(`</tbody>`)
	w.line(`</table></div>`)
}

func (w *htmlWriter) cell(t *Table, i int, cell Text) {
	if i == 0 && len(t.Titles) == 0 {
		w.inline(`<th scope="row" role="rowheader">`)
		w.text(cell)
		w.inline(`</th>`)
		return
	}
	w.inline(`<td role="cell"`)
	if i < len(t.Titles) && t.Titles[i] != "" {
		w.inline(` data-title="%s"`, t.Titles[i])
	}
	if len(cell) == 0 {
		w.inline(` class="empty"`)
	}
	w.inline(`>`)
	w.text(cell)
	w.inline(`</td>`)
}

func (w *htmlWriter) text(t Text) {
	for _, s := range t {
		switch s.Style {
		case Code:
			w.inline(`<code>`)
			for i, part := range breakable(s.Text) {
				if i > 0 {
					w.inline(`<wbr />`)
				}
				w.inline(`%s`, part)
			}
			w.inline(`</code>`)
		case Strong:
			w.inline(`<strong>%s</strong>`, s.Text)
		case Break:
			w.inline(`<br />`)
		case Plain:
			w.inline(`%s`, s.Text)
		}
	}
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
