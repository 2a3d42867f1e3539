// Package policypb turns policies of the contract into the rules' form and back. Each
// field of the contract's Policy is the setting of the same name; a test holds the two
// tables together.
package policypb

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	"github.com/idemsvc/idemsvc/idem"
)

// matchField is the one field of a policy that is no setting.
const matchField = "match"

// Rules are policies as rules. Their values are texts that [idem.CheckRules] judges.
func Rules(policies []*pb.Policy) []idem.Rule {
	out := make([]idem.Rule, len(policies))
	for i, p := range policies {
		r := idem.Rule{Consumer: p.GetMatch().GetConsumer(), Source: p.GetMatch().GetSource(), Type: p.GetMatch().GetType(), Set: map[string]string{}}
		p.ProtoReflect().Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
			if fd.Name() != matchField {
				r.Set[string(fd.Name())] = text(fd, v)
			}
			return true
		})
		out[i] = r
	}
	return out
}

func text(fd protoreflect.FieldDescriptor, v protoreflect.Value) string {
	switch fd.Kind() {
	case protoreflect.EnumKind:
		return Word(fd.Enum().Values().ByNumber(v.Enum()))
	case protoreflect.DoubleKind:
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	case protoreflect.MessageKind:
	default:
		return strconv.FormatInt(v.Int(), 10)
	}
	switch m := v.Message().Interface().(type) {
	case *durationpb.Duration:
		if m.CheckValid() != nil || m.AsDuration() < 0 {
			return "invalid"
		}
		return idem.FormatDuration(m.AsDuration())
	case *pb.PolicyNames:
		return asJSON(append([]string{}, m.GetNames()...))
	case *pb.PolicyMachines:
		all := map[string]idem.Machine{}
		for name, x := range m.GetMachines() {
			k := idem.Machine{Initial: x.GetInitial(), Edges: map[string][]string{}}
			for _, s := range x.GetSteps() {
				k.Edges[s.GetFrom()] = append(k.Edges[s.GetFrom()], s.GetTo()...)
			}
			all[name] = k
		}
		return asJSON(all)
	default:
		return "unknown"
	}
}

// Word is the word of a choice for a value of its enumeration: the name in lower case, without
// the prefix that all share. It is empty for a value that is unknown.
func Word(v protoreflect.EnumValueDescriptor) string {
	if v == nil {
		return ""
	}
	return strings.ToLower(strings.TrimPrefix(string(v.Name()), prefix(v.Parent().Name())))
}

// prefix is what the names of an enumeration's values begin with.
func prefix(enum protoreflect.Name) string {
	var b strings.Builder
	for i, c := range enum {
		if i > 0 && c >= 'A' && c <= 'Z' {
			b.WriteByte('_')
		}
		b.WriteRune(c)
	}
	return strings.ToUpper(b.String()) + "_"
}

func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic("policypb: " + err.Error()) // texts, lists and maps of texts
	}
	return string(b)
}

// Policies are rules as policies. A setting that this version does not know is left out.
func Policies(rules []idem.Rule) ([]*pb.Policy, error) {
	out := make([]*pb.Policy, len(rules))
	for i := range rules {
		r := &rules[i]
		p := &pb.Policy{Match: Match(r)}
		for _, name := range slices.Sorted(maps.Keys(r.Set)) {
			fd := p.ProtoReflect().Descriptor().Fields().ByName(protoreflect.Name(name))
			if fd == nil || name == matchField {
				continue
			}
			v, err := value(name, r.Set[name], fd)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			p.ProtoReflect().Set(fd, v)
		}
		out[i] = p
	}
	return out, nil
}

// Match is for which events a rule is; nil for every event.
func Match(r *idem.Rule) *pb.PolicyMatch {
	if r.Consumer == "" && r.Source == "" && r.Type == "" {
		return nil
	}
	return &pb.PolicyMatch{Consumer: r.Consumer, Source: r.Source, Type: r.Type}
}

// value reads a text for a field.
func value(name, text string, fd protoreflect.FieldDescriptor) (protoreflect.Value, error) {
	var none protoreflect.Value
	p := idem.DefaultPolicy()
	s := idem.FindSetting(name)
	if s == nil {
		return none, fmt.Errorf("there is no such setting")
	}
	if err := s.Put(p, text); err != nil {
		return none, err
	}
	switch fd.Kind() {
	case protoreflect.EnumKind:
		for i := range fd.Enum().Values().Len() {
			if v := fd.Enum().Values().Get(i); Word(v) == text {
				return protoreflect.ValueOfEnum(v.Number()), nil
			}
		}
		return none, fmt.Errorf("the contract has no word %q", text)
	case protoreflect.DoubleKind:
		f, err := strconv.ParseFloat(text, 64)
		return protoreflect.ValueOfFloat64(f), err
	case protoreflect.Int32Kind:
		n, err := strconv.ParseInt(text, 10, 32)
		return protoreflect.ValueOfInt32(int32(n)), err //nolint:gosec // 32 bits
	case protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64(p.StartAt), nil
	default:
	}
	switch fd.Message().FullName() {
	case "google.protobuf.Duration":
		d, err := idem.ParseDuration(text)
		if err != nil {
			d = 0 // the word for none
		}
		return protoreflect.ValueOfMessage(durationpb.New(d).ProtoReflect()), nil
	case (&pb.PolicyNames{}).ProtoReflect().Descriptor().FullName():
		return protoreflect.ValueOfMessage((&pb.PolicyNames{Names: p.SelfOrigins}).ProtoReflect()), nil
	default:
		m := &pb.PolicyMachines{Machines: map[string]*pb.PolicyMachine{}}
		for name, x := range p.Machines {
			k := &pb.PolicyMachine{Initial: x.Initial}
			for _, from := range slices.Sorted(maps.Keys(x.Edges)) {
				k.Steps = append(k.Steps, &pb.PolicyStep{From: from, To: x.Edges[from]})
			}
			m.Machines[name] = k
		}
		return protoreflect.ValueOfMessage(m.ProtoReflect()), nil
	}
}
