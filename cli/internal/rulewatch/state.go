package rulewatch

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"reconcel/rules/source"
)

// A State identifies the active rules files and the rejected ones. Its JSON is
// documented. It is immutable.
type State struct {
	Hash     string    `json:"hash"`  // of the active files
	Since    time.Time `json:"since"` // when they were first active
	Rejected *Rejected `json:"rejected,omitempty"`
}

// Rejected are rules files that are not active, with all errors.
type Rejected struct {
	Hash   string    `json:"hash"`
	Since  time.Time `json:"since"`
	Errors []string  `json:"errors"`
}

func (s *State) activated(hash digest) *State {
	now := &State{Hash: hash.String(), Since: time.Now()}
	if s != nil && s.Hash == now.Hash {
		now.Since = s.Since
	}
	return now
}

func (s *State) rejected(hash digest, err error) *State {
	now := &State{Hash: s.Hash, Since: s.Since, Rejected: &Rejected{Hash: hash.String(), Since: time.Now()}}
	for _, e := range split(err) {
		now.Rejected.Errors = append(now.Rejected.Errors, e.Error())
	}
	return now
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
		successful: gauge("reconcel_rules_last_reload_successful", "Whether the last reload of the rules files succeeded (1) or not (0)."),
		since:      gauge("reconcel_rules_last_reload_success_timestamp_seconds", "Time at which the active rules were loaded."),
		valid:      gauge("reconcel_rules_valid_for_cluster", "Whether the active rules are valid for the current schemas of the cluster (1) or not (0)."),
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
