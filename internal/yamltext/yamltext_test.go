package yamltext

import (
	"testing"

	"sigs.k8s.io/yaml"
)

func TestTextReadsBackAsTheSame(t *testing.T) {
	for _, want := range []string{"", "plain", "1", "true", "a\u0085b", "\u0085", `a\u0085b`, "a\u2028b\u2029c", "a\tb\nc\r\n", "<&>", "\ufeffa", "é"} {
		text, err := Marshal(map[string]string{"text": want})
		if err != nil {
			t.Errorf("%q: %v", want, err)
			continue
		}
		var got map[string]string
		if err := yaml.Unmarshal(text, &got); err != nil || got["text"] != want {
			t.Errorf("%q reads back as %q from %q: %v", want, got["text"], text, err)
		}
	}
}

func TestWhatHasNoForm(t *testing.T) {
	if text, err := Marshal(func() {}); err == nil {
		t.Errorf("a function is %q", text)
	}
	if text, err := FromJSON([]byte(`{"a":`)); err == nil {
		t.Errorf("incomplete JSON is %q", text)
	}
}
