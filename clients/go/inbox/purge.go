package inbox

import (
	"context"
	"fmt"
	"time"
)

// maxPurge bounds one step of a purge, and so how long it holds locks.
const maxPurge = 10000

// Purge removes at most limit (1 to 10000) markers of the inbox's consumer that have not
// changed for longer than the given time, by the database's clock, and returns how many. Call
// it again as long as it returns limit; see the example. Markers that are still to be reported
// stay, unless there is no service to report to. It waits for nobody: what another
// transaction holds is left for later.
//
// A delivery that comes after its marker was removed is processed again where the marker alone
// decides, and where the service has forgotten the event, too. So the time has to be longer
// than the longest of: the provider's own retries and what it lets people resend (30 days with
// some), the time that a queue or a spool of yours may hold a delivery, and the service's
// retention of events (35 days by default).
func (b *Inbox[Tx]) Purge(ctx context.Context, olderThan time.Duration, limit int) (int, error) {
	if olderThan <= 0 {
		return 0, fmt.Errorf("inbox: olderThan is %v, it has to be above 0", olderThan)
	}
	if limit < 1 || limit > maxPurge {
		return 0, fmt.Errorf("inbox: limit is %d, it has to be 1 to %d", limit, maxPurge)
	}
	var removed int64
	err := b.inTx(ctx, func(tx Tx) (err error) {
		removed, err = b.db.Exec(ctx, tx, `DELETE FROM `+b.table+` WHERE id = ANY (ARRAY(
    SELECT id FROM `+b.table+`
    WHERE changed_at < clock_timestamp() - $1::bigint * interval '1 microsecond' AND namespace = $2::text AND consumer = $3::text AND ($4::boolean OR report IS NULL)
    ORDER BY changed_at LIMIT $5::bigint FOR UPDATE SKIP LOCKED))`,
			olderThan.Microseconds(), b.namespace, b.consumer, b.client == nil, int64(limit))
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("inbox: purge: %w", err)
	}
	return int(removed), nil
}
