package rulewatch

import (
	"fmt"
	"slices"
	"time"

	"reconcel/cli/internal/ruleobjects"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// A unit is what becomes active or not as one: the rules files together, or one Rules object.
type unit struct {
	name   string             // that of the file of an object; "" for the rules files
	object ruleobjects.Object // zero for the rules files
	files  []source.File
	unread source.Errors
	// lost: its own version is unknown, so that the one that was active last stays.
	lost bool
}

// unitOf returns the name of the unit that a file belongs to.
func unitOf(file string) string {
	if syntax.ObjectIn(file) != "" {
		return file
	}
	return ""
}

// older reports whether a unit keeps the name of a rule that another one has, too.
func (u *unit) older(other *unit) bool {
	if u.name == "" || other.name == "" {
		return u.name == ""
	}
	if a, b := u.object.Created, other.object.Created; !a.Equal(b) {
		return a.Before(b)
	}
	return u.name < other.name
}

// versions are the files that were active last, by unit.
type versions struct {
	of    map[string][]source.File
	known bool
}

// versionsOf returns the versions of the units in a set of files. If files is nil, they are unknown.
func versionsOf(files []source.File) versions {
	v := versions{of: map[string][]source.File{}, known: files != nil}
	for _, f := range files {
		if f.Name != nothing.Name {
			v.of[unitOf(f.Name)] = append(v.of[unitOf(f.Name)], f)
		}
	}
	return v
}

// objects returns the files that are objects.
func (v versions) objects() (files []source.File) {
	for name, of := range v.of {
		if name != "" {
			files = append(files, of...)
		}
	}
	return files
}

// nothing stands for the rules of an installation without any, so that this is known after a restart, too.
var nothing = source.File{Name: "no Rules objects",
	Data: []byte("apiVersion: " + syntax.APIVersion + "\nkind: " + syntax.Kind + "\nrules: []\n")}

// contents are what the files and objects have, and what became of it.
type contents struct {
	units   []unit
	unknown error // why the objects are not known, or nil
	hash    digest
	next    *composition // what becomes active as soon as the engine accepts it, or nil
	settled bool         // everything is active
	reason  string       // why something is not
	retry   time.Time
}

// contentsOf returns contents with the files and the current objects. last are the versions of objects that are lost.
func (w *Watch) contentsOf(files unit, last versions) *contents {
	c := &contents{}
	if w.Objects == nil || len(files.files) > 0 || len(files.unread) > 0 {
		c.units = append(c.units, files)
	}
	if w.Objects != nil {
		var all []ruleobjects.Object
		all, c.unknown = w.Objects.List()
		for i := range all {
			u := unit{name: all[i].File.Name, object: all[i], lost: all[i].Lost}
			if err := all[i].Err; err != nil {
				u.unread = source.Errors{source.NewError(source.Pos{File: u.name}, "",
					fmt.Sprintf("cannot be read: %v", err), "")}
			} else if !u.lost {
				u.files = []source.File{all[i].File}
			}
			c.units = append(c.units, u)
		}
	}
	var wanted []source.File
	var unread source.Errors
	for i := range c.units {
		if u := &c.units[i]; u.lost {
			wanted = append(wanted, last.of[u.name]...)
		} else {
			wanted, unread = append(wanted, u.files...), append(unread, u.unread...)
		}
	}
	c.hash = digestOf(w.orNothing(wanted), unread)
	return c
}

// orNothing returns files, or what stands for no objects.
func (w *Watch) orNothing(files []source.File) []source.File {
	if len(files) == 0 && w.Objects != nil {
		return []source.File{nothing}
	}
	return files
}

// namesIn returns the names of the rules in files, with their positions: of each rule as often as it counts.
func (w *Watch) namesIn(files []source.File) []source.String {
	of := digestOf(files, nil)
	if names, known := w.names[of]; known {
		return names
	}
	names := []source.String{}
	parsed, _ := syntax.Parse(files)
	for _, r := range parsed.Rules {
		names = append(names, r.Name)
	}
	w.names[of] = names
	return names
}

// positionOf returns where files have the name of a rule.
func (w *Watch) positionOf(rule string, files []source.File) source.Pos {
	names := w.namesIn(files)
	return names[slices.IndexFunc(names, func(s source.String) bool { return s.Value == rule })].Pos
}
