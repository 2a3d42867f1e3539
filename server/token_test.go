package server

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/idemsvc/idemsvc/idem"
)

func testKeys(t testing.TB) *tokenKeys {
	t.Helper()
	tk := &tokens{secret: func(context.Context) ([]byte, error) { return bytes.Repeat([]byte{7}, 32), nil }}
	k, err := tk.load(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestTokensSayWhatWasSealed(t *testing.T) {
	t.Parallel()
	k := testKeys(t)
	for _, want := range []idem.Token{
		{Namespace: "a", Consumer: "b", Event: idem.ID{1}, Fence: 1<<62 + 1, Nonce: idem.ID{2}},
		{Namespace: strings.Repeat("é", 256), Consumer: strings.Repeat("x", 512), Fence: -1},
	} {
		text := k.sealClaim(want)
		if len(text) > 4096 {
			t.Errorf("%d bytes", len(text))
		}
		if got, ok := k.openClaim(text); !ok || got != want {
			t.Errorf("%+v %v", got, ok)
		}
		if _, ok := k.openEffect(text); ok {
			t.Error("a claim's token opens as an effect's")
		}
	}
	want := idem.EffectToken{Namespace: "a", Effect: idem.ID{1}, Generation: 2, Number: 3, Nonce: idem.ID{4}}
	if got, ok := k.openEffect(k.sealEffect(want)); !ok || got != want {
		t.Errorf("%+v %v", got, ok)
	}
}

func TestNoChangedTokenOpens(t *testing.T) {
	t.Parallel()
	k := testKeys(t)
	text := k.sealClaim(idem.Token{Namespace: "shop", Consumer: "billing", Event: idem.ID{1}, Fence: 7, Nonce: idem.ID{2}})
	for i := range text {
		for _, flip := range []byte{1, 0x80} {
			bad := bytes.Clone(text)
			bad[i] ^= flip
			if _, ok := k.openClaim(bad); ok {
				t.Fatalf("byte %d does not matter", i)
			}
		}
	}
	for n := range text {
		if _, ok := k.openClaim(text[:n]); ok {
			t.Fatalf("%d bytes are enough", n)
		}
	}
	if _, ok := k.openClaim(append(bytes.Clone(text), 0)); ok {
		t.Fatal("a longer token opens")
	}
}

func FuzzOpenToken(f *testing.F) {
	k := testKeys(f)
	f.Add([]byte(nil))
	f.Add(k.sealClaim(idem.Token{Namespace: "a", Consumer: "b"}))
	f.Add(k.sealEffect(idem.EffectToken{Namespace: "a"}))
	f.Add(k.claim.seal([]byte{tokenVersion, 0xff, 0xff}))
	f.Fuzz(func(t *testing.T, text []byte) {
		if tok, ok := k.openClaim(text); ok && !bytes.Equal(k.sealClaim(tok), text) {
			t.Error("a token opens that was not sealed")
		}
		if tok, ok := k.openEffect(text); ok && !bytes.Equal(k.sealEffect(tok), text) {
			t.Error("a token opens that was not sealed")
		}
		// What is genuine may still be malformed inside.
		if tok, ok := k.openClaim(k.claim.seal(append([]byte{tokenVersion}, text...))); ok && tok.Namespace == "" {
			t.Error("a token without namespace opens")
		}
	})
}

func TestNoncesDiffer(t *testing.T) {
	t.Parallel()
	n := newNonces()
	seen := map[idem.ID]bool{}
	for range 2000 {
		id := n.next()
		if seen[id] {
			t.Fatal("repeated")
		}
		seen[id] = true
	}
}
