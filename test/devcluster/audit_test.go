package devcluster

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

const auditLog = `{"auditID":"1","stage":"ResponseStarted","requestURI":"/api/v1/pods?watch=true","verb":"watch","user":{"username":"reconcel"},"objectRef":{"resource":"pods","apiVersion":"v1"},"responseStatus":{"code":200},"requestReceivedTimestamp":"2026-01-02T03:04:05.000001Z","stageTimestamp":"2026-01-02T03:04:06.000001Z"}
{"auditID":"2","stage":"ResponseComplete","requestURI":"/apis/example.com/v1/namespaces/a/foos/x/status","verb":"patch","user":{"username":"reconcel"},"objectRef":{"resource":"foos","subresource":"status","namespace":"a","name":"x","apiGroup":"example.com","apiVersion":"v1"},"responseStatus":{"code":200},"requestReceivedTimestamp":"2026-01-02T03:04:07.000001Z","stageTimestamp":"2026-01-02T03:04:08.000001Z"}
{"auditID":"1","stage":"ResponseComplete","requestURI":"/api/v1/pods?watch=true","verb":"watch","user":{"username":"reconcel"},"objectRef":{"resource":"pods","apiVersion":"v1"},"responseStatus":{"code":200},"requestReceivedTimestamp":"2026-01-02T03:04:05.000001Z","stageTimestamp":"2026-01-02T03:04:09.000001Z"}
{"auditID":"3","stage":"ResponseCom`

func TestReadRequests(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	log, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	// The reader returns every request once, however much of the log exists at a time.
	var reader auditReader
	var requests []Request
	for from := 0; from < len(auditLog); from += 100 {
		if _, err := log.WriteString(auditLog[from:min(from+100, len(auditLog))]); err != nil {
			t.Fatal(err)
		}
		if requests, err = reader.matching(path, func(Request) bool { return true }); err != nil {
			t.Fatal(err)
		}
	}
	if len(requests) != 2 {
		t.Fatalf("got %d requests, want 2: a watch that ended is one, half a line is none: %v", len(requests), requests)
	}
	if found, err := reader.matching(path, Request.IsWrite); err != nil || len(found) != 1 {
		t.Errorf("got %d writes, want 1: %v", len(found), err)
	}
	watch, patch := requests[0], requests[1]
	if want := time.Date(2026, 1, 2, 3, 4, 9, 1000, time.UTC); !watch.Completed.Equal(want) {
		t.Errorf("the watch completed at %v, want %v, when it ended", watch.Completed, want)
	}
	if got, want := patch.String(), "patch foos.example.com/status"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if watch.IsWrite() || !patch.IsWrite() {
		t.Error("a patch is a write and a watch is none")
	}
	if !patch.Between(patch.Received, patch.Received.Add(1)) || patch.Between(patch.Received.Add(-1), patch.Received) {
		t.Error("an interval includes its beginning and not its end")
	}
}
