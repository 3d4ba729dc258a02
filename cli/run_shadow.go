package cli

import (
	"net/http"
	"time"

	"k8s.io/client-go/rest"

	"reconcel/cli/internal/dryrun"
	"reconcel/cli/internal/output"
	"reconcel/cli/internal/pretend"
	"reconcel/cli/internal/rulewatch"
	"reconcel/engine"
	"reconcel/engine/shadow"
)

// A shadowRun is what run --shadow has besides run. A nil one is that of run without the flag.
type shadowRun struct {
	ledger  *shadow.Ledger
	schemas *pretend.Schemas
}

// shadowOf returns the shadow of a run with --shadow, whose configuration then sends nothing but reads.
func shadowOf(s *runFlags, config *rest.Config) *shadowRun {
	if !s.shadow {
		return nil
	}
	config.Wrap(dryrun.Guard)
	return &shadowRun{shadow.NewLedger(time.Now()), pretend.NewSchemas()}
}

// options returns the engine's option.
func (r *shadowRun) options() *engine.Shadow {
	if r == nil {
		return nil
	}
	return pretend.New(r.schemas, r.ledger)
}

// pretend has the validator replace the schemas whenever it reads new ones. It checks no permissions to write.
func (r *shadowRun) pretend(v *rulewatch.Validator) {
	if r != nil {
		v.Pretend = r.schemas.Set
	}
}

// debug serves the report.
func (r *shadowRun) debug(mux *http.ServeMux) {
	if r == nil {
		return
	}
	mux.HandleFunc("GET /debug/shadow", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		text, _ := output.JSON(r.ledger.Report()) // This type is always valid JSON.
		_, _ = w.Write(text)                      // The client has gone if this fails.
	})
}

// tellShadow prints the report at the end.
func (a *app) tellShadow(r *shadowRun) error {
	if r == nil {
		return nil
	}
	return a.print([]byte(r.ledger.Report().Text()))
}
