package openai_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/internal/llm"
	"parley/internal/llm/openai"
)

func TestTranscribe_SendsTheRecordingAndReadsItsSegments(t *testing.T) {
	const sound = "ID3\x03 sound"
	answer := `{"task":"transcribe","duration":70.5,"text":"Hello. Bye.","segments":[{"id":0,"start":0.0,"end":2.5,"text":" Hello."},{"id":1,"start":61.25,"end":63,"text":" Bye & <good>."},{"start":-4,"text":"x"}]}`
	status := http.StatusOK
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f, head, err := r.FormFile("file")
		if err != nil {
			t.Error(err)
			return
		}
		data, err := io.ReadAll(f)
		if err != nil || string(data) != sound || head.Filename != "talk.mp3" || r.URL.Path != "/v1/audio/transcriptions" ||
			r.FormValue("model") != "whisper-1" || r.FormValue("response_format") != "verbose_json" || r.FormValue("timestamp_granularities[]") != "segment" ||
			r.Header.Get("Authorization") != "Bearer test-key" || r.ContentLength <= 0 {
			t.Errorf("%s %q of %q, %v, %v", r.URL, data, head.Filename, r.Form, r.Header)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		fmt.Fprint(w, answer)
	}))
	t.Cleanup(s.Close)
	p := provider(t, openai.Config{BaseURL: s.URL + "/v1", APIKey: "test-key"})
	send := func() (llm.Transcript, error) {
		return p.Transcribe(t.Context(), "whisper-1", "talk.mp3", strings.NewReader(sound), int64(len(sound)))
	}
	got, err := send()
	want := llm.Transcript{
		Spoken: []llm.Spoken{{Text: " Hello."}, {At: 61250 * time.Millisecond, Text: " Bye & <good>."}, {Text: "x"}},
		Usage:  llm.Usage{Seconds: 71},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	vtt := "WEBVTT\n\n00:00:00.000 --> 00:00:00.000\nHello.\n\n00:01:01.250 --> 00:01:01.250\nBye &amp; &lt;good&gt;.\n"
	if diff := cmp.Diff(vtt, llm.WebVTT(got.Spoken[:2])); diff != "" {
		t.Error(diff)
	}
	answer = `{"text":"One text."}`
	if got, err = send(); err != nil || len(got.Spoken) != 1 || got.Spoken[0].Text != "One text." || got.Usage != (llm.Usage{}) {
		t.Errorf("without segments: %+v, %v", got, err)
	}
	for body, usage := range map[string]llm.Usage{
		`{"text":"x","usage":{"type":"duration","seconds":9}}`:                           {Seconds: 9},
		`{"text":"x","usage":{"type":"tokens","input_tokens":14,"output_tokens":45}}`:    {Input: 14, Output: 45},
		`{"segments":[{"start":1,"end":2.5,"text":"x"},{"start":2,"end":2,"text":"y"}]}`: {Seconds: 3},
		`{"text":"x","duration":-1,"usage":{"input_tokens":5,"output_tokens":-1}}`:       {},
		`{"text":"x","duration":1e300}`:                                                  {},
	} {
		answer = body
		if got, err = send(); err != nil || got.Usage != usage {
			t.Errorf("%s: %+v, %v", body, got.Usage, err)
		}
	}
	answer, status = `{"error":{"message":"too large"}}`, http.StatusRequestEntityTooLarge
	if _, err = send(); err == nil {
		t.Fatal("no error")
	}
	if e, ok := errors.AsType[*llm.Error](err); !ok || e.Status != http.StatusRequestEntityTooLarge {
		t.Errorf("%v", err)
	}
	answer, status = `not JSON`, http.StatusOK
	if _, err = send(); err == nil {
		t.Error("an answer that is no JSON is taken")
	}
}
