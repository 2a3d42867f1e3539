package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// wellKnown is the package of messages that JSON has a form of its own for.
const wellKnown = "google.protobuf"

// findFault says where in a JSON text that protojson has refused the fault lies, and what
// is wanted there. protojson itself names a line at best. Nested messages of requests are
// few, so that looking at each part again costs little.
func findFault(data []byte, m protoreflect.Message, err error) (path, text string) {
	if !json.Valid(data) {
		return "", "the body is not JSON: " + syntaxError(data)
	}
	if path, text = faultInMessage(data, m); text != "" {
		return path, text
	}
	return "", "the body is not a " + string(m.Descriptor().Name()) + ": " + err.Error() // nothing that is known of comes here
}

func syntaxError(data []byte) string {
	var v any
	err := json.Unmarshal(data, &v)
	if at, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Sprintf("%v (byte %d)", err, at.Offset)
	}
	return fmt.Sprint(err)
}

// faultInMessage looks for the first field at fault.
func faultInMessage(data []byte, m protoreflect.Message) (path, text string) {
	fields, ok := membersOf(data)
	if !ok {
		return "", "value must be an object"
	}
	seen := map[protoreflect.Name]bool{}
	for _, x := range fields {
		fd := fieldOf(m.Descriptor(), x.name)
		if fd == nil {
			return nameOf(x.name), "there is no such field"
		}
		if seen[fd.Name()] {
			return string(fd.Name()), "the field is there twice"
		}
		seen[fd.Name()] = true
		if bytes.Equal(x.value, []byte("null")) {
			continue
		}
		if one := fd.ContainingOneof(); one != nil && !one.IsSynthetic() {
			for i := range one.Fields().Len() {
				if other := one.Fields().Get(i); other != fd && seen[other.Name()] {
					return string(fd.Name()), "only one of " + string(other.Name()) + " and " + string(fd.Name()) + " may be there"
				}
			}
		}
		if below, text := faultInField(x.value, m, fd); text != "" {
			return string(fd.Name()) + below, text
		}
	}
	return "", ""
}

// faultInField looks into the value of one field. The path is what follows its name.
func faultInField(value []byte, m protoreflect.Message, fd protoreflect.FieldDescriptor) (path, text string) {
	if fits(value, m, fd) {
		return "", ""
	}
	if fd.IsMap() {
		return "", "value must be an object of names and values"
	}
	if !fd.IsList() {
		if isOwn(fd) {
			return dotted(faultInMessage(value, m.NewField(fd).Message()))
		}
		return "", wanted(fd)
	}
	var items []json.RawMessage
	if json.Unmarshal(value, &items) != nil {
		return "", "value must be a list"
	}
	for i, item := range items {
		at := "[" + strconv.Itoa(i) + "]"
		switch {
		case isOwn(fd):
			if below, text := dotted(faultInMessage(item, m.NewField(fd).List().NewElement().Message())); text != "" {
				return at + below, text
			}
		case !fits([]byte("["+string(item)+"]"), m, fd):
			return at, wanted(fd)
		}
	}
	return "", wanted(fd)
}

// fits reports whether protojson takes the value for the field.
func fits(value []byte, m protoreflect.Message, fd protoreflect.FieldDescriptor) bool {
	alone := fmt.Appendf(nil, "{%q:%s}", fd.Name(), value)
	return protojson.Unmarshal(alone, m.New().Interface()) == nil
}

// isOwn reports whether the field's values are messages of the contract.
func isOwn(fd protoreflect.FieldDescriptor) bool {
	return fd.Message() != nil && fd.Message().ParentFile().Package() != wellKnown
}

func dotted(path, text string) (below, same string) {
	if path != "" {
		path = "." + path
	}
	return path, text
}

// fieldOf finds a field by its name in the contract or its name in lower camel case.
func fieldOf(md protoreflect.MessageDescriptor, name string) protoreflect.FieldDescriptor {
	if fd := md.Fields().ByTextName(name); fd != nil {
		return fd
	}
	return md.Fields().ByJSONName(name)
}

// nameOf is a name that came from outside, quoted where it is no word.
func nameOf(name string) string {
	if name = cutText(name, maxPath/2); strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") != "" || name == "" {
		return strconv.Quote(name)
	}
	return name
}

// member is a name and its value in an object.
type member struct {
	name  string
	value json.RawMessage
}

// membersOf are the members of an object in their order, repeated ones too.
func membersOf(data []byte) ([]member, bool) {
	d := json.NewDecoder(bytes.NewReader(data))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, false
	}
	var out []member
	for d.More() {
		name, err := d.Token()
		text, ok := name.(string)
		x := member{name: text}
		if err != nil || !ok || d.Decode(&x.value) != nil {
			return nil, false
		}
		out = append(out, x)
	}
	return out, true
}

// wanted says what a field takes.
func wanted(fd protoreflect.FieldDescriptor) string {
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return "value must be true or false"
	case protoreflect.StringKind:
		return "value must be a string in valid UTF-8"
	case protoreflect.BytesKind:
		return "value must be a string in base64"
	case protoreflect.EnumKind:
		return "value must be one of " + strings.Join(valuesOf(fd.Enum()), ", ")
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return "value must be a whole number from -2147483648 to 2147483647"
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return "value must be a whole number from -9223372036854775808 to 9223372036854775807, best as a string"
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return "value must be a whole number from 0 to 4294967295"
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return "value must be a whole number from 0 to 18446744073709551615, best as a string"
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		return "value must be a number"
	default:
	}
	switch fd.Message().FullName() {
	case wellKnown + ".Duration":
		return `value must be a duration in seconds, such as "1.5s"`
	case wellKnown + ".Timestamp":
		return `value must be a time such as "2026-01-02T15:04:05Z"`
	default:
		return "value must be an object"
	}
}

// valuesOf are the names of an enumeration, without the one that stands for none.
func valuesOf(e protoreflect.EnumDescriptor) []string {
	var names []string
	for i := range e.Values().Len() {
		if v := e.Values().Get(i); v.Number() != 0 {
			names = append(names, string(v.Name()))
		}
	}
	return names
}
