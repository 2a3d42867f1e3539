package telemetry

// The labels that several metrics have.
var (
	byNamespace = Label{"namespace", "the namespace; with consumer or source the first 100 pairs by name, the rest as _other"}
	byConsumer  = Label{"consumer", "the consumer; bounded as namespace"}
	bySource    = Label{"source", "the sender; bounded as namespace"}
)

// Bounds of buckets in seconds.
var (
	callSeconds  = []float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60}
	eventSeconds = []float64{0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600, 14400, 86400}
	batchSizes   = []float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512}
)

// The metrics of the events.
var (
	Deliveries = &Metric{
		Name: "idemsvc.deliveries", Kind: KindCounter, Unit: "{delivery}",
		Text: "Deliveries that were claimed, once for each consumer; a call repeated by the same claimant is none.",
		Labels: []Label{
			byNamespace, bySource,
			{"kind", "who sent it: UNSPECIFIED, PROVIDER_FIRST, PROVIDER_RETRY, PROVIDER_REPLAY, CONSUMER_REQUEUE, CLIENT_REPEAT"},
			{"disposition", "what became of it, as in the contract: ACCEPTED is a unique event, IGNORED_DUPLICATE a duplicate, REDELIVERED_AFTER_FAILURE, IGNORED_STALE, IGNORED_SELF_ORIGINATED, BLOCKED_LOOP, REJECTED_SIGNATURE"},
		},
	}
	Claims = &Metric{
		Name: "idemsvc.claims", Kind: KindCounter, Unit: "{claim}",
		Text:   "Answered claims.",
		Labels: []Label{byNamespace, byConsumer, {"outcome", "the outcome, as in the contract"}},
	}
	Attempts = &Metric{
		Name: "idemsvc.attempts", Kind: KindCounter, Unit: "{attempt}",
		Text: "Granted claims, each an attempt.",
		Labels: []Label{byNamespace, byConsumer, {
			"cause", "first, redelivery (the provider's, after a failure), retry (our own schedule or a requeue), reclaim (the owner before vanished), replay",
		}},
	}
	Ended = &Metric{
		Name: "idemsvc.claims.ended", Kind: KindCounter, Unit: "{claim}",
		Text:   "Claims that ended by a call, or by their lease when the sweeper saw it.",
		Labels: []Label{byNamespace, byConsumer, {"state", "what the event came to, as in the contract"}, {"late", "true when the lease was over, else false"}},
	}
	Processing = &Metric{
		Name: "idemsvc.event.processing.duration", Kind: KindHistogram, Unit: "s", Buckets: eventSeconds,
		Text:   "Time from an event's first delivery to processed, over all attempts, by the database's clock.",
		Labels: []Label{byNamespace, byConsumer},
	}
	Anomalies = &Metric{
		Name: "idemsvc.anomalies", Kind: KindCounter, Unit: "{anomaly}",
		Text:   "Findings that somebody should look at when they grow.",
		Labels: []Label{byNamespace, byConsumer, {"kind", "claim_lost, late_completion, late_effect, effect_conflict, payload_mismatch, verified_late, post_restore, rejected_signature, dead_letter, held, loop_blocked"}},
	}
	Effects = &Metric{
		Name: "idemsvc.effects", Kind: KindCounter, Unit: "{call}",
		Text:   "Answered calls about side effects.",
		Labels: []Label{byNamespace, byConsumer, {"answer", "as in the contract: PERFORM, ALREADY_DONE, IN_PROGRESS, OUTCOME_UNKNOWN, REQUEST_MISMATCH, CIRCUIT_OPEN, DONE, NOT_DONE, RECORDED"}},
	}
	Checks = &Metric{
		Name: "idemsvc.version.checks", Kind: KindCounter, Unit: "{check}",
		Text:   "Answered version checks.",
		Labels: []Label{byNamespace, byConsumer, {"answer", "as in the contract: APPLY, ALREADY_APPLIED, STALE, TIED, GAP, BUSY, ILLEGAL_TRANSITION"}},
	}
)

// The metrics of what is stored. They are read from the database four times a minute, by
// every replica alike.
var (
	Unfinished = &Metric{
		Name: "idemsvc.events.unfinished", Kind: KindGauge, Unit: "{event}",
		Text:   "Events that are not finished. Every replica tells the same number: take the maximum, never the sum.",
		Labels: []Label{byNamespace, byConsumer, {"state", "RECEIVED, PROCESSING, FAILED_RETRYABLE, FAILED_TERMINAL, DEAD_LETTERED, HELD, BLOCKED_LOOP"}},
	}
	Oldest = &Metric{
		Name: "idemsvc.events.oldest", Kind: KindGauge, Unit: "s",
		Text:   "For how long the oldest unfinished event has been in its state. Take the maximum of the replicas.",
		Labels: []Label{byNamespace, byConsumer, {"state", "as of idemsvc.events.unfinished"}},
	}
	Stuck = &Metric{
		Name: "idemsvc.events.stuck", Kind: KindGauge, Unit: "{event}",
		Text:   "Events that could be claimed for longer than their policy allows (stuck_after, by default 15 minutes) and were not: received or due again, or their owner has vanished. Take the maximum of the replicas.",
		Labels: []Label{byNamespace, byConsumer},
	}
	LookupLag = &Metric{
		Name: "idemsvc.lookup.lag", Kind: KindGauge, Unit: "s",
		Text: "How far the index of look-ups and the list of unfinished events are behind the journal.",
	}
	SurveyAge = &Metric{
		Name: "idemsvc.survey.age", Kind: KindGauge, Unit: "s",
		Text: "How old the numbers about stored events are; they are not told when they are older than two minutes.",
	}
)

// The metrics of the service itself.
var (
	Calls = &Metric{
		Name: "rpc.server.call.duration", Kind: KindHistogram, Unit: "s", Buckets: callSeconds,
		Text: "Time in which a call was answered, without what the network takes. A session's commands count as calls of their unary methods.",
		Labels: []Label{
			{"rpc.system.name", "grpc"},
			{"rpc.method", "the full name of a method of the contract"},
			{"rpc.response.status_code", "the gRPC code, such as OK or UNAVAILABLE"},
			{"road", "unary or session"},
		},
	}
	Refusals = &Metric{
		Name: "idemsvc.refusals", Kind: KindCounter, Unit: "{refusal}",
		Text:   "Refused calls and items of batches.",
		Labels: []Label{{"call", "the method, other for those that the contract does not have; Session for a session's commands; HTTP for requests that were none of the contract's"}, {"reason", "the reason in ErrorInfo"}},
	}
	BatchSize = &Metric{
		Name: "idemsvc.batch.size", Kind: KindHistogram, Unit: "{command}", Buckets: batchSizes,
		Text: "Commands that were written together.",
	}
	BatchTime = &Metric{
		Name: "idemsvc.batch.duration", Kind: KindHistogram, Unit: "s", Buckets: callSeconds,
		Text: "Time that a batch took in the database.",
	}
	QueueWait = &Metric{
		Name: "idemsvc.queue.wait", Kind: KindHistogram, Unit: "s", Buckets: callSeconds,
		Text: "Time that the oldest command of a batch had waited for it.",
	}
	Queued = &Metric{
		Name: "idemsvc.queue.length", Kind: KindGauge, Unit: "{command}",
		Text: "Commands that wait for a batch.",
	}
	Waiting = &Metric{
		Name: "idemsvc.claims.waiting", Kind: KindGauge, Unit: "{claim}",
		Text: "Claims that wait for another claim of their event to end.",
	}
	Acquiring = &Metric{
		Name: "idemsvc.acquirers.waiting", Kind: KindGauge, Unit: "{call}",
		Text: "Calls of AcquireEvents that wait for events that are due.",
	}
	Overloads = &Metric{
		Name: "idemsvc.queue.refused", Kind: KindCounter, Unit: "{command}",
		Text: "Commands refused because the queue was full.",
	}
	Dropped = &Metric{
		Name: "idemsvc.deliveries.dropped", Kind: KindCounter, Unit: "{delivery}",
		Text: "Records of duplicate deliveries, and of answers to deliveries, that were lost. They decide nothing.",
	}
	StorageFailures = &Metric{
		Name: "idemsvc.storage.failures", Kind: KindCounter, Unit: "{command}",
		Text:   "Commands that the storage could not carry out.",
		Labels: []Label{{"class", "unavailable, full, contended, restored, schema, canceled, other"}},
	}
	Ready = &Metric{
		Name: "idemsvc.ready", Kind: KindGauge, Unit: "{server}",
		Text: "1 while the server can serve, 0 while it or its database cannot.",
	}
	PoolConnections = &Metric{
		Name: "db.client.connection.count", Kind: KindGauge, Unit: "{connection}",
		Text:   "Connections to the database.",
		Labels: []Label{{"state", "idle or used"}},
	}
	PoolMax = &Metric{
		Name: "db.client.connection.max", Kind: KindGauge, Unit: "{connection}",
		Text: "Connections to the database at most.",
	}
	PoolWaits = &Metric{
		Name: "idemsvc.pool.waits", Kind: KindCounter, Unit: "{wait}",
		Text: "How often somebody had to wait for a connection to the database.",
	}
	PoolWaitTime = &Metric{
		Name: "idemsvc.pool.wait.time", Kind: KindCounter, Unit: "s",
		Text: "Time spent waiting for connections to the database.",
	}
	AnomalySpansDropped = &Metric{
		Name: "idemsvc.anomaly.spans.dropped", Kind: KindCounter, Unit: "{span}",
		Text: "Spans of anomalies that were not made because too many came at once.",
	}
)

// The metrics of «idemsvc ingress», which has these alone.
var (
	IngressAnswers = &Metric{
		Name: "idemsvc.ingress.answers", Kind: KindCounter, Unit: "{request}",
		Text: "Requests that «idemsvc ingress» answered.",
		Labels: []Label{
			{"source", "the event source, as configured; _unknown for paths of none"},
			{"http_status", "the status of the answer"},
		},
	}
	IngressTime = &Metric{
		Name: "idemsvc.ingress.duration", Kind: KindHistogram, Unit: "s", Buckets: callSeconds,
		Text:   "Time in which «idemsvc ingress» answered a request.",
		Labels: []Label{{"source", "as of idemsvc.ingress.answers"}},
	}
	IngressSpooled = &Metric{
		Name: "idemsvc.ingress.spooled", Kind: KindGauge, Unit: "{request}",
		Text:   "Requests in a spool of «idemsvc ingress», answered with success and not yet settled with the service.",
		Labels: []Label{{"source", "as of idemsvc.ingress.answers"}},
	}
)

// OfIngress are the metrics of «idemsvc ingress», in the order of the page.
func OfIngress() []*Metric { return []*Metric{IngressAnswers, IngressTime, IngressSpooled} }

// All are the metrics of the server in the order of the page.
func All() []*Metric {
	return []*Metric{
		Deliveries, Claims, Attempts, Ended, Processing, Anomalies, Effects, Checks,
		Unfinished, Oldest, Stuck, LookupLag, SurveyAge,
		Calls, Refusals, BatchSize, BatchTime, QueueWait, Queued, Waiting, Acquiring, Overloads, Dropped, StorageFailures, Ready,
		PoolConnections, PoolMax, PoolWaits, PoolWaitTime, AnomalySpansDropped,
	}
}
