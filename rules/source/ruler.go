package source

// stride is the number of characters between two marks of a ruler.
const stride = 256

// A ruler finds characters in a long line without reading the line again: a file may
// consist of a single line.
type ruler struct {
	marks []int // the byte of every stride-th character
	width int   // characters in the line
}

// ruler returns the ruler of a line, or nil for a short line.
func (t *text) ruler(line int) *ruler {
	s := t.line(line)
	if len(s) <= stride {
		return nil
	}
	r := t.rulers[line]
	if r != nil {
		return r
	}
	r = &ruler{}
	for i := range s {
		if r.width%stride == 0 {
			r.marks = append(r.marks, i)
		}
		r.width++
	}
	t.rulers[line] = r
	return r
}
