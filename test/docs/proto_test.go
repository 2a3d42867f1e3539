package docs_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
)

const contract = "api/proto/idemsvc/v1/"

// enums are all enumerations of the contract, by name.
func enums() map[string]protoreflect.EnumDescriptor {
	found := map[string]protoreflect.EnumDescriptor{}
	protoregistry.GlobalFiles.RangeFilesByPackage(pb.File_idemsvc_v1_claim_proto.Package(), func(f protoreflect.FileDescriptor) bool {
		for i := range f.Enums().Len() {
			found[string(f.Enums().Get(i).Name())] = f.Enums().Get(i)
		}
		return true
	})
	return found
}

// shortName is the name of an enumeration's value without the prefix that all share.
func shortName(v protoreflect.EnumValueDescriptor) string {
	var prefix strings.Builder
	for i, r := range string(v.Parent().Name()) {
		if i > 0 && r >= 'A' && r <= 'Z' {
			prefix.WriteByte('_')
		}
		prefix.WriteRune(r)
	}
	return strings.TrimPrefix(string(v.Name()), strings.ToUpper(prefix.String())+"_")
}

var (
	protoTop    = regexp.MustCompile(`^(?:message|enum|service) (\w+) \{`)
	protoMember = regexp.MustCompile(`^ +(?:rpc (\w+)\(|(?:[\w.<>, ]+ )?(\w+) = \d+\b)`)
)

// comments are the comments of the contract as they stand above what they tell of: a
// message, enumeration or service by its name, what is in it as «Name.member», and a file
// by its own name. The protos are formatted by buf, so that their lines are regular;
// whoever asks for a comment that was not found is told so.
type comments map[string]string

func readComments(t *testing.T) comments {
	t.Helper()
	found := comments{}
	for _, name := range files(t, ".proto") {
		file, ours := strings.CutPrefix(name, contract)
		if !ours {
			continue
		}
		top := ""
		var above []string
		for line := range strings.Lines(readFile(t, name)) {
			line = strings.TrimRight(line, "\n")
			said, isComment := strings.CutPrefix(strings.TrimSpace(line), "//")
			declared := protoTop.FindStringSubmatch(line)
			member := protoMember.FindStringSubmatch(line)
			switch {
			case isComment:
				above = append(above, strings.TrimSpace(said))
				continue
			case line == "" && top == "" && found[file] == "" && len(above) > 0:
				found[file] = paragraphs(above)
			case declared != nil:
				top = declared[1]
				found[top] = paragraphs(above)
			case member != nil && len(above) > 0:
				found[top+"."+member[1]+member[2]] = paragraphs(above)
			}
			above = nil
		}
	}
	return found
}

// paragraphs joins lines; an empty one ends a paragraph.
func paragraphs(lines []string) string {
	out := strings.Builder{}
	for i, l := range lines {
		switch {
		case i == 0:
		case l == "" || lines[i-1] == "":
			out.WriteString("\n")
		default:
			out.WriteString(" ")
		}
		out.WriteString(l)
	}
	return out.String()
}

// of is a comment that must be there.
func (c comments) of(t *testing.T, name string) string {
	t.Helper()
	if c[name] == "" {
		t.Fatalf("no comment was found for %s", name)
	}
	return c[name]
}

// sentence is the one of a comment that has the words.
func sentence(t *testing.T, comment, words string) string {
	t.Helper()
	for s := range strings.SplitSeq(strings.ReplaceAll(comment, "\n", " "), ". ") {
		if strings.Contains(s, words) {
			return strings.TrimSuffix(strings.TrimSpace(s), ".") + "."
		}
	}
	t.Fatalf("%q is not said in: %s", words, comment)
	return ""
}

// names are the sorted keys of a map.
func names[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for name := range m {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}
