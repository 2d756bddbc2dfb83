package openai

import (
	"fmt"
	"reflect"
	"testing"

	"parley/internal/llm"
)

func usual(text string) []byte {
	return fmt.Appendf(nil, `{"id":"chatcmpl-0123456789abcdef","object":"chat.completion.chunk","created":1,"model":"stub",`+
		`"choices":[{"index":0,"delta":{"content":%q},"finish_reason":null}]}`, text)
}

// FuzzDecode_LearningChangesNothing decodes two events with one decoder, which may recognise the form of
// the second, and the second event alone.
func FuzzDecode_LearningChangesNothing(f *testing.F) {
	f.Add(usual("a"), usual("b\n"))
	f.Add(usual("a"), []byte(`{"model":"m","choices":[{"delta":{},"finish_reason":"stop"}]}`))
	f.Add([]byte(`{"model":"m","choices":[{"delta":{"content":"a","content":"b"}}]}`), []byte(`{"model":"m","choices":[{"delta":{"content":"c","content":"b"}}]}`))
	f.Add([]byte(`{"x\"content":"q","model":"m","choices":[{"delta":{"content":"a"}}]}`), []byte(`{"x\"content":"r","model":"m","choices":[{"delta":{"content":"a"}}]}`))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		learned, fresh := newDecoder(llm.Request{Model: "m"}, nil), newDecoder(llm.Request{Model: "m"}, nil)
		learned.failed = func([]byte) *llm.Error { return &llm.Error{} }
		fresh.failed = learned.failed
		fresh.shape.lessons = maxLessons
		for _, event := range [][]byte{first, second, second} {
			got, ok1, done1, err1 := learned.Decode(event)
			want, ok2, done2, err2 := fresh.Decode(event)
			if ok1 != ok2 || done1 != done2 || (err1 == nil) != (err2 == nil) || err1 == nil && !reflect.DeepEqual(got, want) {
				t.Fatalf("%q: got %+v %v %v, want %+v %v %v", event, got, ok1, err1, want, ok2, err2)
			}
			if err1 != nil {
				return
			}
		}
		if learned.tally != fresh.tally || learned.finished != fresh.finished || !reflect.DeepEqual(learned.usage, fresh.usage) {
			t.Fatalf("the states differ: %+v, %+v", learned, fresh)
		}
	})
}

func TestDecode_RecognisesTheUsualEvent(t *testing.T) {
	d := newDecoder(llm.Request{Model: "m"}, nil)
	if _, _, _, err := d.Decode(usual("a")); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"plain ", "line\n", "é", `"quoted"`} {
		if got, ok := d.shape.match(usual(text)); !ok || got != text {
			t.Errorf("%q: got %q, %v", text, got, ok)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	for name, lessons := range map[string]int{"recognised": 0, "parsed": maxLessons} {
		b.Run(name, func(b *testing.B) {
			d := newDecoder(llm.Request{Model: "m", MaxOutputTokens: 1 << 50}, nil)
			d.shape.lessons = lessons
			event := usual("tok12 ")
			b.ReportAllocs()
			for b.Loop() {
				if _, ok, _, err := d.Decode(event); !ok || err != nil {
					b.Fatal(ok, err)
				}
			}
		})
	}
}
