// Package fetch reads pages of the public web only. It checks every address when it dials, after
// resolving the name, and again for each redirect, so that no URL, name or redirect leads into the
// server's own network (OWASP API7, server-side request forgery). It ignores proxies of the
// environment, because they would resolve names themselves.
//
//	page, err := fetch.New(fetch.Options{}).Get(ctx, "https://example.com/handbook", fetch.Known{})
package fetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Options tunes a Client. Zero fields mean the default.
type Options struct {
	Timeout      time.Duration  // for one page with its redirects; 15 s
	MaxBytes     int64          // limit of a body after decompression; 10 MiB
	MaxRedirects int            // 5; negative means none
	UserAgent    string         // "parley"
	Allow        []netip.Prefix // networks that are allowed although they are not public
	AllowHosts   []string       // the same for host names, in any case
}

// Client reads pages. It is safe for concurrent use.
type Client struct {
	opts Options
	http *http.Client // follows redirects
	hop  *http.Client // does not follow redirects

	lookup func(ctx context.Context, network, host string) ([]netip.Addr, error)
	dial   func(ctx context.Context, network, address string) (net.Conn, error)
}

// Known describes the caller's copy of a page, which is then sent only if it has changed (RFC 9110,
// section 13).
type Known struct {
	ETag         string // as the server sent it; "" if it sent none
	LastModified string // the same
}

// Page is the result of reading a URL.
type Page struct {
	URL          string // after redirects, without fragment
	MediaType    string // lower case, without parameters; sniffed if the server sent none
	Charset      string // from the Content-Type; "" if it names none
	Body         []byte
	ETag         string
	LastModified string
	NotModified  bool // the copy in Known is current; Body is nil

	Location string // target of a redirect that was not followed, as sent; Body is nil
	Robots   string // values of the X-Robots-Tag header, joined by commas
}

// Error says why a page could not be read.
type Error struct {
	Kind   Kind
	Status int    // status of the answer, with KindStatus
	Msg    string // one sentence that may be shown to the user
	Err    error  // internal; nil for most

	RetryAfter time.Duration // wait that the server asks for, with KindStatus; 0 if none
}

// Kind classifies an Error.
type Kind string

// The kinds of errors.
const (
	KindURL         Kind = "url"         // not a readable URL
	KindForbidden   Kind = "forbidden"   // an address that is not public
	KindRedirects   Kind = "redirects"   // too many redirects
	KindStatus      Kind = "status"      // the server answered with an error
	KindTooLarge    Kind = "too_large"   // more than MaxBytes
	KindType        Kind = "type"        // a media type that the caller refused
	KindTimeout     Kind = "timeout"     // longer than Timeout
	KindUnreachable Kind = "unreachable" // unknown name, no connection, or a broken answer
)

func (e *Error) Error() string {
	if e.Err == nil {
		return e.Msg
	}
	return e.Msg + " " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// New returns a client.
func New(opts Options) *Client {
	opts.Timeout = cmp.Or(opts.Timeout, 15*time.Second)
	opts.MaxBytes = cmp.Or(opts.MaxBytes, 10<<20)
	opts.MaxRedirects = cmp.Or(opts.MaxRedirects, 5)
	opts.UserAgent = cmp.Or(opts.UserAgent, "parley")
	c := &Client{opts: opts, lookup: net.DefaultResolver.LookupNetIP}
	c.dial = (&net.Dialer{Timeout: 10 * time.Second}).DialContext
	c.http = &http.Client{
		Transport: &http.Transport{
			DialContext:            c.connect,
			ForceAttemptHTTP2:      true,
			TLSHandshakeTimeout:    10 * time.Second,
			ResponseHeaderTimeout:  opts.Timeout,
			MaxResponseHeaderBytes: 64 << 10,
			MaxIdleConns:           16,
			IdleConnTimeout:        30 * time.Second,
		},
		CheckRedirect: c.mayFollow,
	}
	c.hop = &http.Client{
		Transport:     c.http.Transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Get reads a page. Errors are *Error, except that of a cancelled ctx.
func (c *Client) Get(ctx context.Context, rawURL string, known Known) (*Page, error) {
	return c.read(ctx, c.http, rawURL, known, nil)
}

// Hop is Get for callers that follow redirects themselves: a redirect is a Page with Location. If
// accept refuses a media type, the body is not read and the error is KindType. A nil accept takes
// all.
func (c *Client) Hop(ctx context.Context, rawURL string, known Known, accept func(mediaType string) bool) (*Page, error) {
	return c.read(ctx, c.hop, rawURL, known, accept)
}

func (c *Client) read(ctx context.Context, client *http.Client, rawURL string, known Known, accept func(string) bool) (*Page, error) {
	parent := ctx
	ctx, cancel := context.WithTimeout(ctx, c.opts.Timeout)
	defer cancel()
	req, err := c.request(ctx, rawURL, known)
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, c.explain(parent, ctx, err)
	}
	defer resp.Body.Close()
	page := &Page{
		URL: withoutFragment(resp.Request.URL), ETag: resp.Header.Get("ETag"),
		LastModified: resp.Header.Get("Last-Modified"), Robots: strings.Join(resp.Header.Values("X-Robots-Tag"), ", "),
	}
	if resp.StatusCode == http.StatusNotModified && known != (Known{}) {
		page.NotModified = true
		return page, nil
	}
	if to := resp.Header.Get("Location"); client == c.hop && to != "" && isRedirect(resp.StatusCode) {
		page.Location = to
		return page, nil
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return nil, &Error{Kind: KindStatus, Status: resp.StatusCode, RetryAfter: retryAfter(resp.Header.Get("Retry-After")),
			Msg: fmt.Sprintf("The server of %s answered with status %d.", resp.Request.URL.Host, resp.StatusCode)}
	}
	if declared := resp.Header.Get("Content-Type"); accept != nil && declared != "" {
		if media, _ := mediaType(declared, nil); !accept(media) {
			return nil, unwanted(media)
		}
	}
	page.Body, err = io.ReadAll(io.LimitReader(resp.Body, c.opts.MaxBytes+1))
	if err != nil {
		return nil, c.explain(parent, ctx, err)
	}
	if int64(len(page.Body)) > c.opts.MaxBytes {
		return nil, &Error{Kind: KindTooLarge, Msg: fmt.Sprintf("The page is larger than %d bytes.", c.opts.MaxBytes)}
	}
	page.MediaType, page.Charset = mediaType(resp.Header.Get("Content-Type"), page.Body)
	if accept != nil && !accept(page.MediaType) {
		return nil, unwanted(page.MediaType)
	}
	return page, nil
}

// retryAfter parses the Retry-After header (RFC 9110, section 10.2.3): seconds, or a date.
func retryAfter(value string) time.Duration {
	if seconds, err := strconv.ParseInt(value, 10, 32); err == nil {
		return time.Duration(max(seconds, 0)) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(time.Until(at), 0)
	}
	return 0
}

func unwanted(mediaType string) error {
	return &Error{Kind: KindType, Msg: fmt.Sprintf("Pages of the type %q are not read.", mediaType)}
}

// isRedirect reports whether a status redirects a GET (RFC 9110, section 15.4).
func isRedirect(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// maxURL is the length limit of a URL in bytes.
const maxURL = 2048

func (c *Client) request(ctx context.Context, rawURL string, known Known) (*http.Request, error) {
	if len(rawURL) > maxURL {
		return nil, badURL("The URL is longer than %d bytes.", maxURL)
	}
	u, err := url.Parse(strings.TrimSpace(rawURL))
	if err != nil {
		return nil, badURL("The URL can't be read.")
	}
	if err := checkURL(u); err != nil {
		return nil, err
	}
	u.Fragment, u.RawFragment = "", ""
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, badURL("The URL can't be read.")
	}
	req.Header.Set("User-Agent", c.opts.UserAgent)
	req.Header.Set("Accept", "text/html, application/xhtml+xml, text/plain, application/pdf;q=0.9, */*;q=0.5")
	if known.ETag != "" {
		req.Header.Set("If-None-Match", known.ETag)
	}
	if known.LastModified != "" {
		req.Header.Set("If-Modified-Since", known.LastModified)
	}
	return req, nil
}

func badURL(format string, args ...any) error {
	return &Error{Kind: KindURL, Msg: fmt.Sprintf(format, args...)}
}

// checkURL rejects URLs that cannot be a public page. The address is checked when it is dialled.
func checkURL(u *url.URL) error {
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return badURL("Only http and https URLs can be read.")
	case u.Hostname() == "":
		return badURL("The URL has no host.")
	case u.User != nil:
		return badURL("The URL holds a user name.")
	case u.Port() == "0":
		return badURL("The URL has no usable port.")
	}
	return nil
}

// errRedirects ends a chain of redirects.
var errRedirects = errors.New("too many redirects")

func (c *Client) mayFollow(req *http.Request, via []*http.Request) error {
	if len(via) > c.opts.MaxRedirects {
		return errRedirects
	}
	return checkURL(req.URL)
}

// explain turns an error of the transport into an *Error, or returns the error of the caller's
// context.
func (c *Client) explain(parent, ctx context.Context, err error) error {
	if parent.Err() != nil {
		return parent.Err()
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	switch {
	case errors.Is(err, errRedirects):
		return &Error{Kind: KindRedirects, Msg: fmt.Sprintf("The page was redirected more than %d times.", max(c.opts.MaxRedirects, 0))}
	case ctx.Err() != nil, isTimeout(err):
		return &Error{Kind: KindTimeout, Msg: fmt.Sprintf("The page did not come within %s.", c.opts.Timeout), Err: err}
	}
	return &Error{Kind: KindUnreachable, Msg: "The server of the page can't be reached.", Err: err}
}

func isTimeout(err error) bool {
	e, ok := errors.AsType[net.Error](err)
	return ok && e.Timeout()
}

func withoutFragment(u *url.URL) string {
	v := *u
	v.Fragment, v.RawFragment = "", ""
	return v.String()
}

func mediaType(header string, body []byte) (media, charset string) {
	media, params, err := mime.ParseMediaType(header)
	if err != nil || media == "" {
		media, _, err = mime.ParseMediaType(http.DetectContentType(body))
		if err != nil {
			return "application/octet-stream", ""
		}
		return media, ""
	}
	return media, params["charset"]
}
