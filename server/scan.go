package server

import (
	"strconv"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

const (
	maxScanDepth = 32
	maxFound     = 4096
)

// scan looks through a message on the wire for texts that are not UTF-8, names them by
// their path, and replaces their bad bytes in place.
type scan struct{ found []mark }

func (s *scan) message(data []byte, md protoreflect.MessageDescriptor, path string, depth int) {
	seen := map[protowire.Number]int{}
	for len(data) > 0 && depth < maxScanDepth && len(s.found) < maxFound {
		num, typ, n := protowire.ConsumeTag(data)
		if n < 0 {
			return
		}
		size := protowire.ConsumeFieldValue(num, typ, data[n:])
		if size < 0 {
			return
		}
		fd := md.Fields().ByNumber(num)
		if fd != nil && typ == protowire.BytesType {
			if v, m := protowire.ConsumeBytes(data[n:]); m >= 0 {
				s.field(v, fd, path+element(fd, seen[num]), depth)
			}
		}
		seen[num]++
		data = data[n+size:]
	}
}

func (s *scan) field(v []byte, fd protoreflect.FieldDescriptor, path string, depth int) {
	switch {
	case fd.Message() != nil:
		s.message(v, fd.Message(), path+".", depth+1)
	case fd.Kind() == protoreflect.StringKind && !utf8.Valid(v):
		s.found = append(s.found, mark{kind: markText, path: path})
		replaceInvalid(v)
	}
}

// element is a field's part of a path.
func element(fd protoreflect.FieldDescriptor, index int) string {
	if fd.IsList() {
		return string(fd.Name()) + "[" + strconv.Itoa(index) + "]"
	}
	return string(fd.Name())
}

func replaceInvalid(v []byte) {
	for i := 0; i < len(v); {
		r, n := utf8.DecodeRune(v[i:])
		if r == utf8.RuneError && n == 1 {
			v[i] = '?'
		}
		i += n
	}
}
