package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"parley/internal/fetch"
	"parley/internal/llm"
)

// PageReader extracts the title and the text of a page.
type PageReader func(ctx context.Context, page *fetch.Page) (title, text string, err error)

// ReadPage returns a tool that reads a page of the public web. get is fetch.Client.Get or a fake.
func ReadPage(get func(ctx context.Context, url string, known fetch.Known) (*fetch.Page, error), read PageReader) Tool {
	return Tool{
		Tool: llm.Tool{
			Name:        "fetch_url",
			Description: "Reads a public web page and returns its text.",
			Parameters:  json.RawMessage(`{"type":"object","properties":{"url":{"type":"string","description":"an http or https URL"}},"required":["url"],"additionalProperties":false}`),
		},
		Run: func(ctx context.Context, call Call) (Result, error) {
			args, err := arguments[struct {
				URL string `json:"url"`
			}](call)
			if err != nil {
				return Result{}, err
			}
			page, err := get(ctx, args.URL, fetch.Known{})
			if e, ok := errors.AsType[*fetch.Error](err); ok {
				return Result{}, &Error{Msg: e.Msg, Err: e.Err}
			}
			if err != nil {
				return Result{}, err
			}
			title, text, err := read(ctx, page)
			if err != nil {
				return Result{}, &Error{Msg: "The page has no readable text.", Err: err}
			}
			return Result{Text: fmt.Sprintf("%s\n%s\n\n%s", title, page.URL, text)}, nil
		},
	}
}
