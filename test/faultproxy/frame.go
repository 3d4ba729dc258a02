package faultproxy

import (
	"bytes"
	"encoding/json"
)

// FrameEffect is what a FrameFault does to an event of a watch.
type FrameEffect string

// The effects.
const (
	Drop      FrameEffect = "drop"      // the event is lost
	Duplicate FrameEffect = "duplicate" // the event comes twice
	Garble    FrameEffect = "garble"    // the line is not JSON
	Truncate  FrameEffect = "truncate"  // the watch ends within the line
	Cut       FrameEffect = "cut"       // the watch ends before the event
	Status    FrameEffect = "status"    // an ERROR event with a status comes instead, and the watch ends
	Silence   FrameEffect = "silence"   // from this event on nothing comes, and the watch stays open
)

// FrameFault describes what happens to some events of watches.
type FrameFault struct {
	Effect FrameEffect `json:"effect"`
	Code   int         `json:"code,omitempty"` // of Status
	Skip   int         `json:"skip,omitempty"` // the number of matching events that pass first
	Times  int         `json:"times,omitempty"`
}

// Frame is one event of a watch.
type Frame struct {
	Request
	Type string // ADDED, MODIFIED, DELETED, BOOKMARK, ERROR
	Line []byte // JSON
}

// InjectedFrames is a FrameFault at work.
type InjectedFrames struct {
	*Trigger
	fault FrameFault
	match func(Frame) bool
}

// InjectFrames applies a fault to the events that match, until it is lifted. A silent
// watch ends then, because it cannot resume.
func (p *Proxy) InjectFrames(match func(Frame) bool, fault FrameFault) *InjectedFrames {
	in := &InjectedFrames{newTrigger(fault.Skip, fault.Times), fault, match}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.frameFaults = append(p.frameFaults, in)
	return in
}

// frameFaultOf returns the fault of an event, or nil.
func (p *Proxy) frameFaultOf(request Request, line []byte) *InjectedFrames {
	p.mu.Lock()
	faults := p.frameFaults
	p.mu.Unlock()
	if len(faults) == 0 {
		return nil
	}
	var event struct{ Type string }
	if json.Unmarshal(line, &event) != nil {
		return nil // The end of a watch is no event.
	}
	for _, in := range faults {
		if f := (Frame{request, event.Type, line}); in.active() && in.match(f) && in.strike() {
			return in
		}
	}
	return nil
}

// spoil returns what the client gets instead of a line, and whether the watch ends then.
func (in *InjectedFrames) spoil(line []byte) (instead []byte, ends bool) {
	switch in.fault.Effect {
	case Drop:
		return nil, false
	case Duplicate:
		return bytes.Repeat(line, 2), false
	case Garble:
		return append(bytes.Repeat([]byte("}"), len(line)-1), '\n'), false
	case Truncate:
		return line[:len(line)/2], true
	case Status:
		text, _ := json.Marshal(map[string]any{"type": "ERROR",
			"object": Answer{Code: in.fault.Code}.status()}) // A Status can be encoded.
		return append(text, '\n'), true
	default:
		return nil, true
	}
}
