package expr

// A path is one place in a variable.
type path struct {
	trail string // as people write it: deployment.status.conditions[0]
	live  bool   // it may be missing because it is not there yet
	// liveField names the field below which self is live.
	liveField string
	role      role
}

// A role is what a place is to the object that it belongs to.
type role int

const (
	ordinary       role = iota
	objectList          // a list of live objects
	wholeObject         // an object
	objectMetadata      // its metadata
	changing            // what the API server changes there with every write
)

// anyKey stands for a key that only the run shows, and for an index.
const anyKey = ""

// step returns the place one step below p. The text is what the step looks
// like, the key its field or anyKey.
func (p path) step(text, key string) path {
	return path{
		trail: p.trail + text,
		live:  p.live || p.role == objectList || p.liveField != "" && p.liveField == key,
		role:  p.role.step(key),
	}
}

// step follows an object down to what changes by itself. An unknown key may
// be the one that leads there.
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
