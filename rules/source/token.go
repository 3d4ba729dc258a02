package source

// A Token is a part of an expression, for completion in editors. Space and comments
// are no tokens.
type Token struct {
	Text       string
	Start, End int  // characters from the start of the text
	Name       bool // an identifier, a keyword or a number
	Quoted     bool // a string, also one that is never closed
}

// Tokens returns the tokens of an expression, which may be incomplete.
func Tokens(text []rune) (all []Token) {
	for i := 0; i < len(text); {
		kind, end := nextToken(text, i)
		end = min(end, len(text))
		if kind != tokenComment && !isBlank(text[i]) {
			all = append(all, Token{
				Text: string(text[i:end]), Start: i, End: end,
				Name: kind == tokenIdentifier, Quoted: kind == tokenString || kind == tokenOpen,
			})
		}
		i = end
	}
	return all
}

func isBlank(r rune) bool { return r == ' ' || r == '\t' || r == '\n' || r == '\r' }

// ExpressionAt returns where the expression of ${...} that holds a character of a text
// starts and ends, and whether there is one. It need not be closed.
func ExpressionAt(text []rune, at int) (start, end int, found bool) {
	for i := 0; i+1 < len(text) && i+2 <= at; {
		switch {
		case text[i] == '$' && text[i+1] == '$' && i+2 < len(text) && text[i+2] == '{':
			i += 3 // $${ is literal.
			continue
		case text[i] != '$' || text[i+1] != '{':
			i++
			continue
		}
		start = i + 2
		end, _ = closingBrace(text, start)
		if end < 0 {
			return start, len(text), true
		}
		if at <= end {
			return start, end, true
		}
		i = end + 1
	}
	return 0, 0, false
}
