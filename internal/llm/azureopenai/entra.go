package azureopenai

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"parley/internal/llm"
	"parley/internal/llm/upstream"
)

// Entra says how to get tokens of Microsoft Entra ID. The first complete one of three ways is used: as
// an application with a secret (Tenant, Client, Secret); as an application with a token of another
// issuer, such as a Kubernetes cluster (Tenant, Client, AssertionFile); or with the identity that Azure
// gave to the machine (Managed) or the app (Endpoint, Header).
type Entra struct {
	Tenant        string
	Client        string // for a managed identity: selects one of several
	Secret        string
	AssertionFile string // read for each token, since the file is renewed
	Managed       bool   // ask the metadata service of the virtual machine
	Endpoint      string // IDENTITY_ENDPOINT of App Service, Functions and Container Apps
	Header        string // IDENTITY_HEADER
	Authority     string // address of Entra ID; "" means that of the endpoint's cloud
	Scope         string // of the tokens; "" means Cognitive Services in the endpoint's cloud

	metadata string // the metadata service; its address is the same on every machine
}

// Configured reports whether there is a way to get tokens.
func (e *Entra) Configured() bool {
	return e.Tenant != "" && e.Client != "" && (e.Secret != "" || e.AssertionFile != "") ||
		e.Managed || e.Endpoint != "" && e.Header != ""
}

// The limits of a request for a token.
const (
	entraTime    = 15 * time.Second
	maxTokenSize = 256 << 10 // bytes of an answer
)

// cloud is one of Azure's separate clouds.
type cloud struct{ suffix, authority, scope string }

// clouds lists all clouds, the public one first.
var clouds = []cloud{
	{".com", "https://login.microsoftonline.com", "https://cognitiveservices.azure.com/.default"},
	{".azure.us", "https://login.microsoftonline.us", "https://cognitiveservices.azure.us/.default"},
	{".azure.cn", "https://login.partner.microsoftonline.cn", "https://cognitiveservices.azure.cn/.default"},
}

// cloudOf returns the cloud to which the endpoint of a resource belongs.
func cloudOf(endpoint *url.URL) cloud {
	for _, c := range clouds {
		if strings.HasSuffix(endpoint.Hostname(), c.suffix) {
			return c
		}
	}
	return clouds[0]
}

// check returns an error if the values cannot work, and sets the defaults, which depend on the
// endpoint's cloud.
func (e *Entra) check(endpoint *url.URL) error {
	c := cloudOf(endpoint)
	e.Authority, e.Scope = cmp.Or(e.Authority, c.authority), cmp.Or(e.Scope, c.scope)
	u, err := url.Parse(e.Authority)
	if err != nil || u.Host == "" || u.Scheme != "https" && !isLoopback(u) {
		return errors.New("the authority of Entra ID is not an https URL")
	}
	e.Authority = strings.TrimRight(e.Authority, "/")
	if e.metadata == "" {
		e.metadata = "http://169.254.169.254"
	}
	return nil
}

func isLoopback(u *url.URL) bool {
	ip := net.ParseIP(u.Hostname())
	return u.Scheme == "http" && (u.Hostname() == "localhost" || ip != nil && ip.IsLoopback())
}

// fetch requests a token. The error is an *llm.Error, or the context's if that has ended.
func (e *Entra) fetch(parent context.Context) (token, error) {
	ctx, cancel := context.WithTimeout(parent, entraTime)
	defer cancel()
	r, secret, err := e.request(ctx)
	if err != nil {
		return token{}, &llm.Error{Status: http.StatusUnauthorized, Err: fmt.Errorf("ask for a token of Entra ID: %w", err)}
	}
	resp, err := identityClient(r.Method == http.MethodPost).Do(r)
	if err != nil {
		return token{}, e.broken(parent, secret, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxTokenSize))
	if err != nil {
		return token{}, e.broken(parent, secret, err)
	}
	if resp.StatusCode != http.StatusOK {
		return token{}, refused(resp.StatusCode, secret, body)
	}
	return readAnswer(body, time.Now())
}

// request returns the request for a token, and the secret that it contains.
func (e *Entra) request(ctx context.Context) (*http.Request, upstream.Secret, error) {
	switch {
	case e.Tenant != "" && e.Client != "" && e.Secret != "":
		return e.tokenRequest(ctx, "client_secret", e.Secret)
	case e.Tenant != "" && e.Client != "" && e.AssertionFile != "":
		assertion, err := readToken(e.AssertionFile)
		if err != nil {
			return nil, "", err
		}
		return e.tokenRequest(ctx, "client_assertion", assertion)
	case e.Endpoint != "" && e.Header != "":
		r, err := e.identityRequest(ctx, e.Endpoint, "2019-08-01")
		if err == nil {
			r.Header.Set("X-Identity-Header", e.Header)
		}
		return r, upstream.Secret(e.Header), err
	}
	r, err := e.identityRequest(ctx, e.metadata+"/metadata/identity/oauth2/token", "2018-02-01")
	if err == nil {
		r.Header.Set("Metadata", "true")
	}
	return r, "", err
}

// tokenRequest returns a request of the client credentials grant, with a secret or a token of another
// issuer.
// https://learn.microsoft.com/entra/identity-platform/v2-oauth2-client-creds-grant-flow
func (e *Entra) tokenRequest(ctx context.Context, key, secret string) (*http.Request, upstream.Secret, error) {
	form := url.Values{"grant_type": {"client_credentials"}, "client_id": {e.Client}, "scope": {e.Scope}, key: {secret}}
	if key == "client_assertion" {
		form.Set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
	}
	address := e.Authority + "/" + url.PathEscape(e.Tenant) + "/oauth2/v2.0/token"
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, "", errors.New("the tenant is not valid")
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return r, upstream.Secret(secret), nil
}

// identityRequest returns a request for a token of a managed identity, which names a resource instead of
// a scope.
// https://learn.microsoft.com/entra/identity/managed-identities-azure-resources/how-to-use-vm-token
// and https://learn.microsoft.com/azure/app-service/overview-managed-identity#rest-endpoint-reference
func (e *Entra) identityRequest(ctx context.Context, address, version string) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, errors.New("the endpoint of the identity is not a URL")
	}
	q := url.Values{"api-version": {version}, "resource": {strings.TrimSuffix(e.Scope, "/.default")}}
	if e.Client != "" {
		q.Set("client_id", e.Client)
	}
	r.URL.RawQuery = q.Encode()
	return r, nil
}

// identityClient returns a client for one call, which happens about once an hour, so it keeps no
// connection. It does not use a proxy for endpoints of this machine, and does not follow redirects,
// which could leak a secret.
func identityClient(proxy bool) *http.Client {
	t := &http.Transport{DialContext: (&net.Dialer{Timeout: 5 * time.Second}).DialContext, DisableKeepAlives: true}
	if proxy {
		t.Proxy = http.ProxyFromEnvironment
	}
	return &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

func (e *Entra) broken(parent context.Context, secret upstream.Secret, err error) error {
	if parent.Err() != nil {
		return fmt.Errorf("ask for a token of Entra ID: %w", parent.Err())
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	text := secret.Redact([]byte(err.Error()))
	return &llm.Error{Status: http.StatusBadGateway, Retryable: true, Err: errors.New("ask for a token of Entra ID: " + text)}
}

// refused returns the error for an answer without a token. The metadata service answers with 404 and 410
// while it is being updated.
func refused(status int, secret upstream.Secret, body []byte) error {
	e := upstream.StatusError(status)
	e.Retryable = e.Retryable || status == http.StatusNotFound || status == http.StatusGone
	if e.Status < http.StatusBadRequest { // a redirect
		e.Status = http.StatusUnauthorized
	}
	var w struct {
		Error       string `json:"error"`
		Description string `json:"error_description"`
	}
	text := body
	if json.Unmarshal(body, &w) == nil && w.Error != "" {
		text = []byte(w.Error + ": " + w.Description)
	}
	e.Err = fmt.Errorf("Entra ID gave no token: status %d: %s", status, secret.Redact(text))
	return e
}

func readAnswer(body []byte, now time.Time) (token, error) {
	var w struct {
		Token     string      `json:"access_token"`
		ExpiresIn json.Number `json:"expires_in"` // seconds; App Service omits it
		ExpiresOn json.Number `json:"expires_on"` // in seconds since 1970
	}
	err := json.Unmarshal(body, &w)
	if err != nil || w.Token == "" || strings.ContainsFunc(w.Token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return token{}, &llm.Error{Status: http.StatusBadGateway, Retryable: true, Err: errors.New("the answer of Entra ID is not a token")}
	}
	life := 5 * time.Minute // default if neither is given
	if n, err := w.ExpiresIn.Int64(); err == nil {
		life = time.Duration(min(max(n, 0), 86_400)) * time.Second
	} else if n, err := w.ExpiresOn.Int64(); err == nil {
		life = min(max(time.Unix(n, 0).Sub(now), 0), 24*time.Hour)
	}
	return token{text: w.Token, refresh: now.Add(life - min(5*time.Minute, life/2)), expires: now.Add(life)}, nil
}
