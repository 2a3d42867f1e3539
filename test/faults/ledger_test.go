//go:build linux

package faults_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/idemsvc/idemsvc/idem"
)

// What a client writes down. Each line is written by one call, which a kill of the process
// does not undo.
const (
	opClaim     = "claim"     // a claim was given
	opRun       = "run"       // the work of a claim begins
	opPerform   = "perform"   // an operation is performed that must not be repeated
	opDone      = "done"      // its outcome was acknowledged
	opKnown     = "known"     // it had been done before, with this result
	opEnding    = "ending"    // a call that ends the claim is about to be made
	opComplete  = "complete"  // the completion was acknowledged
	opDuplicate = "duplicate" // the event had been processed, with this result
	opExtend    = "extend"    // the lease was extended
	opOther     = "other"     // a failure or release was acknowledged, or a refusal
	opBad       = "bad"       // what must never be
)

// line is one line of a ledger. Instants are microseconds since 1970.
type line struct {
	Op      string `json:"op"`
	Event   int64  `json:"event"`
	Fence   int64  `json:"fence,omitempty"`
	Attempt int32  `json:"attempt,omitempty"`
	Expires int64  `json:"expires,omitempty"` // by the database's clock
	Asked   int64  `json:"asked,omitempty"`   // when the call was made
	At      int64  `json:"at"`                // when this was written
	Result  string `json:"result,omitempty"`
	Note    string `json:"note,omitempty"`
}

func micros() int64 { return time.Now().UnixMicro() }

// ledger is where a client writes.
type ledger struct{ f *os.File }

func openLedger(path string) (*ledger, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	return &ledger{f}, err
}

func (l *ledger) write(x line) {
	x.At = micros()
	b, err := json.Marshal(x)
	if err == nil {
		_, err = l.f.Write(append(b, '\n'))
	}
	if err != nil {
		panic(fmt.Sprint("ledger: ", err))
	}
}

// reader reads what has been added to a ledger.
type reader struct {
	path string
	done int64
}

func (r *reader) next() ([]line, error) {
	f, err := os.Open(r.path)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if _, err := f.Seek(r.done, 0); err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	if _, err := buf.ReadFrom(f); err != nil {
		return nil, err
	}
	var lines []line
	for {
		b, err := buf.ReadBytes('\n')
		if err != nil {
			return lines, nil // the rest is not whole yet
		}
		r.done += int64(len(b))
		var x line
		if err := json.Unmarshal(b, &x); err != nil {
			return nil, fmt.Errorf("%s: %q: %w", r.path, b, err)
		}
		lines = append(lines, x)
	}
}

// Events come in kinds, told by their number.
type kind int64

const (
	plain       kind = iota // may be claimed again when its owner vanished
	held                    // must not run twice: left to a person when its owner vanished
	ordered                 // versions of a resource
	effectHold              // with an operation that must not be performed twice, whatever is known of it
	effectRetry             // with one that may be, until it is known to be done
	kinds
)

func kindOf(event int64) kind { return kind(event % int64(kinds)) }

const (
	namespace = "dev"
	consumer  = "faults"
	source    = "src"
	lease     = 2 * time.Second
)

func (c *campaignID) key(event int64) idem.EventKey {
	return idem.EventKey{EventRef: idem.EventRef{Namespace: namespace, Source: source, EventID: c.eventID(event)}, Consumer: consumer}
}

// campaignID names what belongs to one campaign.
type campaignID struct{ Seed uint64 }

func (c *campaignID) eventID(event int64) string { return fmt.Sprintf("e%x-%d", c.Seed, event) }
func (c *campaignID) resource(event int64) string {
	return fmt.Sprintf("r%x-%d", c.Seed, event/int64(kinds)%3)
}
func (c *campaignID) effect(event int64) idem.EffectKey {
	return idem.EffectKey{Scope: idem.NamespaceScope, Namespace: namespace, Key: "charge " + c.eventID(event)}
}
