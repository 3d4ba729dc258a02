package output

import (
	"sync"
	"time"
)

// A Damper finds repeated lines, so that they are not printed again. It forgets all
// lines when there are many, so that lines with names in them cannot fill the
// memory. It is safe for concurrent use.
type Damper struct {
	Every time.Duration // after which a line may be repeated; 0: never
	mu    sync.Mutex
	last  map[string]time.Time
}

// IsDue records a line, and reports whether to print it now.
func (d *Damper) IsDue(line string, now time.Time) bool {
	const many = 1000
	d.mu.Lock()
	defer d.mu.Unlock()
	if last, known := d.last[line]; known && (d.Every == 0 || now.Sub(last) < d.Every) {
		return false
	}
	if len(d.last) >= many || d.last == nil {
		d.last = map[string]time.Time{}
	}
	d.last[line] = now
	return true
}
