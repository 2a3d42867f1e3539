package server

import (
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
)

// markField is the number of the unknown field in which the codec tells the validation
// what is wrong with a message that it could not read. It is the highest number there
// is, which no contract uses. A caller that sends it only refuses itself.
const markField protowire.Number = 1<<29 - 1

// What comes from outside is bounded: a path, and what is said about it.
const (
	maxPath = 256
	maxText = 1024
)

// markSplit is between a mark's path and its text.
const markSplit = "\n"

// markKind is what is wrong.
type markKind byte

const (
	markText      markKind = 't' // a string that is not UTF-8, with its path
	markMalformed markKind = 'm' // not the wire format
	markTooLarge  markKind = 'l' // over the limit; only its numbers were read
	markJSON      markKind = 'j' // not the JSON of the message, with a path and what is wanted there
	markBody      markKind = 'b' // a body over the limit, of which nothing was read
)

// mark is one finding of the codec, or of the reader of JSON.
type mark struct {
	kind markKind
	path string
	text string // of markJSON
}

// setMarks puts findings into a message.
func setMarks(msg proto.Message, marks []mark) {
	m := msg.ProtoReflect()
	unknown := m.GetUnknown()
	out := append(make([]byte, 0, len(unknown)), unknown...)
	for _, k := range marks {
		out = protowire.AppendTag(out, markField, protowire.BytesType)
		said := k.path
		if k.kind == markJSON {
			said += markSplit + k.text
		}
		out = protowire.AppendString(out, string(k.kind)+said)
	}
	m.SetUnknown(out)
}

// marksOf are the findings in a message. Most messages have none and cost one look.
func marksOf(msg proto.Message) []mark {
	var marks []mark
	for raw := msg.ProtoReflect().GetUnknown(); len(raw) > 0; {
		num, typ, n := protowire.ConsumeTag(raw)
		if n < 0 {
			return marks
		}
		size := protowire.ConsumeFieldValue(num, typ, raw[n:])
		if size < 0 {
			return marks
		}
		if num == markField && typ == protowire.BytesType {
			if v, _ := protowire.ConsumeBytes(raw[n:]); len(v) > 0 {
				marks = append(marks, readMark(markKind(v[0]), string(v[1:])))
			}
		}
		raw = raw[n+size:]
	}
	return marks
}

func readMark(kind markKind, said string) mark {
	k := mark{kind: kind, path: said}
	if kind == markJSON {
		k.path, k.text, _ = strings.Cut(said, markSplit)
	}
	k.path, k.text = printable(cutText(k.path, maxPath)), printable(cutText(k.text, maxText))
	return k
}

// carryMarks moves what was found in the part of an outer message that lies below a
// path to the message which is that part, so that it is judged there as if it had come
// alone.
func carryMarks(outer []mark, prefix string, inner proto.Message) {
	var mine []mark
	for _, k := range outer {
		if k.kind != markText {
			mine = append(mine, k)
		} else if rest, ok := strings.CutPrefix(k.path, prefix); ok {
			mine = append(mine, mark{kind: markText, path: rest})
		}
	}
	if len(mine) > 0 {
		setMarks(inner, mine)
	}
}

// refuseMarks is the refusal for what the codec found in a message, or nil. Paths below
// skip belong to items, which fail alone.
func refuseMarks(marks []mark, skip string) *refusal {
	var r *refusal
	for _, k := range marks {
		switch {
		case k.kind == markTooLarge:
			return &refusal{reason: pb.ErrorReason_ERROR_REASON_TOO_LARGE, message: "the message is larger than 4194304 bytes"}
		case k.kind == markMalformed:
			return &refusal{reason: pb.ErrorReason_ERROR_REASON_INVALID_ARGUMENT, message: "the message is not valid protobuf"}
		case k.kind == markBody:
			return &refusal{reason: pb.ErrorReason_ERROR_REASON_TOO_LARGE, message: "the body is larger than 8388608 bytes"}
		case k.kind == markJSON && k.path == "":
			return &refusal{reason: pb.ErrorReason_ERROR_REASON_INVALID_ARGUMENT, message: k.text}
		case k.kind == markJSON:
			return invalid(k.path, k.text)
		case skip != "" && strings.HasPrefix(k.path, skip):
		case r == nil:
			r = invalid(k.path, notText)
		case len(r.fields) < maxViolations:
			r.fields = append(r.fields, violation{field: k.path, message: notText})
		}
	}
	return r
}

const notText = "value must be valid UTF-8"

// descriptorOf is the descriptor of a message.
func descriptorOf(msg proto.Message) protoreflect.MessageDescriptor {
	return msg.ProtoReflect().Descriptor()
}
