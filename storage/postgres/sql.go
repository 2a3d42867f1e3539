package postgres

import (
	"embed"
	"strings"
)

//go:embed queries/*.sql
var queryFiles embed.FS

// The columns in the order of the scan functions.
const (
	eventColumns = `e.id, e.created_at, e.namespace, e.consumer, e.source, e.event_id, e.facts, e.version, e.fence, e.nonce,
    e.lease_until, e.lease_us, e.granted_at, e.ended_at, e.due_at, e.waiting_since, e.not_yet_since,
    e.total, e.effects, e.state, e.by_expiry, e.detail, e.result`
	eventWidth      = 23 // columns
	resourceColumns = `r.id, r.namespace, r.consumer, r.type, r.name, r.version, r.kind, r.mode, r.owned, r.applied, r.epoch, r.value,
    r.start, r.owner, r.owner_fence, r.lane_fence, r.applied_by, r.gap_since, r.machine, r.state, r.print,
    r.covered, r.covered_by`
	effectColumns = `f.id, f.namespace, f.scope, f.consumer, f.key_event, f.key, f.version, f.state, f.event, f.fence,
    f.lease_until, f.since, f.bytes, f.detail, f.result`
	memberColumns = `e.namespace, e.consumer, e.source, e.event_id, e.version, e.fence, e.lease_until, e.lease_us, e.state, e.by_expiry, e.detail`
)

// The statements, each from the file of its name.
var (
	sqlBegin         = load("begin")
	sqlBeginTuned    = load("begin_tuned")
	sqlFirst         = load("first")
	sqlStep          = load("step")
	sqlPlace         = load("place")
	sqlPayload       = load("payload")
	sqlSources       = load("sources")
	sqlGranted       = load("granted")
	sqlReadEvents    = load("read_events")
	sqlReadOwners    = load("read_owners")
	sqlReadSignals   = load("read_signals")
	sqlReadResources = load("read_resources")
	sqlReadEffects   = load("read_effects")
	sqlReadAttempts  = load("read_attempts")
	sqlReadMembers   = load("read_members")
	sqlEpoch         = load("epoch")
	sqlMoved         = load("moved")
	sqlHalt          = load("halt")
	sqlRefill        = load("refill")
	sqlFollowRead    = load("follow_read")
	sqlFollowHold    = load("follow_hold")
	sqlFollowMove    = load("follow_move")
	sqlFollowLookup  = load("follow_lookup")
	sqlFollowOver    = load("follow_over")
	sqlFollowOpen    = load("follow_open")
	sqlSweep         = load("sweep")
	sqlSurvey        = load("survey")
	sqlFollowLanes   = load("follow_lanes")
	sqlFollowNotify  = load("follow_notify")

	sqlTake           = load("take")
	sqlTakeLane       = load("take_lane")
	sqlTakeAgain      = load("take_again")
	sqlAcquired       = load("acquired")
	sqlForgetAcquired = load("forget_acquired")
	sqlRest           = load("rest")
	sqlPayloads       = load("payloads")

	sqlPolicyHead    = load("policy_head")
	sqlPolicies      = load("policies")
	sqlPolicyRead    = load("policy_read")
	sqlPolicyHistory = load("policy_history")
	sqlPolicyApply   = load("policy_apply")

	sqlRetainLead      = load("retain_lead")
	sqlRetainSave      = load("retain_save")
	sqlRetainSize      = load("retain_size")
	sqlRetainEvents    = load("retain_events")
	sqlRetainEffects   = load("retain_effects")
	sqlRetainResources = load("retain_resources")
	sqlForgetEvents    = load("forget_events")
	sqlForgetEffects   = load("forget_effects")
	sqlForgetResources = load("forget_resources")
	sqlForgetPayloads  = load("forget_payloads")

	sqlDeliveries     = load("deliveries")
	sqlRejected       = load("rejected")
	sqlFindRef        = load("find_ref")
	sqlFindFacts      = load("find_facts")
	sqlFindTerm       = load("find_term")
	sqlFindDeliveries = load("find_deliveries")
	sqlFindNames      = load("find_names")
	sqlInfo           = load("info")
	// One statement for each filter: with a condition that may be empty, no index serves.
	sqlListUnfinished           = listUnfinished("")
	sqlListUnfinishedOfConsumer = listUnfinished("AND u.consumer = $7")
	sqlReplayStore              = load("replay_store")
	sqlReplayFind               = load("replay_find")
	sqlListTerm                 = load("list_term")
	sqlListMinutes              = load("list_minutes")
)

func listUnfinished(filter string) string {
	return strings.NewReplacer("{filter}", filter).Replace(load("list_unfinished"))
}

func read(name string) string {
	b, err := queryFiles.ReadFile("queries/" + name + ".sql")
	if err != nil {
		panic("postgres: " + err.Error()) // embedded at build time
	}
	return string(b)
}

// load reads a statement.
func load(name string) string { return strip(read(name)) }

// strip drops the comment lines, which the server need not parse, and names the columns.
func strip(sql string) string {
	var sb strings.Builder
	for line := range strings.SplitSeq(sql, "\n") {
		if !strings.HasPrefix(strings.TrimSpace(line), "--") {
			sb.WriteString(line)
			sb.WriteByte('\n')
		}
	}
	return strings.NewReplacer("{event}", eventColumns, "{resource}", resourceColumns, "{effect}", effectColumns,
		"{event_opt}", memberColumns).Replace(sb.String())
}
