package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// service calls a JSON API configured by the operator, which may be in a private network.
type service struct {
	http *http.Client
}

// maxReply is the size limit of a service's reply.
const maxReply = 1 << 20

func newService() *service {
	return &service{http: &http.Client{
		Timeout: 15 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // send the key to the configured host only
		},
	}}
}

// call sends req and decodes the reply into out. Errors contain neither URL nor key.
func (s *service) call(req *http.Request, out any) error {
	ctx := req.Context()
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "parley")
	resp, err := s.http.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return &Error{Msg: "The service can't be reached.", Err: withoutURL(err)}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxReply+1))
	switch {
	case err != nil:
		return &Error{Msg: "The service closed the connection early.", Err: withoutURL(err)}
	case len(body) > maxReply:
		return failf("The service answered with more than %d bytes.", maxReply)
	case resp.StatusCode != http.StatusOK:
		return failf("The service answered with status %d.", resp.StatusCode)
	}
	if err := json.Unmarshal(body, out); err != nil {
		return &Error{Msg: "The service's reply can't be read.", Err: fmt.Errorf("decode the reply: %w", err)}
	}
	return nil
}

// withoutURL removes the URL, which may hold a key, from an error of net/http.
func withoutURL(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}
