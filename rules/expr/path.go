package expr

// A path leads to a value in a variable.
type path struct {
	trail string // as written: deployment.status.conditions[0]
	live  bool   // the value may not exist yet
	// liveField is the field of self below which values may not exist yet.
	liveField string
	role      role
}

// A role is the part of an object that a path leads to.
type role int

const (
	ordinary       role = iota
	objectList          // a list of live objects
	wholeObject         // an object
	objectMetadata      // its metadata
	changing            // fields that every write changes
)

// anyKey stands for a key that is known only at run time, and for an index.
const anyKey = ""

// step returns the path of a field or element. text is the step as written, key the
// name of the field or anyKey.
func (p path) step(text, key string) path {
	return path{
		trail: p.trail + text,
		live:  p.live || p.role == objectList || p.liveField != "" && p.liveField == key,
		role:  p.role.step(key),
	}
}

// step returns the role of a field. An unknown key counts as the field that changes.
func (r role) step(key string) role {
	switch r {
	case objectList:
		return wholeObject
	case wholeObject:
		if key == "metadata" || key == anyKey {
			return objectMetadata
		}
	case objectMetadata:
		switch key {
		case "resourceVersion", "generation", "managedFields", anyKey:
			return changing
		}
	case changing:
		return changing
	}
	return ordinary
}
