package policypb_test

import (
	"reflect"
	"slices"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/internal/policypb"
)

// The contract's Policy has exactly the settings that the rules know, each of its kind and
// with its words.
func TestTheContractHasTheSettings(t *testing.T) {
	t.Parallel()
	fields := (&pb.Policy{}).ProtoReflect().Descriptor().Fields()
	var names []string
	for _, s := range idem.Settings {
		names = append(names, s.Name)
		fd := fields.ByName(protoreflect.Name(s.Name))
		if fd == nil {
			t.Errorf("the contract does not have %s", s.Name)
			continue
		}
		if !fd.HasPresence() && fd.Kind() != protoreflect.EnumKind {
			t.Errorf("%s: whether it is set cannot be told", s.Name)
		}
		if fd.Kind() == protoreflect.EnumKind {
			var words []string
			for i := range fd.Enum().Values().Len() {
				if v := fd.Enum().Values().Get(i); v.Number() != 0 {
					words = append(words, policypb.Word(v))
				}
			}
			if !slices.Equal(slices.Sorted(slices.Values(words)), slices.Sorted(slices.Values(s.Choices))) {
				t.Errorf("%s: the contract has the words %q, the rules %q", s.Name, words, s.Choices)
			}
		} else if s.Kind == idem.Choice {
			t.Errorf("%s is no enumeration", s.Name)
		}
	}
	for i := range fields.Len() {
		if name := string(fields.Get(i).Name()); name != "match" && !slices.Contains(names, name) {
			t.Errorf("the rules do not know %s", name)
		}
	}
}

// Every value of every setting comes back as it went.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	values := map[idem.SettingKind][]string{
		idem.Span: {"1s", "1h30m", "35d", "forever", "1.5s"}, idem.Count: {"1", "17", "first_seen"}, idem.Factor: {"1.25", "2"},
		idem.Names: {`[]`, `["a","b c"]`}, idem.Machines: {`{}`, `{"m":{"initial":"a","edges":{"a":["b","c"],"b":["a"]}},"n":{"initial":"x"}}`},
	}
	for _, s := range idem.Settings {
		for _, v := range append(values[s.Kind], s.Choices...) {
			text, err := s.Canonical(v)
			if err != nil {
				continue
			}
			rules := []idem.Rule{{Consumer: "c", Type: "t", Set: map[string]string{s.Name: text}}}
			policies, err := policypb.Policies(rules)
			if err != nil {
				t.Errorf("%s %s: %v", s.Name, text, err)
				continue
			}
			back := policypb.Rules(policies)
			if back[0].Set[s.Name], err = s.Canonical(back[0].Set[s.Name]); err != nil || !reflect.DeepEqual(back, rules) {
				t.Errorf("%v came back as %v, %v", rules, back, err)
			}
		}
	}
}
