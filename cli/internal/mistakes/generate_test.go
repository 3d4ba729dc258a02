package mistakes

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

var update = flag.Bool("update", false, "generate the mistakes again, and record what is found")

// An operator makes mistakes of a class.
type operator struct {
	class string
	n     int // how many of them are chosen
	crd   bool
	// from matches where the mistake can be. If a group "at" or "at2" matches, only that
	// part is replaced. ^ and $ match at lines.
	from string
	// to are the possible replacements; \1 is the first group of the
	// match, and \0 all of it. If edit is set, it edits what is replaced instead.
	to   []string
	edit func(r *rand.Rand, s string) string
	// ends matches other lines where a message is right, too: a mistake in how two parts
	// fit together may be in either one.
	ends string
	// above: the message belongs to what contains the text, which is removed.
	above bool
}

// A site is a place in a file where an operator can make its mistake.
type site struct {
	in, crd string
	text    string
	match   []int // of the regular expression
	at      [2]int
}

// generate returns the mutants of all operators. It keeps what was judged of old ones.
func generate(b *bench, old []mutant) []mutant {
	judgements := map[string]string{}
	for _, m := range old {
		judgements[m.key()] = m.Sound
	}
	var all []mutant
	seen := map[string]bool{}
	for _, op := range operators {
		h := fnv.New64a()
		h.Write([]byte(op.class))
		r := rand.New(rand.NewPCG(1, h.Sum64()))
		from := regexp.MustCompile("(?m)" + op.from)
		sites := op.sites(b, from)
		r.Shuffle(len(sites), func(i, j int) { sites[i], sites[j] = sites[j], sites[i] })
		made := 0
		for _, s := range sites {
			if made == op.n {
				break
			}
			m, isMutant := op.mutate(r, s)
			if !isMutant || seen[m.key()] {
				continue
			}
			seen[m.key()] = true
			m.Sound = judgements[m.key()]
			all = append(all, m)
			made++
		}
		if made == 0 {
			b.Errorf("%s: no place in the sound rules for it", op.class)
		}
	}
	slices.SortStableFunc(all, func(x, y mutant) int { return cmp.Compare(x.Class, y.Class) })
	return all
}

// key identifies a mutant while its file changes elsewhere.
func (m mutant) key() string {
	return m.In + m.CRD + "\x00" + m.Old + "\x00" + m.New + "\x00" + fmt.Sprint(m.Line, m.Byte)
}

// sites returns where the operator can make its mistake.
func (op operator) sites(b *bench, from *regexp.Regexp) []site {
	var all []site
	add := func(in, crd, text string) {
		skip := prose(text)
		for _, match := range from.FindAllStringSubmatchIndex(text, -1) {
			at := [2]int{match[0], match[1]}
			for g, name := range from.SubexpNames() {
				if strings.HasPrefix(name, "at") && match[2*g] >= 0 {
					at = [2]int{match[2*g], match[2*g+1]}
				}
			}
			if !skip[strings.Count(text[:at[0]], "\n")] {
				all = append(all, site{in, crd, text, match, at})
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b.sound)) {
		s := b.sound[name]
		if !op.crd {
			add(name, "", b.texts[s.rules])
			continue
		}
		folder := b.crdFolder(s)
		entries, err := os.ReadDir(folder)
		if err != nil {
			b.Fatal(err)
		}
		for _, e := range entries {
			if text := read(b.T, filepath.Join(folder, e.Name())); strings.Contains(text, "kind: CustomResourceDefinition") && defines(text, b.texts[s.rules]) {
				add(name, e.Name(), text)
			}
		}
	}
	return all
}

var groupOfCRD, kindOfCRD = regexp.MustCompile(`(?m)^  group: (.*)$`), regexp.MustCompile(`(?m)^    kind: (.*)$`)

// defines reports whether a CRD defines the kind that rules are for.
func defines(crd, rules string) bool {
	group, kind := groupOfCRD.FindStringSubmatch(crd)[1], kindOfCRD.FindStringSubmatch(crd)[1]
	return regexp.MustCompile(`  for:\n(    #.*\n)*    apiVersion: ` + regexp.QuoteMeta(group) + `/\w+\n    kind: ` + kind + "\n").MatchString(rules)
}

// prose returns the lines, from 0, that are comments, descriptions or parts of a text of
// several lines.
func prose(text string) map[int]bool {
	skip := map[int]bool{}
	block := -1 // the indentation of the key of a block text
	for i, line := range strings.Split(text, "\n") {
		trimmed := strings.TrimLeft(line, " ")
		indent := len(line) - len(trimmed)
		if block >= 0 && (trimmed == "" || indent > block) {
			skip[i] = true
			continue
		}
		block = -1
		if blockText.MatchString(line) {
			block = indent
		}
		skip[i] = strings.HasPrefix(trimmed, "#") || strings.HasPrefix(trimmed, "description:") || trimmed == ""
	}
	return skip
}

var blockText = regexp.MustCompile(`(: |- )[|>]-?$`)

// mutate makes the mistake at a place. A change that decodes to the same data does not count.
func (op operator) mutate(r *rand.Rand, s site) (mutant, bool) {
	start, end := s.at[0], s.at[1]
	old := s.text[start:end]
	var text string
	if op.edit != nil {
		text = op.edit(r, old)
	} else {
		text = expand(op.to[r.IntN(len(op.to))], s)
	}
	changed := s.text[:start] + text + s.text[end:]
	if text == old || same(s.text, changed) {
		return mutant{}, false
	}
	line := strings.Count(s.text[:start], "\n") + 1
	column := start - strings.LastIndexByte(s.text[:start], '\n') - 1
	m := mutant{Class: op.class, In: s.in, CRD: s.crd, Line: line, Byte: column, Old: old, New: text}
	for i := range strings.Count(text, "\n") + 1 {
		m.At = append(m.At, line+i)
	}
	if op.above {
		m.At = append(m.At, above(s.text, line)...)
	}
	if op.ends != "" {
		m.At = append(m.At, ends(changed, regexp.MustCompile(op.ends))...)
	}
	slices.Sort(m.At)
	m.At = slices.Compact(m.At)
	return m, true
}

var reference = regexp.MustCompile(`\\[0-9]`)

// expand puts the groups of a match into a replacement.
func expand(to string, s site) string {
	return reference.ReplaceAllStringFunc(to, func(ref string) string {
		g := int(ref[1] - '0')
		if 2*g >= len(s.match) || s.match[2*g] < 0 {
			return ""
		}
		return s.text[s.match[2*g]:s.match[2*g+1]]
	})
}

// same reports whether two texts are the same data.
func same(a, b string) bool {
	var x, y any
	errX, errY := yaml.Unmarshal([]byte(a), &x), yaml.Unmarshal([]byte(b), &y)
	return errX == nil && errY == nil && reflect.DeepEqual(x, y)
}

// above returns the lines of the key and of the first field of the map that a line is in.
func above(text string, line int) []int {
	lines := strings.Split(text, "\n")
	indent := func(i int) int { return len(lines[i]) - len(strings.TrimLeft(lines[i], " ")) }
	own := indent(line - 1)
	if strings.HasPrefix(lines[line-1][own:], "- ") {
		own += 2
	}
	out := []int{}
	for i := line - 2; i >= 0; i-- {
		switch at := indent(i); {
		case strings.TrimSpace(lines[i]) == "" || at > own:
		case at == own:
			out = []int{i + 1}
		case at == own-2 && strings.HasPrefix(lines[i][at:], "- "): // It is the first field of the map.
			return []int{i + 1}
		default:
			return append(out, i+1)
		}
	}
	return out
}

// ends returns the lines that match.
func ends(text string, match *regexp.Regexp) []int {
	var out []int
	for i, line := range strings.Split(text, "\n") {
		if match.MatchString(line) {
			out = append(out, i+1)
		}
	}
	return out
}

// typo makes one typing error in a word: a letter is missing, doubled, swapped or wrong.
func typo(r *rand.Rand, word string) string {
	letters := bytes.Clone([]byte(word))
	i := 1 + r.IntN(max(1, len(letters)-2))
	switch r.IntN(4) {
	case 0:
		return word[:i] + word[i+1:]
	case 1:
		return word[:i] + word[i:i+1] + word[i:]
	case 2:
		if i+1 < len(letters) && letters[i] != letters[i+1] {
			letters[i], letters[i+1] = letters[i+1], letters[i]
			return string(letters)
		}
		return word[:i] + word[i+1:]
	}
	letters[i] = "abcdefghijklmnopqrstuvwxyz"[r.IntN(26)]
	return string(letters)
}

var upper = regexp.MustCompile(`[A-Z]`)

// otherCase writes a name in camel case as people who are used to other languages do.
func otherCase(r *rand.Rand, word string) string {
	switch r.IntN(3) {
	case 0:
		return strings.ToLower(word)
	case 1:
		return upper.ReplaceAllStringFunc(word, func(s string) string { return "_" + strings.ToLower(s) })
	}
	return strings.ToUpper(word[:1]) + word[1:]
}

// wrongEnum writes a value of an enum in another case, or with a typing error.
func wrongEnum(r *rand.Rand, word string) string {
	switch r.IntN(3) {
	case 0:
		return strings.ToLower(word)
	case 1:
		return strings.ToUpper(word[:1]) + strings.ToLower(word[1:]) + "s"
	}
	return typo(r, word)
}

// oneLess removes one or two blanks.
func oneLess(r *rand.Rand, blanks string) string { return blanks[1+r.IntN(min(2, len(blanks))):] }

// otherType replaces a literal of CEL by one of another type.
func otherType(r *rand.Rand, literal string) string {
	types := []string{`"0"`, "[]", "false", "0"}
	for {
		other := types[r.IntN(len(types))]
		if other[0] != literal[0] {
			return other
		}
	}
}
