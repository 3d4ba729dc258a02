package decode

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// token skips white space, and returns the byte after it without reading it.
func (d *Decoder) token() (byte, error) {
	for {
		for d.pos < len(d.buf) {
			switch c := d.buf[d.pos]; c {
			case ' ', '\t', '\r', '\n':
				d.pos++
			default:
				return c, nil
			}
		}
		if err := d.fill(); err != nil {
			return 0, err
		}
	}
}

func (d *Decoder) expect(c byte) error {
	switch found, err := d.token(); {
	case err != nil:
		return err
	case found != c:
		return d.unexpected(strconv.QuoteRune(rune(c)))
	}
	d.pos++
	return nil
}

// unexpected is the error about the next byte.
func (d *Decoder) unexpected(wanted string) error {
	return fmt.Errorf("invalid JSON: %q at byte %d, expected %s", d.buf[d.pos], d.offset+int64(d.pos), wanted)
}

// literal reads a word.
func (d *Decoder) literal(word string) error {
	for i := range word {
		switch c, err := d.next(); {
		case err != nil:
			return err
		case c != word[i]:
			return d.unexpected(word)
		}
		d.pos++
	}
	return nil
}

// next returns the next byte without reading it.
func (d *Decoder) next() (byte, error) {
	for d.pos == len(d.buf) {
		if err := d.fill(); err != nil {
			return 0, err
		}
	}
	return d.buf[d.pos], nil
}

// fill reads more of the stream. Bytes before the mark, or before the position if there is
// no mark, are dropped. The end of the stream is io.ErrUnexpectedEOF.
func (d *Decoder) fill() error {
	keep := d.pos
	if d.mark >= 0 && d.mark < keep {
		keep = d.mark
	}
	if keep > 0 {
		n := copy(d.buf, d.buf[keep:])
		d.buf, d.pos, d.offset = d.buf[:n], d.pos-keep, d.offset+int64(keep)
		if d.mark >= 0 {
			d.mark -= keep
		}
	}
	if len(d.buf) == cap(d.buf) {
		d.buf = append(make([]byte, 0, 2*cap(d.buf)+1), d.buf...)
	}
	n, err := d.reader.Read(d.buf[len(d.buf):cap(d.buf)])
	d.buf = d.buf[:len(d.buf)+n]
	switch {
	case n > 0:
		return nil // An error comes again at the next call.
	case err == io.EOF:
		return io.ErrUnexpectedEOF
	}
	return err
}

// digits reads a number. The bytes are valid until the next read.
func (d *Decoder) digits() ([]byte, error) {
	outer := d.mark
	if outer < 0 {
		d.mark = d.pos
	}
	start := d.pos - d.mark
	err := d.scanNumber()
	token := d.buf[d.mark+start : d.pos]
	d.mark = outerMark(outer, d.mark)
	return token, err
}

// outerMark returns the mark after a token: none, or that of an enclosing value, which fill
// may have moved.
func outerMark(outer, now int) int {
	if outer < 0 {
		return -1
	}
	return now
}

func (d *Decoder) scanNumber() error {
	if c, _ := d.more(); c == '-' {
		d.pos++
	}
	switch c, err := d.more(); {
	case err != nil:
		return err
	case c == '0':
		d.pos++
	case '1' <= c && c <= '9':
		if err := d.scanDigits(); err != nil {
			return err
		}
	default:
		return d.wrongNumber(c)
	}
	c, err := d.more()
	if err != nil {
		return err
	}
	if c == '.' {
		d.pos++
		if err := d.scanDigits(); err != nil {
			return err
		}
	}
	if c, err = d.more(); err != nil {
		return err
	}
	if c == 'e' || c == 'E' {
		d.pos++
		if c, _ := d.more(); c == '+' || c == '-' {
			d.pos++
		}
		return d.scanDigits()
	}
	return nil
}

// scanDigits reads at least one digit.
func (d *Decoder) scanDigits() error {
	for n := 0; ; n++ {
		c, err := d.more()
		switch {
		case err != nil:
			return err
		case '0' <= c && c <= '9':
			d.pos++
		case n == 0:
			return d.wrongNumber(c)
		default:
			return nil
		}
	}
}

func (d *Decoder) wrongNumber(c byte) error {
	if c == 0 && d.pos == len(d.buf) {
		return io.ErrUnexpectedEOF
	}
	return d.unexpected("a value")
}

// more is next, but gives 0 at the end of the stream, which may end a number.
func (d *Decoder) more() (byte, error) {
	c, err := d.next()
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return 0, nil
	}
	return c, err
}

// number reads a number: an int64 if it is whole and fits, and otherwise a float64.
func (d *Decoder) number() (any, error) {
	token, err := d.digits()
	if err != nil {
		return nil, err
	}
	text := string(token)
	if !strings.Contains(text, ".") {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n, nil
		}
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, fmt.Errorf("invalid JSON: a number before byte %d is too large", d.offset+int64(d.pos))
	}
	return f, nil
}
