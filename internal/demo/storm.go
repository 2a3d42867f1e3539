package demo

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

const (
	// maxStates is how many payloads of one folder are states of one resource.
	maxStates = 4
	// perSecond deliveries are begun in a second, in bursts.
	perSecond = 200
	burst     = 25
	// killWithin is how long after a delivery was sent its consumer may be killed. The
	// work on it takes about as long.
	killWithin = 40 * time.Millisecond
)

// event is what happened, as the provider tells it.
type event struct {
	source, id, kind string
	resource         string
	version          int64 // of the resource's state, 1 for the first
	body             []byte
}

// delivery is one time that the provider means to send an event. Until somebody answers
// 2xx it is repeated.
type delivery struct {
	event *event
	at    time.Duration // after the start
	kill  time.Duration // > 0: kill the consumer that gets it, so long after it was sent
}

// storm is what the provider does. The same one goes to both handlers.
type storm struct {
	events     []*event
	deliveries []delivery
}

// plan makes a storm; the same numbers make the same one.
func plan(payloads []Payload, events, kills int, seed uint64) *storm {
	rnd := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // a storm is to be repeatable
	s := &storm{events: eventsOf(payloads, events, rnd)}
	for _, e := range s.events {
		for range copies(rnd) {
			s.deliveries = append(s.deliveries, delivery{event: e})
		}
	}
	rnd.Shuffle(len(s.deliveries), func(i, j int) { s.deliveries[i], s.deliveries[j] = s.deliveries[j], s.deliveries[i] })
	for i := range s.deliveries {
		s.deliveries[i].at = time.Duration(i/burst*burst) * time.Second / perSecond
	}
	// The kills are spread over the storm, the last one well before its end.
	for k := range kills {
		width := max(len(s.deliveries)*3/4/kills, 1)
		i := min(k*width+rnd.IntN(width), len(s.deliveries)-1)
		s.deliveries[i].kill = time.Millisecond + time.Duration(rnd.Int64N(int64(killWithin)))
	}
	return s
}

// copies is how often an event is delivered: 1 to 5 times.
func copies(rnd *rand.Rand) int {
	weights := []int{45, 20, 15, 12, 8} // percent
	for n, x := 0, rnd.IntN(100); ; n++ {
		if x -= weights[n]; x < 0 {
			return n + 1
		}
	}
}

// eventsOf makes n events. Payloads of one folder, in the order of their names, are
// successive states of one resource. If there are too few, they come again as further
// events about further resources; if there are too many, some series are chosen.
func eventsOf(payloads []Payload, n int, rnd *rand.Rand) []*event {
	all := seriesOf(payloads)
	if len(payloads) > n {
		rnd.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	}
	var out []*event
	for round := 1; ; round++ {
		for _, series := range all {
			for _, e := range series {
				if len(out) == n {
					return out
				}
				out = append(out, e.again(round))
			}
		}
	}
}

// seriesOf cuts the payloads into the states of one resource each.
func seriesOf(payloads []Payload) [][]*event {
	var out [][]*event
	type progress struct{ seen, series int }
	folders := map[string]progress{}
	for _, p := range payloads {
		f := folders[p.Folder]
		if f.seen%maxStates == 0 {
			f.series = len(out)
			out = append(out, nil)
		}
		e := &event{source: p.Source, id: p.ID, kind: p.Type, resource: p.Folder, version: int64(f.seen%maxStates + 1), body: p.Body}
		if n := f.seen / maxStates; n > 0 {
			e.resource = fmt.Sprintf("%s/%d", p.Folder, n+1)
		}
		out[f.series] = append(out[f.series], e)
		f.seen++
		folders[p.Folder] = f
	}
	return out
}

// again is a further event with the payload, about a further resource. Where the payload
// shows its ID as a text, it shows the new one.
func (e *event) again(round int) *event {
	if round == 1 {
		return e
	}
	c := *e
	c.id, c.resource = fmt.Sprintf("%s-%d", e.id, round), fmt.Sprintf("%s-%d", e.resource, round)
	c.body = bytes.ReplaceAll(slices.Clone(e.body), []byte(`"`+e.id+`"`), []byte(`"`+c.id+`"`))
	return &c
}
