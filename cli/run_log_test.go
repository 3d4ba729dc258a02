package cli

import (
	"bytes"
	"log/slog"
	"testing"

	"github.com/spf13/pflag"
	"k8s.io/klog/v2"
)

// TestBodiesAreNotLogged expects no request bodies from the client library at any log
// level. The library logs them at verbosity 8.
func TestBodiesAreNotLogged(t *testing.T) {
	before := slog.Default()
	defer func() {
		slog.SetDefault(before)
		klog.ClearLogger()
	}()
	var log bytes.Buffer
	s := &runFlags{}
	s.flags(pflag.NewFlagSet("run", pflag.ContinueOnError))
	if err := s.logLevel.Set("debug"); err != nil {
		t.Fatal(err)
	}
	newLog(&log, s)
	for v := klog.Level(6); v <= 10; v++ {
		if klog.V(v).Enabled() || klog.Background().V(int(v)).Enabled() {
			t.Errorf("verbosity %d is on", v)
		}
		klog.V(v).Info("body")
		klog.Background().V(int(v)).Info("body")
	}
	if log.Len() > 0 {
		t.Errorf("logged: %s", &log)
	}
	for _, level := range []string{"trace", "debug-4", "DEBUG-8", "-8"} {
		if s.logLevel.Set(level) == nil {
			t.Errorf("there is a level %s", level)
		}
	}
}
