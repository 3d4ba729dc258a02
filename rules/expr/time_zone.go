package expr

import (
	"fmt"
	"strings"
	"time"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// takesTimeZone reports whether a function reads a part of a time, in a time zone that may be its argument.
func takesTimeZone(function string) bool {
	switch function {
	case "getFullYear", "getMonth", "getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear", "getHours", "getMinutes",
		"getSeconds", "getMilliseconds":
		return true
	}
	return false
}

// checkTimeZone returns what is wrong with a literal time zone.
func checkTimeZone(function, zone string) error {
	switch {
	case zone == machineZone:
		return fmt.Errorf("%s(): %q is the time zone of the machine on which reconcel runs: write %s", function, zone,
			timeZones)
	case function != cronFunction && strings.Contains(zone, ":"):
		return nil // CEL checks the offset when it runs.
	}
	if _, err := readZone(zone); err != nil {
		return fmt.Errorf("%s(): %q is not a time zone: write %s", function, zone, timeZones)
	}
	return nil
}

const (
	machineZone = "Local"
	timeZones   = "a name such as Europe/Berlin, or an offset such as +02:00"
)

// inTimeZone rejects the time zone of the machine, and says what is wrong with others.
func inTimeZone(function string, run func(operands) ref.Val) func(operands) ref.Val {
	return func(a operands) ref.Val {
		zone, named := a[1].(types.String)
		if zone == machineZone {
			return zoneOfMachine(function)
		}
		v := run(a)
		if _, ofTime := a[0].(types.Timestamp); named && ofTime && types.IsError(v) {
			return unknownZone(function)
		}
		return v
	}
}

// readZone reads the name of a time zone, or an offset.
func readZone(zone string) (*time.Location, error) {
	if !strings.Contains(zone, ":") {
		return time.LoadLocation(zone)
	}
	if !strings.HasPrefix(zone, "-") && !strings.HasPrefix(zone, "+") {
		zone = "+" + zone
	}
	at, err := time.Parse("-07:00", zone)
	if err != nil {
		return nil, err
	}
	_, offset := at.Zone() // The location may be that of the machine.
	return time.FixedZone("", offset), nil
}

// locationOf returns the time zone that an argument of a function names, or an error.
func locationOf(function, name string) (*time.Location, ref.Val) {
	if name == machineZone {
		return nil, zoneOfMachine(function)
	}
	zone, err := readZone(name)
	if err != nil {
		return nil, unknownZone(function)
	}
	return zone, nil
}

func zoneOfMachine(function string) ref.Val {
	return failf("%s() does not take the time zone of the machine: write %s", function, timeZones)
}

func unknownZone(function string) ref.Val {
	return failf("%s() does not know the time zone: write %s", function, timeZones)
}
