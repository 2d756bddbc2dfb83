package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"mime/multipart"
	"time"

	"parley/internal/llm"
	"parley/internal/llm/upstream"
)

// The limits of one transcription. An hour of speech takes some minutes on a machine with a graphics card.
const (
	transcriptionTime  = 30 * time.Minute
	transcriptionBytes = 64 << 20 // of the answer
)

// Transcribe returns the speech of a recording, whose size is in bytes, with POST {base}/audio/transcriptions. Name ends in
// the extension of its format. The error is an *llm.Error, or the context's when that ended.
func (p *Provider) Transcribe(ctx context.Context, model, name string, recording io.Reader, size int64) (llm.Transcript, error) {
	call, err := p.call(ctx, "/audio/transcriptions")
	if err != nil {
		return llm.Transcript{}, err
	}
	var head bytes.Buffer
	form := multipart.NewWriter(&head)
	for _, field := range [][2]string{{"model", llm.CleanName(model)}, {"response_format", "verbose_json"}, {"timestamp_granularities[]", "segment"}} {
		if err := form.WriteField(field[0], field[1]); err != nil {
			return llm.Transcript{}, &llm.Error{Err: fmt.Errorf("write the request: %w", err)}
		}
	}
	if _, err := form.CreateFormFile("file", name); err != nil {
		return llm.Transcript{}, &llm.Error{Err: fmt.Errorf("write the request: %w", err)}
	}
	tail := "\r\n--" + form.Boundary() + "--\r\n"
	call.Form = &upstream.Form{
		Type: form.FormDataContentType(), Size: int64(head.Len()) + size + int64(len(tail)),
		Body: io.MultiReader(&head, io.LimitReader(recording, size), bytes.NewReader([]byte(tail))),
	}
	body, err := p.speech.Post(ctx, call, transcriptionBytes)
	if err != nil {
		return llm.Transcript{}, err
	}
	return decodeTranscription(body)
}

// longest bounds the seconds of a recording, and maxTokens the tokens: higher numbers are ignored.
const (
	longest   = 1000 * 3600
	maxTokens = 100_000_000
)

// decodeTranscription reads an answer. A server that knows no segments gives one text, which begins at the beginning.
func decodeTranscription(body []byte) (llm.Transcript, error) {
	var w struct {
		Text     string  `json:"text"`
		Duration float64 `json:"duration"` // in seconds, like all times
		Segments []struct {
			Start float64 `json:"start"`
			End   float64 `json:"end"`
			Text  string  `json:"text"`
		} `json:"segments"`
		Usage struct {
			Seconds float64 `json:"seconds"`
			Input   int     `json:"input_tokens"`
			Output  int     `json:"output_tokens"`
		} `json:"usage"`
	}
	if err := json.Unmarshal(body, &w); err != nil {
		return llm.Transcript{}, &llm.Error{Err: fmt.Errorf("decode the transcription: %w", err)}
	}
	var out llm.Transcript
	end := 0.0
	for _, s := range w.Segments {
		at := time.Duration(0) // also if the server gave no usable time
		if s.Start > 0 && s.Start < longest {
			at = time.Duration(s.Start * float64(time.Second))
		}
		out.Spoken = append(out.Spoken, llm.Spoken{At: at, Text: s.Text})
		end = max(end, s.End)
	}
	if len(out.Spoken) == 0 && w.Text != "" {
		out.Spoken = []llm.Spoken{{Text: w.Text}}
	}
	if w.Usage.Input > 0 && w.Usage.Input <= maxTokens && w.Usage.Output >= 0 && w.Usage.Output <= maxTokens {
		out.Usage = llm.Usage{Input: w.Usage.Input, Output: w.Usage.Output}
	}
	for _, seconds := range []float64{w.Usage.Seconds, w.Duration, end} {
		if seconds > 0 && seconds < longest {
			out.Usage.Seconds = int(math.Ceil(seconds))
			break
		}
	}
	return out, nil
}
