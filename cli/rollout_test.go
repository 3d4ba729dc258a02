package cli

import (
	"bytes"
	"testing"

	"reconcel/engine/inventory"
)

// TestRolloutStatus prints rollouts with and without rollout.first.
func TestRolloutStatus(t *testing.T) {
	var out bytes.Buffer
	c := rolloutCommand{&printer{stdout: &out, stderr: &out}}
	if err := c.printRollouts(installations{all: []installation{{rollouts: map[string]inventory.Rollout{
		"Bar.example.com": {State: inventory.Progressing, Updated: 2, Resources: 10, First: "canary=yes", FirstResources: 3},
		"Foo.example.com": {State: inventory.Failed, Updated: 5, Resources: 10, First: "canary=yes", FirstResources: 3,
			Message: "Foo default/a is stalled"},
		"Web.example.com": {State: inventory.Paused, Updated: 4, Resources: 10},
	}}}}); err != nil {
		t.Fatal(err)
	}
	const want = `KIND             STATE        REACHED  MESSAGE
Bar.example.com  Progressing  2 of 10  first those with canary=yes: 2 of 3
Foo.example.com  Failed       5 of 10  Foo default/a is stalled; first those with canary=yes: 3 of 3
Web.example.com  Paused       4 of 10  
`
	if got := out.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
