package rulewatch

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"reconcel/engine/inventory"
	"reconcel/rules"
	"reconcel/rules/source"
)

// TestStart starts processes with files, and with what the installation has of the files that were active last.
func TestStart(t *testing.T) {
	const privileged = "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n- {name: p, for: {apiVersion: example.com/v1, kind: A}, children: [{id: n, template: {apiVersion: v1, kind: Node, metadata: {name: n}}}]}\n"
	unfit := errors.New("rules.yaml:4:3: not for this cluster")
	for _, test := range []struct {
		name    string
		file    string // "": it does not exist
		last    string // "": nothing is stored
		lastErr error
		check   error // of the file, with the schemas of the cluster
		active  string
		wrong   string // about the file
	}{
		{"valid", named("new"), named("old"), nil, nil, "new", ""},
		{"invalid", named("B!"), named("old"), nil, nil, "old", "rules.yaml:4:"},
		{"missing", "", named("old"), nil, nil, "old", "cannot be read"},
		{"invalid for the cluster", named("new"), named("old"), nil, unfit, "old", unfit.Error()},
		{"valid last, and no more for the cluster", named("new"), named("new"), nil, unfit, "new", ""},
		{"never valid", named("B!"), "", nil, nil, "", "rules.yaml:4:"},
		{"never valid for the cluster", named("new"), "", nil, unfit, "", unfit.Error()},
		{"not valid in this version", named("B!"), named("A!"), nil, nil, "", "rules.yaml:4:"},
		{"not allowed any more", named("B!"), privileged, nil, nil, "", "rules.yaml:4:"},
		{"damaged", named("B!"), "", inventory.ErrDamaged, nil, "", "rules.yaml:4:"},
	} {
		t.Run(test.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "rules.yaml")
			if test.file != "" {
				write(t, file, test.file)
			}
			o, _, metrics := watchOf(file)
			o.Check = func(context.Context, *rules.Loaded) error { return test.check }
			o.Last = func(context.Context) ([]source.File, error) {
				if test.last == "" {
					return nil, test.lastErr
				}
				return []source.File{{Name: file, Data: []byte(test.last)}}, nil
			}
			read, unread := o.Read()
			w := New(o, rules.Compile(read, unread...))
			program, err := w.Approve(t.Context())
			if test.active == "" {
				if err == nil || !strings.Contains(err.Error(), test.wrong) {
					t.Errorf("it starts, or ends with %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := program.Primaries()[0].Rules[0].Name; got != test.active {
				t.Errorf("rule %q is active", got)
			}
			rejected := w.State().Rejected
			if (rejected != nil) != (test.wrong != "") || rejected != nil && !strings.Contains(strings.Join(rejected.Errors, " "), test.wrong) {
				t.Errorf("rejected is %v", rejected)
			}
			if got := value(t, metrics) == 1; got != (rejected == nil) {
				t.Errorf("the metric says %v", got)
			}
		})
	}
}

// TestFilesBecomeValid starts with the last valid rules, and corrects the file.
func TestFilesBecomeValid(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rules.yaml")
	write(t, file, named("B!"))
	o, f, metrics := watchOf(file)
	o.Last = func(context.Context) ([]source.File, error) {
		return []source.File{{Name: file, Data: []byte(named("old"))}}, nil
	}
	var published []*State
	o.Publish = func(s *State) { published = append(published, s) }
	read, _ := o.Read()
	w := New(o, rules.Compile(read))
	if _, err := w.Approve(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	running := w.Start(ctx)
	awaitState(t, f, "", 1)
	write(t, file, named("new"))
	awaitState(t, f, "new", 1)
	awaitValue(t, metrics, 1)
	cancel()
	running.Wait()
	var hashes []string
	for _, s := range published {
		if s.Rejected != nil {
			hashes = append(hashes, s.Rejected.Hash)
		}
	}
	if last := published[len(published)-1]; len(hashes) != 2 || hashes[0] != hashes[1] || last.Rejected != nil {
		t.Errorf("published: %v, at last %v", hashes, last)
	}
}

// TestFileAppears starts without rules, as their file is missing, and creates it.
func TestFileAppears(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rules.yaml")
	o, f, metrics := watchOf(file)
	o.Last = func(context.Context) ([]source.File, error) { return []source.File{}, nil }
	read, unread := o.Read()
	w := New(o, rules.Compile(read, unread...))
	program, err := w.Approve(t.Context())
	if err != nil || program == nil || len(program.Primaries()) > 0 {
		t.Fatalf("it starts with %v (%v)", program, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	running := w.Start(ctx)
	awaitState(t, f, "", 1)
	write(t, file, named("new"))
	awaitState(t, f, "new", 1)
	awaitValue(t, metrics, 1)
	cancel()
	running.Wait()
}
