package server

import (
	"strings"
	"sync"
	"time"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// The times that fit into nanoseconds since 1970 in 64 bits, cut to whole years.
var (
	minTime = time.Date(1678, 1, 1, 0, 0, 0, 0, time.UTC)
	maxTime = time.Date(2262, 1, 1, 0, 0, 0, 0, time.UTC)
)

// form is what is checked of a kind of message: the fields that matter, found once.
type form struct {
	check func(protoreflect.Message) *refusal // of the message as a whole, nil for most
	names []protoreflect.FieldDescriptor      // texts that name something: not only white space
	below []part                              // messages to look into
}

// part is a field whose messages have a form that is not empty.
type part struct {
	fd   protoreflect.FieldDescriptor
	form *form
}

var forms sync.Map // protoreflect.FullName → *form

func formOf(md protoreflect.MessageDescriptor) *form {
	if f, ok := forms.Load(md.FullName()); ok {
		return f.(*form) //nolint:errcheck,forcetypeassert // only forms are stored
	}
	f := newForm(md)
	forms.Store(md.FullName(), f)
	return f
}

// newForm looks a kind of message through. No request contains itself.
func newForm(md protoreflect.MessageDescriptor) *form {
	switch md.FullName() {
	case "google.protobuf.Timestamp":
		return &form{check: checkTime}
	case "google.protobuf.Duration":
		return &form{check: checkDuration}
	}
	f := &form{}
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		rules, _ := proto.GetExtension(fd.Options(), validate.E_Field).(*validate.FieldRules)
		switch {
		case fd.IsMap():
		case fd.Kind() == protoreflect.StringKind:
			if rules.GetString().GetMinBytes() > 0 || rules.GetRepeated().GetItems().GetString().GetMinBytes() > 0 {
				f.names = append(f.names, fd)
			}
		case fd.Message() != nil && rules.GetRepeated().GetItems().GetIgnore() != validate.Ignore_IGNORE_ALWAYS:
			if b := newForm(fd.Message()); b.check != nil || len(b.names)+len(b.below) > 0 {
				f.below = append(f.below, part{fd, b})
			}
		}
	}
	return f
}

// checkForm refuses names of white space only and times that are none, wherever they
// stand in the message.
func checkForm(m protoreflect.Message) *refusal { return formOf(m.Descriptor()).refuse(m) }

func (f *form) refuse(m protoreflect.Message) *refusal {
	if f.check != nil {
		return f.check(m)
	}
	for _, fd := range f.names {
		if r := eachOf(m, fd, checkName); r != nil {
			return r
		}
	}
	for _, p := range f.below {
		if r := eachOf(m, p.fd, func(v protoreflect.Value) *refusal { return p.form.refuse(v.Message()) }); r != nil {
			return r
		}
	}
	return nil
}

// eachOf checks a field's value, or each of its values, and completes the path of what
// is refused.
func eachOf(m protoreflect.Message, fd protoreflect.FieldDescriptor, check func(protoreflect.Value) *refusal) *refusal {
	if !m.Has(fd) {
		return nil
	}
	v := m.Get(fd)
	if !fd.IsList() {
		return within(fd, 0, check(v))
	}
	for i := range v.List().Len() {
		if r := check(v.List().Get(i)); r != nil {
			return within(fd, i, r)
		}
	}
	return nil
}

// within puts a field before the path of a refusal.
func within(fd protoreflect.FieldDescriptor, i int, r *refusal) *refusal {
	switch {
	case r == nil:
		return nil
	case r.field() == "":
		r.fields[0].field = element(fd, i)
		return r
	default:
		return r.under(element(fd, i) + ".")
	}
}

func checkName(v protoreflect.Value) *refusal {
	if strings.TrimSpace(v.String()) == "" {
		return invalid("", "value must not be only white space")
	}
	return nil
}

func checkDuration(m protoreflect.Message) *refusal {
	if d, ok := m.Interface().(*durationpb.Duration); ok && d.CheckValid() != nil {
		return invalid("", "value is not a valid duration")
	}
	return nil
}

func checkTime(m protoreflect.Message) *refusal {
	t, ok := m.Interface().(*timestamppb.Timestamp)
	if ok && (t.CheckValid() != nil || t.AsTime().Before(minTime) || !t.AsTime().Before(maxTime)) {
		return invalid("", "value must be a time between 1678-01-01 and 2262-01-01")
	}
	return nil
}
