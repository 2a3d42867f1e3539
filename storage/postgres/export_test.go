package postgres

import (
	"context"
	"encoding/binary"
	"time"

	"github.com/idemsvc/idemsvc/idem"
)

// Deciding makes a store decide by other rules than [idem.Decide].
func (o Options) Deciding(decide func(*idem.World, idem.Command, *idem.Policy) idem.Decision) Options {
	o.decide = decide
	return o
}

// ShiftClock lets the store believe that the database's clock stood elsewhere when it was
// read last: as if it had jumped by as much the other way.
func (s *Store) ShiftClock(d time.Duration) {
	s.clock.mu.Lock()
	defer s.clock.mu.Unlock()
	s.clock.db = s.clock.db.Add(d)
}

// Reading is what the store does again and again of its own accord to read behind the journal.
func (s *Store) Reading(pause time.Duration) func(context.Context) error { return s.reading(pause) }

// Statements are the texts of all statements, by the name of their file.
func Statements() map[string]string {
	return map[string]string{
		"begin": sqlBegin, "begin_tuned": sqlBeginTuned, "first": sqlFirst, "step": sqlStep, "apply": applyForm(allParts).sql, "place": sqlPlace,
		"payload": sqlPayload, "sources": sqlSources, "granted": sqlGranted, "read_events": sqlReadEvents, "read_owners": sqlReadOwners,
		"read_resources": sqlReadResources, "read_effects": sqlReadEffects, "read_attempts": sqlReadAttempts, "read_members": sqlReadMembers, "read_signals": sqlReadSignals,
		"epoch": sqlEpoch, "moved": sqlMoved, "halt": sqlHalt, "refill": sqlRefill, "follow_read": sqlFollowRead, "follow_move": sqlFollowMove, "follow_hold": sqlFollowHold,
		"follow_lookup": sqlFollowLookup, "follow_over": sqlFollowOver, "follow_open": sqlFollowOpen, "sweep": sqlSweep, "deliveries": sqlDeliveries, "rejected": sqlRejected,
		"find_ref": sqlFindRef, "find_facts": sqlFindFacts, "survey": sqlSurvey, "find_term": sqlFindTerm, "find_deliveries": sqlFindDeliveries,
		"find_names": sqlFindNames, "info": sqlInfo, "list_unfinished": sqlListUnfinished, "list_term": sqlListTerm, "list_minutes": sqlListMinutes,
		"replay_store": sqlReplayStore, "replay_find": sqlReplayFind,
		"policy_head": sqlPolicyHead, "policies": sqlPolicies, "policy_read": sqlPolicyRead, "policy_history": sqlPolicyHistory, "policy_apply": sqlPolicyApply,
		"retain_lead": sqlRetainLead, "retain_save": sqlRetainSave, "retain_size": sqlRetainSize, "retain_events": sqlRetainEvents, "retain_effects": sqlRetainEffects,
		"retain_resources": sqlRetainResources, "forget_events": sqlForgetEvents, "forget_effects": sqlForgetEffects, "forget_resources": sqlForgetResources,
		"forget_payloads": sqlForgetPayloads,
		"follow_lanes":    sqlFollowLanes, "follow_notify": sqlFollowNotify, "take": sqlTake, "take_lane": sqlTakeLane,
		"take_again": sqlTakeAgain, "acquired": sqlAcquired, "forget_acquired": sqlForgetAcquired, "rest": sqlRest, "payloads": sqlPayloads,
	}
}

// BlockOf is the journal's row of one decision: its heads and its body.
func BlockOf(d *idem.Decision, fence int64) (heads, body []byte) {
	b := newBlock()
	lead := b.add(d)
	return binary.BigEndian.AppendUint64(lead[:], uint64(fence)), b.out()
}

// ForgetAcquisitions forgets what nobody repeats any more.
func (s *Store) ForgetAcquisitions(ctx context.Context) error { return s.forgetAcquisitions(ctx) }

// FollowBlocks is how many blocks one step of the reader behind the journal takes.
const FollowBlocks = followBlocks

// SnapshotBelow is what a snapshot says of the transactions below an ID.
var SnapshotBelow = snapshotBelow

// FollowPatiently is a step of the reader behind the journal that makes room for others, and
// leaves the cursor to one that wrote less than fresh ago.
func (s *Store) FollowPatiently(ctx context.Context, fresh time.Duration) (int64, error) {
	return s.follow(ctx, fresh)
}

// SliceRows is how much such a step writes at once.
const SliceRows = sliceRows
