package source

import "testing"

func TestNearest(t *testing.T) {
	names := []string{"self", "deployment", "n", "image", "migrate"}
	for word, want := range map[string]string{"slef": "self", "sel": "self", "deploymet": "deployment", "f": "", "nope": "", "imgae": "image", "migration": "migrate"} {
		if got := Nearest(word, names); got != want {
			t.Errorf("%s: got %q, want %q", word, got, want)
		}
	}
}
