package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// competitors returns those that were measured, in the order of the columns.
func competitors(all []Result) []string {
	return slices.DeleteFunc(slices.Clone(Competitors), func(name string) bool {
		return !slices.ContainsFunc(all, func(r Result) bool { return r.Competitor == name })
	})
}

// results are those of one N.
type results []Result

// of returns the values of a figure for a competitor, by round.
func (rs results) of(f figure, competitor string) map[int]float64 {
	values := map[int]float64{}
	for _, r := range rs {
		if value, ok := f.of(r); ok && r.Competitor == competitor {
			values[r.Round] = value
		}
	}
	return values
}

// median returns the median of a figure over the rounds, and false if no round has it.
func (rs results) median(f figure, competitor string) (float64, bool) {
	values := rs.of(f, competitor)
	return median(slices.Collect(maps.Values(values))), len(values) > 0
}

// ratio returns the median of the ratios of reconcel to another competitor, each within
// one round, and false if no round has both.
func (rs results) ratio(f figure, competitor string) (float64, bool) {
	var ratios []float64
	others := rs.of(f, competitor)
	for round, value := range rs.of(f, Reconcel) {
		if other := others[round]; other > 0 {
			ratios = append(ratios, value/other)
		}
	}
	return median(ratios), len(ratios) > 0
}

// shows reports whether a figure has a limit, or a value other than 0.
func (rs results) shows(f figure) bool {
	return len(f.limits) > 0 || slices.ContainsFunc(rs, func(r Result) bool {
		value, _ := f.of(r)
		return value != 0
	})
}

// byN groups the results by N, in ascending order.
func byN(all []Result) (ns []int, grouped map[int]results) {
	grouped = map[int]results{}
	for _, r := range all {
		grouped[r.N] = append(grouped[r.N], r)
	}
	return slices.Sorted(maps.Keys(grouped)), grouped
}

// Tables returns for each N, in Markdown: what must hold, and all figures; and for the least N the requests, which are
// the same for each Foo.
func Tables(all []Result) string {
	var b strings.Builder
	ns, grouped := byN(all)
	for i, n := range ns {
		rs := grouped[n]
		fmt.Fprintf(&b, "### %d Foos\n\n", n)
		writeLimits(&b, n, rs)
		writeHead(&b, rs)
		for _, f := range figures {
			if rs.shows(f) {
				writeRow(&b, rs, f)
			}
		}
		b.WriteString("\n")
		if i == 0 {
			writeRequests(&b, rs)
		}
	}
	return b.String()
}

// writeLimits writes what must hold for reconcel, beside what was measured. A limit that compares
// needs both.
func writeLimits(b *strings.Builder, n int, rs results) {
	measured := competitors(rs)
	if !slices.Contains(measured, Reconcel) {
		return
	}
	b.WriteString("| reconcel | measured | must be | holds |\n|---|---|---|---|\n")
	for _, f := range figures {
		for _, l := range f.limits {
			if n < l.from || l.competitor != "" && !slices.Contains(measured, l.competitor) {
				continue
			}
			name, decimals := f.title(), f.decimals
			value, known := rs.median(f, Reconcel)
			if l.competitor != "" {
				name, decimals = f.name+", ÷ "+l.competitor, 2
				value, known = rs.ratio(f, l.competitor)
			}
			holds := holding(value <= l.most, known)
			fmt.Fprintf(b, "| %s | %s | ≤ %g | %s |\n", name, cell(value, known, decimals), l.most, holds)
		}
	}
	b.WriteString("\n")
}

// writeHead writes the head of a table with a column for each competitor.
func writeHead(b *strings.Builder, rs results) {
	columns := competitors(rs)
	fmt.Fprintf(b, "| | %s |\n|---|%s\n", strings.Join(columns, " | "), strings.Repeat("---|", len(columns)))
}

func writeRow(b *strings.Builder, rs results, f figure) {
	cells := []string{f.title()}
	for _, competitor := range competitors(rs) {
		value, ok := rs.median(f, competitor)
		cells = append(cells, cell(value, ok, f.decimals))
	}
	fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
}

func cell(value float64, ok bool, decimals int) string {
	if !ok {
		return "–"
	}
	return fmt.Sprintf("%.*f", decimals, value)
}

func holding(holds, known bool) string {
	switch {
	case !known:
		return "not measured"
	case holds:
		return "yes"
	default:
		return "**no**"
	}
}

// writeRequests writes the requests of the last round's create and update.
func writeRequests(b *strings.Builder, rs results) {
	last, all := map[string]Result{}, map[string]bool{}
	for _, r := range rs {
		if r.Round >= last[r.Competitor].Round {
			last[r.Competitor] = r
		}
	}
	for _, r := range last {
		for _, step := range []Step{r.Create, r.Update} {
			for request := range step.Requests {
				all[request] = true
			}
		}
	}
	b.WriteString("Requests, create / update, in the last round:\n\n")
	writeHead(b, rs)
	for _, request := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(b, "| `%s` |", request)
		for _, competitor := range competitors(rs) {
			created, updated := last[competitor].Create.Requests[request], last[competitor].Update.Requests[request]
			if created+updated == 0 {
				b.WriteString(" – |")
				continue
			}
			fmt.Fprintf(b, " %d / %d |", created, updated)
		}
		b.WriteString("\n")
	}
	b.WriteString("\n")
}
