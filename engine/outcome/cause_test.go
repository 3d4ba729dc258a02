package outcome

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"reconcel/rules"
	"reconcel/test/apifacts"
)

// toldOf returns what a primary says of an answer to an apply of a child.
func toldOf(err error) Outcome {
	at := Position{Rule: "web", Subject: `child "svc"`}
	o := Outcome{At: at}
	o.Cause, o.Text = CauseOf(ClassifyAnswer(err))
	return o
}

// invalid returns the answer of an API server that rejects fields.
func invalid(message string, causes ...metav1.StatusCause) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid,
		Message: message, Details: &metav1.StatusDetails{Causes: causes}}}
}

func answered(code int32, message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Code: code, Message: message}}
}

// TestMessagesBeginWithTheCause compares the beginning of a message with the reason in the API server's answer.
func TestMessagesBeginWithTheCause(t *testing.T) {
	port := metav1.StatusCause{Field: "spec.ports[0].nodePort", Message: "Invalid value: 30080: provided port is already allocated"}
	selector := metav1.StatusCause{Field: "spec.selector", Message: `Invalid value: {"matchLabels":{"a: b":"c"}}: field is immutable`}
	for want, err := range map[string]error{
		"provided port is already allocated":                     invalid(`Service "web" is invalid: spec.ports[0].nodePort: `+port.Message, port),
		"field is immutable; provided port is already allocated": invalid(`Service "web" is invalid: [x]`, port, selector),
		"data": fmt.Errorf("write status: %w", invalid(`Secret "x" is invalid: data: Forbidden: data`,
			metav1.StatusCause{Field: "data", Message: "Forbidden: data"})),
		`supported values: "Running", "Stopped"`: invalid(`Website "x" is invalid: status.phase: x`,
			metav1.StatusCause{Message: `Unsupported value: "Sleeping": supported values: "Running", "Stopped"`}),
		`Duplicate value: "a"`: invalid(`Service "x" is invalid: y`, metav1.StatusCause{Message: `Duplicate value: "a"`}),
		"Required value":       invalid(`Service "x" is invalid: y`, metav1.StatusCause{Message: "Required value"}),
		`spec.x in body must be of type integer: "string"`: invalid(`X "x" is invalid: y`,
			metav1.StatusCause{Message: `Invalid value: "string": spec.x in body must be of type integer: "string"`}),
		"image: tag \"latest\" is not allowed": answered(http.StatusForbidden, `admission webhook "tags.acme.io" denied the request: image: tag "latest" is not allowed`),
		"no owner: set the label team": answered(http.StatusUnprocessableEntity,
			`deployments.apps "web" is forbidden: ValidatingAdmissionPolicy 'team' with binding 'team' denied request: no owner: set the label team`),
		"exceeded quota: pods, requested: pods=1, used: pods=1, limited: pods=1": answered(http.StatusForbidden,
			`pods "web" is forbidden: exceeded quota: pods, requested: pods=1, used: pods=1, limited: pods=1`),
		`service "hook" not found`: answered(http.StatusInternalServerError, `Internal error occurred: failed calling webhook "w.acme.io": failed to call webhook: `+
			`Post "https://hook.acme.svc:443/v?timeout=10s": service "hook" not found`),
		"controller may not patch services in namespace shop; apply what `reconcel rbac` prints": answered(http.StatusForbidden,
			`services "web" is forbidden: User "controller" cannot patch resource "services" in API group "" in the namespace "shop"`),
		"connection refused": errors.New(`Patch "https://127.0.0.1:6443/api/v1/namespaces/a/services/b": dial tcp 127.0.0.1:6443: connect: connection refused`),
	} {
		if got := toldOf(err).Message(); !strings.HasPrefix(got, want+` (rule "web", child "svc": `) {
			t.Errorf("the message does not begin with %q:\n%s", want, got)
		}
	}
}

// TestRecordedAnswersAppearWhole tells each recorded answer of the API server in a message. Those that are too long
// lose what the API server quotes in the middle.
func TestRecordedAnswersAppearWhole(t *testing.T) {
	_, recorded, err := apifacts.Read()
	if err != nil {
		t.Fatal(err)
	}
	messages := recorded.Messages
	for about, r := range recorded.Applies {
		err := answered(r.Code, r.Message)
		if !IsRejection(err) {
			t.Errorf("%s is retried: %s", about, r.Message)
		}
		messages = append(messages, r.Message)
	}
	for _, message := range messages {
		err := answered(http.StatusUnprocessableEntity, message)
		cause := lastClause(message)
		if _, rest, found := strings.Cut(message, " is invalid: "); found && !strings.HasPrefix(rest, "[") {
			field, text, _ := strings.Cut(rest, ": ")
			err = invalid(message, metav1.StatusCause{Field: field, Message: text})
			cause, _, _ = strings.Cut(causeOfField(text), "\n")
		}
		for _, got := range []string{toldOf(err).Message(), toldOf(err).Logged()} {
			switch {
			case len(got) > MostMessage:
				t.Errorf("%d bytes:\n%s", len(got), got)
			case !strings.HasPrefix(got, Shorten(cause, MostMessage)):
				t.Errorf("it does not begin with %q:\n%s", cause, got)
			case len(message)+2*len(cause) < MostMessage && !strings.Contains(got, Shorten(message, MostMessage)):
				t.Errorf("it lacks a part of %q:\n%s", message, got)
			case !strings.HasSuffix(strings.TrimSuffix(got, ")"), end(Shorten(message, len(message)), 100)):
				t.Errorf("it does not end as %q:\n%s", message, got)
			}
		}
	}
	if len(messages) < 150 {
		t.Errorf("only %d messages are recorded", len(messages))
	}
}

// end returns the last bytes of a text.
func end(s string, most int) string { return s[max(0, len(s)-most):] }

// TestLongCausesStay tells an answer whose cause alone fills a message.
func TestLongCausesStay(t *testing.T) {
	cause := strings.Repeat("because ", 110)
	got := toldOf(answered(http.StatusForbidden, `admission webhook "w" denied the request: `+cause)).Message()
	if !strings.HasPrefix(got, strings.TrimSpace(cause)) || len(got) > MostMessage {
		t.Error(got)
	}
	got = toldOf(answered(http.StatusForbidden, `admission webhook "w" denied the request: `+strings.Repeat(cause, 3)+"end")).Message()
	if !strings.HasPrefix(got, "because") || !strings.HasSuffix(got, "end") || len(got) > MostMessage {
		t.Error(got)
	}
}

// TestOwnWordsKeepTheirPosition tells a mistake in rules, whose words begin with what is wrong.
func TestOwnWordsKeepTheirPosition(t *testing.T) {
	o := toldOf(&TerminalError{string(rules.RuleError), 0, errors.New("ConfigMap/a: metadata.namespace is missing, ConfigMap is namespaced")})
	if want := `rule "web", child "svc": ConfigMap/a: metadata.namespace is missing, ConfigMap is namespaced`; o.Message() != want {
		t.Error(o.Message())
	}
}

// TestSecretsAreNotQuoted tells a rejected Secret.
func TestSecretsAreNotQuoted(t *testing.T) {
	err := invalid(`Secret "x" is invalid: data: Invalid value: "hunter2": field is immutable when hunter2`,
		metav1.StatusCause{Field: "data", Message: `Invalid value: "hunter2": field is immutable when hunter2`})
	got := toldOf(WithholdSecret(Secrets, err)).Message()
	if want := "the API server answered 422 Invalid [data] (its message is withheld: it may quote the Secret)"; !strings.HasPrefix(got, want) || strings.Contains(got, "hunter2") {
		t.Error(got)
	}
}
