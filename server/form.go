package server

import (
	"strconv"
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
	names []protoreflect.FieldDescriptor // texts that name something: not only white space
	below []protoreflect.FieldDescriptor // messages to look into
}

var forms sync.Map // protoreflect.FullName → *form

func formOf(md protoreflect.MessageDescriptor) *form {
	if f, ok := forms.Load(md.FullName()); ok {
		return f.(*form) //nolint:errcheck,forcetypeassert // only forms are stored
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
			f.below = append(f.below, fd)
		}
	}
	forms.Store(md.FullName(), f)
	return f
}

// checkForm refuses names of white space only and times that are none, wherever they
// stand in the message.
func checkForm(m protoreflect.Message, path string) *refusal {
	switch v := m.Interface().(type) {
	case *timestamppb.Timestamp:
		return checkTime(v, path)
	case *durationpb.Duration:
		if v.CheckValid() != nil {
			return invalid(path, "value is not a valid duration")
		}
		return nil
	}
	f := formOf(m.Descriptor())
	if path != "" {
		path += "."
	}
	for _, fd := range f.names {
		if r := eachOf(m, fd, path, checkName); r != nil {
			return r
		}
	}
	for _, fd := range f.below {
		if r := eachOf(m, fd, path, func(v protoreflect.Value, path string) *refusal { return checkForm(v.Message(), path) }); r != nil {
			return r
		}
	}
	return nil
}

// eachOf checks a field's value, or each of its values.
func eachOf(m protoreflect.Message, fd protoreflect.FieldDescriptor, path string, check func(protoreflect.Value, string) *refusal) *refusal {
	if !m.Has(fd) {
		return nil
	}
	path += string(fd.Name())
	v := m.Get(fd)
	if !fd.IsList() {
		return check(v, path)
	}
	for i := range v.List().Len() {
		if r := check(v.List().Get(i), path+"["+strconv.Itoa(i)+"]"); r != nil {
			return r
		}
	}
	return nil
}

func checkName(v protoreflect.Value, path string) *refusal {
	if strings.TrimSpace(v.String()) == "" {
		return invalid(path, "value must not be only white space")
	}
	return nil
}

func checkTime(t *timestamppb.Timestamp, path string) *refusal {
	if t.CheckValid() != nil || t.AsTime().Before(minTime) || !t.AsTime().Before(maxTime) {
		return invalid(path, "value must be a time between 1678-01-01 and 2262-01-01")
	}
	return nil
}
