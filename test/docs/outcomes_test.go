package docs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
)

// update rewrites the generated page instead of comparing it.
var update = os.Getenv("IDEM_UPDATE") != ""

const outcomesFile = "docs/outcomes.md"

const outcomesHead = `<!-- Made from the comments in api/proto/idemsvc/v1 by «IDEM_UPDATE=1 go test ./test/docs -run TestOutcomesPage»: change those. -->

# Outcomes and what to answer

What each answer of the service means, what to tell the provider, and what to do next. The words are those of the
[contract](../api/proto/idemsvc/v1). What happens when something breaks is in [failures.md](failures.md).

A duplicate, a stale version or a running claim are outcomes of a call that succeeded. Act on ` + "`advice`" + ` first: it holds
for outcomes, too, that are newer than your client. Names are written here without the prefix of their enumeration.
`

// The page about outcomes is what the contract's comments say.
func TestOutcomesPage(t *testing.T) {
	t.Parallel()
	p := &outcomesPage{t: t, comments: readComments(t), left: enums()}
	p.out.WriteString(outcomesHead)

	p.section("Advice", "Advice")
	p.values("Advice", "advice", "meaning", func(v, comment string) string { return comment })
	p.section("Answers to ClaimEvent", "ClaimOutcome")
	p.claimOutcomes("ClaimOutcome")
	p.section("Answers to ReceiveEvent", "ReceiveOutcome")
	p.claimOutcomes("ReceiveOutcome")
	p.section("Answering the provider when a claim ends", "")
	p.endings()
	p.section("Answers to CheckVersion", "VersionDecision")
	p.values("VersionDecision", "decision", "meaning | do", p.meaningAndDo)
	p.section("Answers to RecordSideEffect", "EffectOutcome")
	p.values("EffectOutcome", "outcome", "meaning", func(v, comment string) string { return comment })
	p.section("Errors", "ErrorReason")
	p.errors()

	p.out.WriteString("\n## All other words\n")
	delete(p.left, "Role") // see SECURITY.md
	for _, name := range names(p.left) {
		fmt.Fprintf(&p.out, "\n### %s\n\n%s\n\n", name, cell(p.comments.of(t, name)))
		p.values(name, "value", "meaning", func(v, comment string) string { return comment })
	}

	got := p.out.String()
	if update {
		if err := os.WriteFile(filepath.Join(repository, outcomesFile), []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if want := readFile(t, outcomesFile); want != got {
		t.Errorf("%s differs from the contract's comments; its first line says how to make it. It should be\n%s", outcomesFile, got)
	}
}

type outcomesPage struct {
	t        *testing.T
	comments comments
	left     map[string]protoreflect.EnumDescriptor // not on the page yet
	out      strings.Builder
}

// section begins a section with what is said of an element of the contract.
func (p *outcomesPage) section(title, element string) {
	fmt.Fprintf(&p.out, "\n## %s\n\n", title)
	if element != "" {
		fmt.Fprintf(&p.out, "%s\n\n", cell(p.comments.of(p.t, element)))
	}
}

// values writes a table with a row for each value; the rest of a row comes from its comment.
func (p *outcomesPage) values(enum, name, columns string, rest func(value, comment string) string) {
	e, ok := enums()[enum]
	if !ok {
		p.t.Fatalf("the contract has no %s", enum)
	}
	delete(p.left, enum)
	fmt.Fprintf(&p.out, "| %s | %s |\n| --- |%s\n", name, columns, strings.Repeat(" --- |", 1+strings.Count(columns, "|")))
	for i := range e.Values().Len() {
		v := e.Values().Get(i)
		comment := p.comments.of(p.t, enum+"."+string(v.Name()))
		if v.Number() == 0 {
			continue // what it stands for is said above the enumeration, or it is refused or never sent
		}
		fmt.Fprintf(&p.out, "| `%s` | %s |\n", shortName(v), cell(rest(shortName(v), comment)))
	}
}

var adviceFirst = regexp.MustCompile(`^((?:PROCESS|ACKNOWLEDGE|REPEAT_LATER)[^.]*)\. `)

// claimOutcomes takes apart what the comments keep to: the advice, the meaning, «Provider:»
// and «Next:».
func (p *outcomesPage) claimOutcomes(enum string) {
	p.values(enum, "outcome", "advice | meaning | answer the provider | next", func(v, comment string) string {
		advice := adviceFirst.FindStringSubmatch(comment)
		if advice == nil {
			p.t.Fatalf("the comment of %s does not begin with its advice", v)
		}
		meaning, rest := p.cut(v, comment[len(advice[0]):], "Provider: ")
		provider, next := p.cut(v, rest, "Next: ")
		return strings.Join([]string{advice[1], meaning, provider, next}, " | ")
	})
}

func (p *outcomesPage) meaningAndDo(v, comment string) string {
	meaning, do := p.cut(v, comment, "Do: ")
	return meaning + " | " + do
}

// cut splits a comment at a word that must be in it.
func (p *outcomesPage) cut(v, comment, word string) (before, after string) {
	before, after, ok := strings.Cut(comment, word)
	if !ok {
		p.t.Fatalf("the comment of %s does not say «%s»", v, strings.TrimSpace(word))
	}
	return strings.TrimSpace(before), upperFirst(strings.TrimSpace(after))
}

// endings is what the calls that end a claim say about the provider.
func (p *outcomesPage) endings() {
	p.out.WriteString("| call | answer the provider |\n| --- | --- |\n")
	for _, e := range []struct{ call, element, words string }{
		{"CompleteEvent", "IdempotencyService.CompleteEvent", "Answer the provider"},
		{"FailEvent", "FailEventResponse.state", ""},
		{"ReleaseClaim", "ReleaseClaimResponse", "Answer the provider"},
		{"ClaimEvents", "IdempotencyService.ClaimEvents", "answered 2xx only if"},
		{"ReceiveEvents", "IdempotencyService.ReceiveEvents", "answered 2xx only if"},
	} {
		said := p.comments.of(p.t, e.element)
		if e.words != "" {
			said = sentence(p.t, said, e.words)
		}
		fmt.Fprintf(&p.out, "| `%s` | %s |\n", e.call, cell(said))
	}
}

// errors writes the table of reasons.
func (p *outcomesPage) errors() {
	about := p.comments.of(p.t, "errors.proto")
	for _, words := range []string{"An error says nothing about the event", "A client must never conclude", "Towards a webhook provider"} {
		fmt.Fprintf(&p.out, "%s\n", cell(sentence(p.t, about, words)))
	}
	p.out.WriteString("\n")
	values := pb.ErrorReason(0).Descriptor().Values()
	codeOf, repeat := map[string]string{}, map[string]string{}
	for i := range values.Len() {
		v := values.Get(i)
		number, _ := proto.GetExtension(v.Options(), pb.E_GrpcCode).(int32)
		codeOf[shortName(v)] = strings.ToUpper(snake(codes.Code(number).String())) //nolint:gosec // a status code
		if again, _ := proto.GetExtension(v.Options(), pb.E_Repeatable).(bool); again {
			repeat[shortName(v)] = "yes"
		}
	}
	p.values("ErrorReason", "reason", "gRPC code | with RetryInfo | meaning | do", func(v, comment string) string {
		said, ok := strings.CutPrefix(comment, codeOf[v]+". ")
		if !ok {
			p.t.Fatalf("the comment of %s does not begin with its code %s", v, codeOf[v])
		}
		if repeat[v] == "" {
			repeat[v] = "no"
		}
		return codeOf[v] + " | " + repeat[v] + " | " + p.meaningAndDo(v, said)
	})
}

var hump = regexp.MustCompile(`([a-z])([A-Z])`)

func snake(s string) string {
	if s == "Canceled" {
		return "cancelled" // as google.rpc.Code writes it
	}
	return hump.ReplaceAllString(s, "${1}_$2")
}

// cell is a comment as one line of Markdown. A bar that parts columns stays.
func cell(comment string) string {
	return strings.NewReplacer("\n", " ", "<", "&lt;").Replace(strings.TrimSpace(comment))
}

func upperFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
