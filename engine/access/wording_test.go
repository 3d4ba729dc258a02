package access

import (
	"testing"
	"time"
)

// TestWordings reports failures one after another.
func TestWordings(t *testing.T) {
	now := time.Date(2030, time.January, 1, 0, 0, 0, 0, time.UTC)
	var words Wordings
	report := func(message string, patience time.Duration) string {
		_, text := words.Report("a child", "", message, now, patience)
		return text
	}
	for i, step := range []struct {
		after         time.Duration
		message, want string
		patience      time.Duration
	}{
		{0, "from 10.0.0.1:40001", "from 10.0.0.1:40001", alternation},
		{time.Second, "from 10.0.0.1:40002", "from 10.0.0.1:40001", alternation},
		{time.Second, "timeout", "timeout", alternation},
		{time.Second, "from 10.0.0.1:40003", "timeout", alternation}, // They alternate.
		{time.Minute, "timeout", "timeout", alternation},
		{alternation, "from 10.0.0.1:40004", "from 10.0.0.1:40001", alternation},
		{0, "timeout", "timeout", 0}, // A rejection is always the last one.
		{sayingMemory + time.Second, "from 10.0.0.1:40005", "from 10.0.0.1:40005", alternation},
	} {
		now = now.Add(step.after)
		if got := report(step.message, step.patience); got != step.want {
			t.Errorf("step %d: %q is reported as %q, want %q", i, step.message, got, step.want)
		}
	}
	if _, other := words.Report("another child", "", "from 10.0.0.1:40006", now, alternation); other != "from 10.0.0.1:40006" {
		t.Errorf("another child reports %q", other)
	}
}

// TestFailuresAreLoggedOnce logs a failure for half an hour, and another one in between.
func TestFailuresAreLoggedOnce(t *testing.T) {
	now := time.Date(2030, time.January, 1, 0, 0, 0, 0, time.UTC)
	var words Wordings
	logged := 0
	for i := range 180 {
		message := "from 10.0.0.1:40001"
		if i == 90 {
			message = "timeout"
		}
		if words.IsLogged("x", message, now) {
			logged++
		}
		now = now.Add(10 * time.Second)
	}
	if logged != 4 {
		t.Errorf("%d lines, want one each ten minutes and one", logged)
	}
}
