package e5small

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"parley/internal/encoder"
)

// reference is a text with the vector that other programs compute for it: test/encoderweights/reference.py.
type reference struct {
	Text   string
	Tokens []int32
	Vector []float32
}

func references(t testing.TB) []reference {
	raw, err := os.ReadFile("testdata/reference.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []reference
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

func model(t testing.TB) *encoder.Model {
	m, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestTokens_AreThoseOfTheReference(t *testing.T) {
	for _, r := range references(t) {
		if got := model(t).Tokens(r.Text, encoder.Passage); !slices.Equal(got, r.Tokens) {
			t.Errorf("%q:\ngot  %v\nwant %v", r.Text, got, r.Tokens)
		}
	}
}

func TestEmbed_IsTheVectorOfTheReference(t *testing.T) {
	m := model(t)
	for _, r := range references(t) {
		if r.Vector == nil {
			continue
		}
		got, err := m.Embed(context.Background(), r.Text, encoder.Passage)
		if err != nil {
			t.Fatal(err)
		}
		// Eight bits for activations are what is lost; a mistake in any layer loses far more. The
		// least is kept of texts without words, such as a row of x.
		least := 0.999
		if len(strings.Fields(r.Text)) < 2 {
			least = 0.995
		}
		if c := cosine(got, r.Vector); c < least {
			t.Errorf("%.40q: the cosine with the reference is %.5f", r.Text, c)
		}
	}
}

func TestEmbed_TellsWhatIsAlike(t *testing.T) {
	m := model(t)
	ask := func(text string, kind encoder.Kind) []float32 {
		v, err := m.Embed(context.Background(), text, kind)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	question := ask("How long may I stay away when my child is ill?", encoder.Question)
	right := cosine(question, ask("Parents get ten days of leave a year to look after a sick son or daughter.", encoder.Passage))
	wrong := cosine(question, ask("The cafeteria opens at eleven and serves hot meals until two.", encoder.Passage))
	if right < wrong+0.05 {
		t.Errorf("the right passage has %.3f, the wrong one %.3f", right, wrong)
	}
}

func TestEmbed_EndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := model(t).Embed(ctx, "text", encoder.Passage); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func cosine(a, b []float32) float64 {
	var sum float64
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

// BenchmarkEmbed shows what a question and passages of some lengths cost.
func BenchmarkEmbed(b *testing.B) {
	m := model(b)
	for _, words := range []int{12, 100, 200, 400} {
		text := strings.Repeat("leave ", words)
		b.Run(fmt.Sprintf("words=%d", words), func(b *testing.B) {
			for b.Loop() {
				if _, err := m.Embed(context.Background(), text, encoder.Passage); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// FuzzTokens holds that any text has tokens within the limit, between the marks of beginning and end.
func FuzzTokens(f *testing.F) {
	f.Add("")
	f.Add("a \xff b\u00a0  ﬁ e\u0301")
	f.Add(strings.Repeat("木", 2000))
	f.Add(strings.Repeat(" ", 3000) + "x")
	f.Fuzz(func(t *testing.T, text string) {
		m := model(t)
		got := m.Tokens(text, encoder.Passage)
		if len(got) < 2 || len(got) > m.Limit() || got[0] != 0 || got[len(got)-1] != 2 {
			t.Fatalf("%q has the tokens %v", text, got)
		}
		for _, token := range got {
			if token < 0 || token >= 60000 {
				t.Fatalf("%q has the token %d", text, token)
			}
		}
	})
}
