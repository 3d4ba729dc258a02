package devcluster

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"
)

// Request is one request that the API server answered. For a watch, the start of the
// answer is enough. Health checks are not recorded.
type Request struct {
	User        string
	As          string // the impersonated user, empty without impersonation
	UserAgent   string
	Verb        string // get, list, watch, create, update, patch, delete, deletecollection
	Group       string // of the API, empty for the core group
	Version     string
	Resource    string // plural, empty for requests like /version
	Subresource string
	Namespace   string
	Name        string
	URI         string
	Code        int       // HTTP status
	Message     string    // of a failure
	Received    time.Time // when the server got it
	Completed   time.Time // zero while a watch is running
}

// IsWrite reports whether the request changes something. An access review does not,
// although it is a create.
func (r Request) IsWrite() bool {
	return r.Group != "authorization.k8s.io" &&
		slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, r.Verb)
}

// Between reports whether the server received the request in [from, to).
func (r Request) Between(from, to time.Time) bool {
	return !r.Received.Before(from) && r.Received.Before(to)
}

// String names the verb and the resource without the object: "patch
// foos.example.com/status".
func (r Request) String() string {
	if r.Resource == "" {
		return r.Verb + " " + r.URI
	}
	text := r.Verb + " " + r.Resource
	if r.Group != "" {
		text += "." + r.Group
	}
	if r.Subresource != "" {
		text += "/" + r.Subresource
	}
	return text
}

// Tally counts requests by String, for a failure message or a comparison.
func Tally(requests []Request) map[string]int {
	counts := map[string]int{}
	for _, r := range requests {
		counts[r.String()]++
	}
	return counts
}

// Requests returns those requests that match, in the order of their log entries.
//
//	writes, err := cluster.Requests(func(r devcluster.Request) bool {
//		return r.User == "reconcel" && r.IsWrite() && r.Resource != "leases" && r.Between(from, to)
//	})
//
// A request is logged when its answer is complete, which its sender may notice a
// moment earlier: a test that expects requests should wait for them, and one
// that expects none should first wait for a request that it makes itself.
func (c *Cluster) Requests(match func(Request) bool) ([]Request, error) {
	if c.Borrowed() {
		return nil, ErrBorrowed
	}
	return c.audit.matching(c.said.AuditLog, match)
}

// responseStarted is the stage of a watch that is running.
const responseStarted = "ResponseStarted"

// auditEvent is the part of an audit.k8s.io/v1 Event that this package reads.
type auditEvent struct {
	AuditID    string
	Stage      string
	RequestURI string
	Verb       string
	User       struct{ Username string }
	UserAgent  string

	ImpersonatedUser struct{ Username string }
	ObjectRef        struct {
		Resource, Subresource, Namespace, Name, APIGroup, APIVersion string
	}
	ResponseStatus struct {
		Code    int
		Message string
	}
	RequestReceivedTimestamp time.Time
	StageTimestamp           time.Time
}

// auditReader resumes where it stopped reading a log: a waiting test polls, and the log
// soon has a hundred megabytes.
type auditReader struct {
	mu       sync.Mutex
	position int64 // in the log, after the last whole line
	requests []Request
	watches  map[string]int // the running watches, by audit ID: their index in requests
}

func (a *auditReader) matching(path string, match func(Request) bool) (found []Request, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.catchUpLocked(path); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for _, r := range a.requests {
		if match(r) {
			found = append(found, r)
		}
	}
	return found, nil
}

func (a *auditReader) catchUpLocked(path string) error {
	log, err := os.Open(path)
	if err != nil {
		return err
	}
	defer log.Close()
	if _, err := log.Seek(a.position, io.SeekStart); err != nil {
		return err
	}
	lines := bufio.NewReaderSize(log, 64<<10)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil // A last line without a line end is still being written.
		}
		if err != nil {
			return err
		}
		var event auditEvent
		if err := json.Unmarshal(line, &event); err != nil {
			return fmt.Errorf("%q: %w", line, err)
		}
		a.position += int64(len(line))
		a.addLocked(event)
	}
}

// addLocked merges the entries of one request. A watch that has ended has two.
func (a *auditReader) addLocked(event auditEvent) {
	i, running := a.watches[event.AuditID]
	switch {
	case running:
		a.requests[i] = event.request()
		delete(a.watches, event.AuditID)
		return
	case event.Stage == responseStarted:
		if a.watches == nil {
			a.watches = map[string]int{}
		}
		a.watches[event.AuditID] = len(a.requests)
	}
	a.requests = append(a.requests, event.request())
}

func (e auditEvent) request() Request {
	r := Request{
		User: e.User.Username, As: e.ImpersonatedUser.Username, UserAgent: e.UserAgent, Verb: e.Verb,
		Group: e.ObjectRef.APIGroup, Version: e.ObjectRef.APIVersion,
		Resource: e.ObjectRef.Resource, Subresource: e.ObjectRef.Subresource,
		Namespace: e.ObjectRef.Namespace, Name: e.ObjectRef.Name,
		URI: e.RequestURI, Code: e.ResponseStatus.Code, Message: e.ResponseStatus.Message,
		Received: e.RequestReceivedTimestamp,
	}
	if e.Stage != responseStarted {
		r.Completed = e.StageTimestamp
	}
	return r
}
