package server

import (
	"unicode/utf8"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// makePrintable replaces what is not UTF-8 in a message's texts, wherever they stand. A
// message with such a text cannot be sent at all.
func makePrintable(m protoreflect.Message) {
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.IsMap():
		case fd.IsList():
			printableList(fd, v.List())
		case fd.Message() != nil:
			makePrintable(v.Message())
		case fd.Kind() == protoreflect.StringKind && !utf8.ValidString(v.String()):
			m.Set(fd, protoreflect.ValueOfString(printable(v.String())))
		}
		return true
	})
}

func printableList(fd protoreflect.FieldDescriptor, l protoreflect.List) {
	for i := range l.Len() {
		switch v := l.Get(i); {
		case fd.Message() != nil:
			makePrintable(v.Message())
		case fd.Kind() == protoreflect.StringKind && !utf8.ValidString(v.String()):
			l.Set(i, protoreflect.ValueOfString(printable(v.String())))
		}
	}
}
