package faultproxy_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"reconcel/test/faultproxy"
)

// line returns an event of a watch.
func line(version int) string {
	return fmt.Sprintf(`{"type":"ADDED","object":{"metadata":{"resourceVersion":"%d"}}}`, version)
}

func everyFrame(faultproxy.Frame) bool { return true }

func TestFrameFaults(t *testing.T) {
	one, two, three := line(1), line(2), line(3)
	for effect, want := range map[faultproxy.FrameEffect][]string{
		faultproxy.Drop:      {one, three},
		faultproxy.Duplicate: {one, two, two, three},
		faultproxy.Garble:    {one, strings.Repeat("}", len(two)), three},
		faultproxy.Truncate:  {one, two[:len(two)/2], ""},
		faultproxy.Cut:       {one, ""},
		faultproxy.Status:    {one, `"code":410`, ""},
	} {
		t.Run(string(effect), func(t *testing.T) {
			api, proxy := start(t)
			in := proxy.InjectFrames(everyFrame, faultproxy.FrameFault{Effect: effect, Code: 410, Skip: 1, Times: 1})
			lines := watch(t, proxy.URL()+pods)
			go func() {
				for _, l := range []string{one, two, three} {
					select {
					case api.events <- l:
					case <-t.Context().Done():
					}
				}
			}()
			for _, w := range want {
				if got := next(t, lines); got != w && (w == "" || !strings.Contains(got, w)) {
					t.Errorf("got %q, want %q", got, w)
				}
			}
			if hits, _ := in.Hits(); hits != 1 {
				t.Errorf("%d hits, want 1", hits)
			}
		})
	}
}

func TestSilentWatchStaysOpen(t *testing.T) {
	api, proxy := start(t)
	in := proxy.InjectFrames(everyFrame, faultproxy.FrameFault{Effect: faultproxy.Silence})
	lines := watch(t, proxy.URL()+pods)
	api.events <- line(1)
	select {
	case got, open := <-lines:
		t.Errorf("got %q, open: %t, want silence", got, open)
	case <-time.After(50 * time.Millisecond):
	}
	in.Lift()
	if got := next(t, lines); got != "" {
		t.Errorf("after the silence: got %q, want the end", got)
	}
}
