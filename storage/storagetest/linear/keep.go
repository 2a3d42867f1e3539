package linear

import (
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"
	"sync"

	"github.com/idemsvc/idemsvc/idem"
)

// register tells gob of what stands behind interfaces in a history.
var register = sync.OnceFunc(func() {
	for _, v := range []any{
		&idem.Claim{}, &idem.Complete{}, &idem.Fail{}, &idem.Extend{}, &idem.Release{}, &idem.Check{}, &idem.BeginEffect{},
		&idem.ReportEffect{}, &idem.RecordEffect{}, &idem.Resolve{}, &idem.Replay{}, &idem.Settle{}, &idem.Receive{},
		&idem.ClaimAnswer{}, &idem.ReceiveAnswer{}, &idem.EndAnswer{}, &idem.ExtendAnswer{}, &idem.CheckAnswer{}, &idem.EffectAnswer{},
		unheardOf(""),
	} {
		gob.Register(v)
	}
})

// unheardOf is why a call has no answer, as it is kept.
type unheardOf string

func (u unheardOf) Error() string { return string(u) }

// Keep writes a history down, so that it can be judged again.
func Keep(h *History) ([]byte, error) {
	register()
	own := *h
	own.Calls = append([]Call(nil), h.Calls...)
	for i := range own.Calls {
		if err := own.Calls[i].Unknown; err != nil {
			own.Calls[i].Unknown = unheardOf(err.Error())
		}
	}
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(&own); err != nil {
		return nil, fmt.Errorf("linear: keep a history: %w", err)
	}
	return b.Bytes(), nil
}

// Kept reads a history that was written down.
func Kept(b []byte) (*History, error) {
	register()
	h := &History{}
	if err := gob.NewDecoder(bytes.NewReader(b)).Decode(h); err != nil {
		return nil, errors.Join(errors.New("linear: this is no kept history"), err)
	}
	return h, nil
}
