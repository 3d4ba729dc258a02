package rulewatch

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"reconcel/engine/inventory"
	"reconcel/rules/source"
)

// A State identifies the active rules and the rejected ones. Its JSON is
// documented. It is immutable.
type State struct {
	Hash     string    `json:"hash"`  // of the active files
	Since    time.Time `json:"since"` // when they were first active
	Rejected *Rejected `json:"rejected,omitempty"`
	// InvalidForCluster are the errors of active rules that are not valid for the schemas of the cluster.
	InvalidForCluster []string `json:"invalidForCluster,omitempty"`
}

// Rejected are rules files that are not active, with all errors.
type Rejected struct {
	Hash   string    `json:"hash"`
	Since  time.Time `json:"since"`
	Errors []string  `json:"errors"`

	what string
	kept kept
}

// An installation records so many errors, and so many bytes of each: annotations have a limit.
const (
	mostRecorded = 10
	mostOfError  = 1000
)

// Record returns what an installation records of rejected files, or else of active ones that are not valid for
// the cluster, or nil.
func (s *State) Record() *inventory.Rejected {
	r := &inventory.Rejected{Hash: s.Hash, Since: time.Now(), Active: true}
	all := s.InvalidForCluster
	switch {
	case s.Rejected != nil:
		all = s.Rejected.Errors
		r = &inventory.Rejected{Hash: s.Rejected.Hash, What: s.Rejected.what, Kept: s.Rejected.kept.String(),
			Since: s.Rejected.Since}
	case len(all) == 0:
		return nil
	}
	r.Since = r.Since.UTC().Truncate(time.Second)
	for _, text := range all[:min(len(all), mostRecorded)] {
		r.Errors = append(r.Errors, strings.ToValidUTF8(text[:min(len(text), mostOfError)], ""))
	}
	r.More = len(all) - len(r.Errors)
	return r
}

func (s *State) activated(hash digest) *State {
	now := &State{Hash: hash.String(), Since: time.Now()}
	if s != nil && s.Hash == now.Hash {
		now.Since = s.Since
	}
	return now
}

func (s *State) rejected(what string, kept kept, hash digest, wrong []error) *State {
	now := *s
	now.Rejected = &Rejected{hash.String(), time.Now(), texts(wrong), what, kept}
	return &now
}

func (s *State) invalidForCluster(all []error) *State {
	now := *s
	now.InvalidForCluster = texts(all)
	return &now
}

func texts(all []error) (texts []string) {
	for _, e := range all {
		texts = append(texts, e.Error())
	}
	return texts
}

// A digest identifies a set of files.
type digest [sha256.Size]byte

func digestOf(files []source.File, unread source.Errors) digest {
	h := sha256.New()
	add := func(b []byte) {
		_ = binary.Write(h, binary.BigEndian, int64(len(b))) // A hash never fails.
		h.Write(b)
	}
	for _, f := range files {
		add([]byte(f.Name))
		add(f.Data)
		for _, t := range f.Beside {
			add([]byte(t.Path))
			add([]byte(t.Text + t.Wrong))
		}
	}
	for _, e := range unread {
		add([]byte(e.Error()))
	}
	return digest(h.Sum(nil))
}

// String returns a prefix that is long enough to identify the files.
func (d digest) String() string { return hex.EncodeToString(d[:6]) }

// Metrics describe the active rules and whether they are valid.
type Metrics struct {
	successful, since, valid prometheus.Gauge
	info                     *prometheus.GaugeVec
}

// NewMetrics registers the metrics.
func NewMetrics(r prometheus.Registerer) *Metrics {
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	}
	m := &Metrics{
		successful: gauge("reconcel_rules_last_reload_successful",
			"Whether the last reload of the rules files succeeded (1) or not (0)."),
		since: gauge("reconcel_rules_last_reload_success_timestamp_seconds",
			"Time at which the active rules were loaded."),
		valid: gauge("reconcel_rules_valid_for_cluster",
			"Whether the active rules are valid for the current schemas of the cluster (1) or not (0)."),
		info: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "reconcel_rules_info", Help: "Constant 1, labelled with the hash of the active rules files.",
		}, []string{"hash"}),
	}
	r.MustRegister(m.successful, m.since, m.info, m.valid)
	return m
}

func (m *Metrics) activated(hash digest) {
	m.successful.Set(1)
	m.since.SetToCurrentTime()
	m.info.Reset()
	m.info.WithLabelValues(hash.String()).Set(1)
}

func (m *Metrics) rejected() { m.successful.Set(0) }
