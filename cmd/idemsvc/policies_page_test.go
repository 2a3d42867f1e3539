package main

import (
	"fmt"
	"strings"

	"github.com/idemsvc/idemsvc/idem"
)

// policiesPage is the page about policies: its text, and the table of all settings.
func policiesPage() string {
	var b strings.Builder
	b.WriteString(policiesText)
	for _, s := range idem.Settings {
		limits := s.Limits
		fmt.Fprintf(&b, "| `%s` | `%s` | %s | %s | %s |\n", s.Name, s.Default(), strings.ReplaceAll(limits, "|", `\|`), s.Means, s.Why)
	}
	b.WriteString(policiesMore)
	return b.String()
}

const policiesText = generated + `# Policies and retention

A policy says what holds for some events of a namespace: how long a claim lives, how often an event is tried, what becomes of
it when nobody knows how it ended, how long it is remembered. What no policy says is left to the defaults, each of which has its
reason, below and in ` + "`idemsvc policy show`" + `.

## A file

` + "```yaml" + `
namespace: shop-live            # or --namespace
policies:
  - retain_payloads: 7d         # for every event of the namespace
  - match: {consumer: billing}  # for those of one consumer ...
    stale_claim: hold
  - match: {consumer: billing, source: stripe, type: invoice.paid} # ... and for some of them
    max_attempts: 5
    lease: 2m
  - match: {source: github}     # resends for three days: may be forgotten sooner
    longest_resend: 3d
    retain_events: 10d
    retain_payloads: 3d
` + "```" + `

**Which one wins.** A policy is for the events of the consumer, source and type that it names; what it does not name is any. For
each setting the most specific policy counts that says something about it: the one that names more; of two that name equally
many, the one that names the consumer, then the one that names the source. Policies never reach beyond their namespace.

` + "```sh" + `
idemsvc policy diff shop.yaml                            # check it, and tell what would change
idemsvc policy apply shop.yaml --why "money is held"     # a new version, in force everywhere within a second
idemsvc policy show --consumer billing --source stripe   # what holds, where it comes from, and why
idemsvc policy show --history 10                         # who applied what, when and why
idemsvc policy show --version 3 --yaml | idemsvc policy apply -   # back to an earlier one
` + "```" + `

All that is wrong with a file is told at once, each with its line, its field and the limit; the server checks again. Unknown
fields are refused. Settings must also fit each other, whichever policies they come from, for every event that can meet them:
an event may not be forgotten before its source has sent it for the last time (` + "`retain_events`" + ` is at least ` + "`longest_resend`" + `), and
payloads no later, versions and effects no sooner than their events.

A file is all policies of its namespace: what is not in it any more ends. Versions are kept for ever, and the journal names with
each decision the version that it was made by. A replica that cannot reach the database goes by what it knows; it decides
nothing then, since every decision needs the database. An event keeps the ` + "`stale_claim`" + ` of its first claim; everything else is
looked up when it is needed, so that a change of ` + "`max_attempts`" + ` or of a retention holds for events that are there already.

The RPCs are ` + "`GetPolicies`" + ` (role reader) and ` + "`ApplyPolicies`" + ` (role admin; ` + "`dry_run`" + ` for a comparison).

## All settings

Times are written such as 90s, 1h30m or 35d (days of 24 hours).

| setting | default | values | what it decides | why this default |
| --- | --- | --- | --- | --- |
`

const policiesMore = `
State machines are written as ` + "`machines: {order: {initial: new, edges: {new: [paid, cancelled], paid: [sent]}}}`" + `.

## Retention

What is over is removed when its time is: one replica looks through all that is stored, again ten minutes after it has come
through, and removes a few records at a time beside the calls. ` + "`GetServerInfo`" + ` tells when it last came through and what it removed.

| what | goes when | never while |
| --- | --- | --- |
| an event, with its attempts, result and own side effects | ` + "`retain_events`" + ` after it ended | it waits for a person (held, dead-lettered, failed for good and not resolved), is due, claimed or being replayed, or a side effect of it is begun or unknown |
| its payload | ` + "`retain_payloads`" + ` after it was received | a consumer has yet to finish the event |
| a version of a resource | ` + "`retain_versions`" + ` after its last change; by default never | an event that is ordered by it is stored |
| a side effect of the scope CONSUMER or NAMESPACE | ` + "`retain_effects`" + ` after its last change; by default never | the event is stored that began it last |
| records of later deliveries, the look-up index, the journal | a day's share at once, when the longest ` + "`retain_events`" + ` of all namespaces is over | for deliveries and look-ups: their event is unfinished; for the journal: it has not been read |

For versions and for effects of wider scopes the policy without source and type counts, since they belong to no one event.
The provider's resend of an event that was forgotten is a new event, unless it carries a version: an old version is still known as
old. Fences go on growing, and the token of a claim whose event is gone is answered CLAIM_LOST. A replay finds no payload any
more when ` + "`retain_payloads`" + ` is over: its consumer must fetch the state. An event that was replayed long after it came may be found
by its own ID only, once the look-ups of its day are gone. A namespace that keeps events for ever (` + "`retain_events: forever`" + `) keeps
the deliveries, look-ups and journal of all. Each removal has its entry in the journal.
`
