package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
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

// Transcribe writes down what is said in a recording of so many bytes, with POST {base}/audio/transcriptions. Name ends in
// the extension of its format. The error is an *llm.Error, or the context's when that ended.
func (p *Provider) Transcribe(ctx context.Context, model, name string, recording io.Reader, size int64) ([]llm.Spoken, error) {
	call, err := p.call(ctx, "/audio/transcriptions")
	if err != nil {
		return nil, err
	}
	var head bytes.Buffer
	form := multipart.NewWriter(&head)
	for _, field := range [][2]string{{"model", llm.CleanName(model)}, {"response_format", "verbose_json"}, {"timestamp_granularities[]", "segment"}} {
		if err := form.WriteField(field[0], field[1]); err != nil {
			return nil, &llm.Error{Err: fmt.Errorf("write the request: %w", err)}
		}
	}
	if _, err := form.CreateFormFile("file", name); err != nil {
		return nil, &llm.Error{Err: fmt.Errorf("write the request: %w", err)}
	}
	tail := "\r\n--" + form.Boundary() + "--\r\n"
	call.Form = &upstream.Form{
		Type: form.FormDataContentType(), Size: int64(head.Len()) + size + int64(len(tail)),
		Body: io.MultiReader(&head, io.LimitReader(recording, size), bytes.NewReader([]byte(tail))),
	}
	body, err := p.speech.Post(ctx, call, transcriptionBytes)
	if err != nil {
		return nil, err
	}
	return decodeTranscription(body)
}

// decodeTranscription reads an answer. A server that knows no segments gives one text, which begins at the beginning.
func decodeTranscription(body []byte) ([]llm.Spoken, error) {
	var w struct {
		Text     string `json:"text"`
		Segments []struct {
			Start float64 `json:"start"` // in seconds
			Text  string  `json:"text"`
		} `json:"segments"`
	}
	if err := json.Unmarshal(body, &w); err != nil {
		return nil, &llm.Error{Err: fmt.Errorf("decode the transcription: %w", err)}
	}
	var all []llm.Spoken
	for _, s := range w.Segments {
		const longest = 1000 * 3600 // seconds; what is no such number is at the beginning
		at := time.Duration(0)
		if s.Start > 0 && s.Start < longest {
			at = time.Duration(s.Start * float64(time.Second))
		}
		all = append(all, llm.Spoken{At: at, Text: s.Text})
	}
	if len(all) == 0 && w.Text != "" {
		all = []llm.Spoken{{Text: w.Text}}
	}
	return all, nil
}
