package bench

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	idemsvc "github.com/idemsvc/idemsvc/clients/go"
	"github.com/idemsvc/idemsvc/idem"
)

// waitingChunk is how many waiting events one statement stores.
const waitingChunk = 50_000

// waitingKey is the key of a stored waiting event.
func waitingKey(of, no string) idem.EventKey {
	return idem.EventKey{EventRef: idem.EventRef{Namespace: namespace, Source: source, EventID: "evt_" + no}, Consumer: of}
}

func acquisitionOf(of string, most int32, wait time.Duration) *pb.AcquireEventsRequest {
	return &pb.AcquireEventsRequest{
		Namespace: namespace, Consumer: of, Claimant: idemsvc.NewClaimant(), MaxEvents: most, Wait: durationpb.New(wait),
	}
}

// store stores events of a consumer that wait, each due at a moment that an SQL expression
// says: the service receives one, and SQL multiplies it.
func (x *queued) store(ctx context.Context, of string, n int, due string, say func(string, ...any)) error {
	model := waitingKey(of, placeholder)
	if err := x.model(ctx, model); err != nil {
		return err
	}
	events, err := copied(ctx, x.db, "idemsvc.event", map[string]string{"due_at": "g.due"})
	if err != nil {
		return err
	}
	list, err := copied(ctx, x.db, "idemsvc.unfinished", map[string]string{"due_at": "g.due", "ready_at": "g.due", "acquire_at": "g.due"})
	if err != nil {
		return err
	}
	given := fmt.Sprintf("(SELECT t.*, %s AS due FROM unnest($1::uuid[], $2::text[], $3::text[]) AS t(id, no, hex)) AS g", due)
	both := `WITH g AS MATERIALIZED (SELECT * FROM ` + given + `), stored AS (INSERT INTO idemsvc.event (` + events[0] + `) SELECT ` + events[1] + ` FROM g, idemsvc.event m
		WHERE m.bucket = $4 AND m.id = $5)
		INSERT INTO idemsvc.unfinished (` + list[0] + `) SELECT ` + list[1] + ` FROM g, idemsvc.unfinished m WHERE m.bucket = $4 AND m.id = $5`
	said := time.Now()
	for first := 0; first < n; first += waitingChunk {
		if time.Since(said) > 10*time.Second {
			said = time.Now()
			say("storing waiting events: %s of %s", grouped(first), grouped(n))
		}
		var id [][16]byte
		var number, hexes []string
		for range min(waitingChunk, n-first) {
			no := numbered(x.next)
			x.next++
			id, number, hexes = append(id, waitingKey(of, no).ID()), append(number, no), append(hexes, hex.EncodeToString([]byte(no)))
		}
		tag, err := x.db.admin.Exec(ctx, both, id, number, hexes, model.ID().Bucket(), [16]byte(model.ID()))
		if err == nil && tag.RowsAffected() != int64(len(id)) {
			err = errors.New("events were not stored")
		}
		if err != nil {
			return err
		}
	}
	return x.unmodel(ctx, of)
}

// model has the service receive the event that others are made from, and waits until it is
// listed.
func (x *queued) model(ctx context.Context, key idem.EventKey) error {
	a, err := x.service.client(0).Receive(ctx, &idemsvc.Event{Source: key.Source, EventId: key.EventID}, idemsvc.ReceiveFor(key.Consumer))
	if err == nil && !a.Acknowledge() {
		err = fmt.Errorf("a receipt was answered %v", a.Advice())
	}
	if err != nil {
		return err
	}
	return caughtUp(ctx, x.service, 0)
}

// unmodel takes the model out of the list again, if nobody has done so before: it stands for
// others, and is not to be acquired itself.
func (x *queued) unmodel(ctx context.Context, of string) error {
	id := waitingKey(of, placeholder).ID()
	_, err := x.db.admin.Exec(ctx, "DELETE FROM idemsvc.unfinished WHERE bucket = $1 AND id = $2", id.Bucket(), [16]byte(id))
	return err
}
