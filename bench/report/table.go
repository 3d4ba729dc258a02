package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// competitors returns the columns of the tables. Some are measured only where asked.
func competitors(all []Result) []string {
	return slices.DeleteFunc([]string{Floor, Baseline, Applier, Kro, Reconcel}, func(name string) bool {
		optional := name == Applier || name == Kro
		return optional && !slices.ContainsFunc(all, func(r Result) bool { return r.Competitor == name })
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

// holds reports whether a limit holds, and false for known if there is no value.
func (rs results) holds(f figure, l limit) (holds, known bool) {
	value, known := rs.median(f, Reconcel)
	if l.competitor != "" {
		value, known = rs.ratio(f, l.competitor)
	}
	return value <= l.most, known
}

// byN groups the results by N, in ascending order.
func byN(all []Result) (ns []int, grouped map[int]results) {
	grouped = map[int]results{}
	for _, r := range all {
		grouped[r.N] = append(grouped[r.N], r)
	}
	return slices.Sorted(maps.Keys(grouped)), grouped
}

// Tables returns a table of all figures for each N in Markdown, and one of the requests.
func Tables(all []Result) string {
	var b strings.Builder
	ns, grouped := byN(all)
	for _, n := range ns {
		rs := grouped[n]
		columns := competitors(rs)
		fmt.Fprintf(&b, "### %d Foos\n\n", n)
		fmt.Fprintf(&b, "| | %s | reconcel ÷ %s | reconcel ÷ %s | must be | holds |\n", strings.Join(columns, " | "), Baseline, Floor)
		fmt.Fprintf(&b, "|---|%s---|---|---|---|\n", strings.Repeat("---|", len(columns)))
		for _, f := range figures {
			writeRow(&b, rs, f)
		}
		b.WriteString("\n")
		writeRequests(&b, rs)
	}
	return b.String()
}

func writeRow(b *strings.Builder, rs results, f figure) {
	name := f.name
	if f.unit != "" {
		name += " (" + f.unit + ")"
	}
	cells := []string{name}
	for _, competitor := range competitors(rs) {
		value, ok := rs.median(f, competitor)
		cells = append(cells, cell(value, ok, f.decimals))
	}
	for _, competitor := range []string{Baseline, Floor} {
		value, ok := rs.ratio(f, competitor)
		cells = append(cells, cell(value, ok, 2))
	}
	var musts, verdicts []string
	for _, l := range f.limits {
		musts = append(musts, l.String())
		verdicts = append(verdicts, verdict(rs.holds(f, l)))
	}
	cells = append(cells, strings.Join(musts, ", "), strings.Join(verdicts, ", "))
	fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
}

func cell(value float64, ok bool, decimals int) string {
	if !ok {
		return "–"
	}
	return fmt.Sprintf("%.*f", decimals, value)
}

func verdict(holds, known bool) string {
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
	columns := competitors(rs)
	fmt.Fprintf(b, "Requests, create / update, in the last round:\n\n| | %s |\n|---|%s\n", strings.Join(columns, " | "), strings.Repeat("---|", len(columns)))
	for _, request := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(b, "| `%s` |", request)
		for _, competitor := range columns {
			r := last[competitor]
			fmt.Fprintf(b, " %d / %d |", r.Create.Requests[request], r.Update.Requests[request])
		}
		b.WriteString("\n")
	}
	b.WriteString("\n")
}
