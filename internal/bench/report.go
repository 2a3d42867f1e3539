package bench

import (
	"time"
)

// Setting is what a measurement was made on.
type Setting struct {
	Machine  []string      `json:"machine"`
	Database []string      `json:"database"`
	Pairs    int           `json:"pairs"`
	Duration time.Duration `json:"duration_ns"`
}

// Comparison is what was measured of the arms.
type Comparison struct {
	Setting
	// LiveClaims is how many claims were alive beside the arms.
	LiveClaims int   `json:"live_claims"`
	Rows       []Row `json:"rows,omitempty"`
	// Memory is the most bytes that the server's process had in memory at 256 callers; 0
	// where that was not measured.
	Memory int64 `json:"server_memory_bytes,omitempty"`
	// Connections are those of the server to the database.
	Connections int `json:"server_connections,omitempty"`
	// Held are arms once more, beside a writing transaction that stayed open for HeldFor.
	Held    []Row         `json:"held_rows,omitempty"`
	HeldFor time.Duration `json:"held_ns,omitempty"`
	Latency []Latency     `json:"latency,omitempty"`

	// River are the settings with which River was fastest, Handlers how many at the same time
	// the inbox was fastest with, where they were measured.
	River    string `json:"river,omitempty"`
	Handlers int    `json:"inbox_handlers,omitempty"`

	legend string
}

// Row compares an arm with its base. An event is a claim and a completion, or one answer
// to a duplicate.
type Row struct {
	Arm     string `json:"arm"`
	Callers int    `json:"callers"`
	Base    string `json:"base"`
	// Echo: it is grpc-go without a database, a limit rather than a way.
	Echo bool `json:"echo,omitempty"`
	// Ratio is of the arm's rate to its base's.
	Ratio Interval `json:"ratio"`
	// CPURatio is of the base's CPU for an event, PostgreSQL and server together, to the
	// arm's: like Ratio, more is better. Of the inbox's arms that of the callers counts, too.
	CPURatio *Interval `json:"cpu_ratio,omitempty"`
	// PostgresRatio is of the arm's CPU of PostgreSQL for an event to the base's.
	PostgresRatio *Interval `json:"postgres_ratio,omitempty"`
	// Goal is the least Ratio that was aimed at, GoalPostgres the most of PostgresRatio. 0:
	// none.
	Goal         float64 `json:"goal,omitempty"`
	GoalPostgres float64 `json:"goal_postgres,omitempty"`
	Ours         Cost    `json:"ours"`
	Bases        Cost    `json:"bases"`
}

// Cost is what an event costs. What could not be told is -1.
type Cost struct {
	// PerSecond is the median rate.
	PerSecond float64 `json:"events_per_second"`
	// CPU in microseconds.
	Postgres float64 `json:"postgres_cpu_us"`
	Server   float64 `json:"server_cpu_us"`
	Client   float64 `json:"client_cpu_us"`
	// WAL is bytes of write-ahead log.
	WAL float64 `json:"wal_bytes"`
	// Buffers is pages looked at, in memory or not.
	Buffers float64 `json:"buffers"`
	// Memory is the most bytes that the server's process had in memory at the end of a slot.
	Memory int64 `json:"server_memory_bytes,omitempty"`
}

func (s *site) setting() Setting {
	return Setting{Machine: machine(s.dir), Database: s.settings, Pairs: s.Pairs, Duration: s.Duration}
}

func (s *site) rows(arms []*arm, runs map[*arm][]run, buffers func(*arm) float64) []Row {
	var rows []Row
	for _, a := range arms {
		if a.base == nil {
			continue
		}
		w := Row{
			Arm: a.String(), Callers: a.callers, Base: a.base.String(), Echo: a.way == overEcho, Goal: a.goal, GoalPostgres: a.goalPostgres,
			Ours: s.cost(runs[a], buffers(a)), Bases: s.cost(runs[a.base], buffers(a.base)),
		}
		var rates, cpus, postgres ratios
		for i := range runs[a] {
			ours, base := &runs[a][i], &runs[a.base][i]
			rates.add(ours.rate(), base.rate())
			cpus.add(base.cpu(), ours.cpu())
			postgres.add(ours.postgres(), base.postgres())
		}
		w.Ratio = intervalOf(rates)
		if s.postmaster != 0 && a.way != overEcho && len(cpus) > 0 {
			w.CPURatio = new(intervalOf(cpus))
		}
		if s.postmaster != 0 && a.way != overEcho && len(postgres) > 0 {
			w.PostgresRatio = new(intervalOf(postgres))
		}
		rows = append(rows, w)
	}
	return rows
}

// ratios are those of the rounds that have one.
type ratios []float64

func (r *ratios) add(x, y float64) {
	if x > 0 && y > 0 {
		*r = append(*r, x/y)
	}
}

// known is an arm's buffers; -1 for one that has none.
func known(buffers map[*arm]float64, a *arm) float64 {
	if n, ok := buffers[a]; ok {
		return n
	}
	return -1
}

// cost adds up what the runs of an arm used.
func (g *stage) cost(runs []run, buffers float64) Cost {
	c := Cost{Buffers: buffers}
	var rates []float64
	var use usage
	var events int64
	for i := range runs {
		rates = append(rates, runs[i].rate())
		events += runs[i].events
		use = use.plus(runs[i].use)
		c.Memory = max(c.Memory, runs[i].memory)
	}
	c.PerSecond = median(rates)
	each := func(n int64) float64 { return float64(n) / float64(max(events, 1)) }
	c.Postgres, c.Server, c.Client, c.WAL = each(use.postgres), each(use.server), each(use.client), each(use.wal)
	if g.postmaster == 0 {
		c.Postgres = -1
	}
	if !accounted() {
		c.Server, c.Client = -1, -1
	}
	return c
}

// mostMemory is the most that the server had with the most callers.
func mostMemory(arms []*arm, runs map[*arm][]run) int64 {
	var most int64
	for _, a := range arms {
		if a.way != overServer || a.callers != 256 {
			continue
		}
		for i := range runs[a] {
			most = max(most, runs[a][i].memory)
		}
	}
	return most
}
