package decode

import (
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// A style says what a string consists of.
type style int

const (
	plain   style = iota // its bytes are its text
	foreign              // it has bytes beyond ASCII, which may be invalid
	escaped              // it has escapes
)

// quoted reads a string, and returns its bytes between the quotes. They are valid until the
// next read.
func (d *Decoder) quoted() ([]byte, error) {
	raw, _, err := d.scanString()
	return raw, err
}

// text reads a string. The result is valid until the next read.
func (d *Decoder) text() ([]byte, error) {
	raw, is, err := d.scanString()
	if err != nil || is == plain || is == foreign && utf8.Valid(raw) {
		return raw, err
	}
	d.scratch = unquote(d.scratch[:0], raw)
	return d.scratch, nil
}

func (d *Decoder) scanString() (raw []byte, is style, err error) {
	outer := d.mark
	if outer < 0 {
		d.mark = d.pos
	}
	start := d.pos + 1 - d.mark
	d.pos++
	is, err = d.scanText()
	if err == nil {
		raw = d.buf[d.mark+start : d.pos-1]
	}
	d.mark = outerMark(outer, d.mark)
	return raw, is, err
}

// scanText reads up to the closing quote.
func (d *Decoder) scanText() (is style, err error) {
	for {
		for i, c := range d.buf[d.pos:] {
			if c >= ' ' && c != '"' && c != '\\' {
				if c >= utf8.RuneSelf {
					is = max(is, foreign)
				}
				continue
			}
			d.pos += i
			switch c {
			case '"':
				d.pos++
				return is, nil
			case '\\':
				is = escaped
				if err := d.scanEscape(); err != nil {
					return is, err
				}
			default:
				return is, d.unexpected("text")
			}
			goto again
		}
		d.pos = len(d.buf)
		if err := d.fill(); err != nil {
			return is, err
		}
	again:
	}
}

// scanEscape reads a backslash and what belongs to it.
func (d *Decoder) scanEscape() error {
	d.pos++
	c, err := d.next()
	if err != nil {
		return err
	}
	switch c {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		d.pos++
		return nil
	case 'u':
		d.pos++
	default:
		return d.unexpected("an escape")
	}
	for range 4 {
		c, err := d.next()
		if err != nil {
			return err
		}
		if hexValue(c) < 0 {
			return d.unexpected("a hexadecimal digit")
		}
		d.pos++
	}
	return nil
}

func hexValue(c byte) rune {
	switch {
	case '0' <= c && c <= '9':
		return rune(c - '0')
	case 'a' <= c && c <= 'f':
		return rune(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return rune(c-'A') + 10
	}
	return -1
}

// unquote appends the text of a valid string. As encoding/json does, it replaces invalid
// UTF-8 and half surrogate pairs.
func unquote(out, raw []byte) []byte {
	for i := 0; i < len(raw); {
		switch c := raw[i]; {
		case c == '\\':
			var r rune
			if r, i = unescape(raw, i); r < utf8.RuneSelf {
				out = append(out, byte(r))
			} else {
				out = utf8.AppendRune(out, r)
			}
		case c < utf8.RuneSelf:
			out = append(out, c)
			i++
		default:
			r, size := utf8.DecodeRune(raw[i:])
			out = utf8.AppendRune(out, r)
			i += size
		}
	}
	return out
}

// unescape returns the character of the escape at i, and the index after it.
func unescape(raw []byte, i int) (rune, int) {
	switch c := raw[i+1]; c {
	case 'b':
		return '\b', i + 2
	case 'f':
		return '\f', i + 2
	case 'n':
		return '\n', i + 2
	case 'r':
		return '\r', i + 2
	case 't':
		return '\t', i + 2
	case 'u':
	default:
		return rune(c), i + 2
	}
	r := codeUnit(raw[i:])
	if i += 6; !utf16.IsSurrogate(r) {
		return r, i
	}
	if pair := utf16.DecodeRune(r, codeUnit(raw[i:])); pair != unicode.ReplacementChar {
		return pair, i + 6
	}
	return unicode.ReplacementChar, i
}

// codeUnit returns the value of an escape \uXXXX at the beginning of raw, or -1.
func codeUnit(raw []byte) rune {
	if len(raw) < 6 || raw[0] != '\\' || raw[1] != 'u' {
		return -1
	}
	var r rune
	for _, c := range raw[2:6] {
		r = r<<4 | hexValue(c)
	}
	return r
}
