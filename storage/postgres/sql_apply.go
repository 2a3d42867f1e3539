package postgres

import (
	"strconv"
	"strings"
	"sync"
)

// parts says which parts of apply.sql a batch needs.
type parts uint8

const (
	partUpdate    parts = 1 << iota // ue: existing event records
	partInsert                      // ie: new ones
	partResource                    // ur
	partEffect                      // uf
	partAttempt                     // aa
	partMember                      // mm
	partNewEffect                   // nf: new ones
	allParts      = partUpdate | partInsert | partResource | partEffect | partAttempt | partMember | partNewEffect
)

var partNames = map[string]parts{"ue": partUpdate, "ie": partInsert, "ur": partResource, "uf": partEffect, "aa": partAttempt, "mm": partMember, "nf": partNewEffect}

// applied is one form of apply.sql: its text, and its parameters in their order.
type applied struct {
	sql    string
	params []string
}

var applyForms [allParts + 1]struct {
	once sync.Once
	form applied
}

// applyForm is apply.sql with the parts that are needed and no others.
func applyForm(p parts) *applied {
	f := &applyForms[p]
	f.once.Do(func() { f.form = compose(read("apply"), p) })
	return &f.form
}

func compose(sql string, p parts) applied {
	var sb strings.Builder
	keep := true
	for line := range strings.SplitSeq(sql, "\n") {
		if name, ok := strings.CutPrefix(line, "--["); ok {
			name, absent := strings.CutPrefix(name, "no ")
			keep = (p&partNames[name] != 0) != absent
			continue
		}
		if line == "--]" {
			keep = true
			continue
		}
		if keep {
			sb.WriteString(line)
			sb.WriteByte('\n')
		}
	}
	return number(strip(sb.String()))
}

// number gives the named parameters their numbers.
func number(sql string) applied {
	var a applied
	var sb strings.Builder
	seen := map[string]int{}
	for {
		i := strings.IndexByte(sql, ':')
		if i < 0 {
			sb.WriteString(sql)
			break
		}
		if sql[i+1] == ':' { // a cast
			sb.WriteString(sql[:i+2])
			sql = sql[i+2:]
			continue
		}
		sb.WriteString(sql[:i])
		end := i + 1
		for end < len(sql) && (sql[end] == '_' || sql[end] >= 'a' && sql[end] <= 'z') {
			end++
		}
		name := sql[i+1 : end]
		if seen[name] == 0 {
			a.params = append(a.params, name)
			seen[name] = len(a.params)
		}
		sb.WriteString("$" + strconv.Itoa(seen[name]))
		sql = sql[end:]
	}
	a.sql = sb.String()
	return a
}
