package source

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// container is a folder of a container of Azure Blob Storage.
// https://learn.microsoft.com/rest/api/storageservices/list-blobs
type container struct {
	*caller
	base   string // address of the container, without a slash at its end
	prefix string // of the names: "" or with a slash at its end
	token  string // shared access signature: a query that proves the account, without "?"
	most   int64

	asksRights bool
	passing    map[string]readers // who can reach the files of a folder, by its path
}

// azureVersion is the version of the API. Names with characters that XML does not have are escaped since 2021-02-12.
const azureVersion = "2021-08-06"

// openAzure opens a container. The secret is a key of the account or a shared access signature; without one, the container
// is read as anybody may.
func openAzure(_ context.Context, at *url.URL, o Options) (Source, error) {
	name, folder, _ := strings.Cut(strings.Trim(at.Path, "/"), "/")
	if name == "" {
		return nil, errors.New("its address names no container")
	}
	endpoint := strings.TrimSuffix(cmp.Or(o.Endpoint, "https://"+at.Host+".blob.core.windows.net"), "/")
	if u, err := url.Parse(endpoint); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" {
		return nil, errors.New("its endpoint is not an http or https address")
	}
	c := &container{base: endpoint + "/" + escaped(name), prefix: folder, most: o.MaxBytes, asksRights: o.Rights}
	if c.prefix != "" {
		c.prefix += "/"
	}
	sign := func(r *http.Request) { r.Header.Set("X-Ms-Version", azureVersion) }
	if token := strings.TrimPrefix(o.Secret, "?"); strings.Contains(token, "sig=") {
		if _, err := url.ParseQuery(token); err != nil {
			return nil, errors.New("its secret is not a valid shared access signature")
		}
		c.token = token
	} else if o.Secret != "" {
		key, err := base64.StdEncoding.DecodeString(o.Secret)
		if err != nil {
			return nil, errors.New("its secret is neither a key of the account, which is text in base64, nor a shared access signature")
		}
		sign = azureSigner{account: at.Host, key: key, now: time.Now}.sign
	}
	c.caller = newCaller(sign)
	return c, nil
}

func (c *container) Close() error {
	c.close()
	return nil
}

// blobs is the answer of List Blobs.
type blobs struct {
	XMLName xml.Name `xml:"EnumerationResults"`
	Next    string   `xml:"NextMarker"`
	Blobs   []struct {
		Name struct {
			Encoded bool   `xml:"Encoded,attr"`
			Text    string `xml:",chardata"`
		}
		Properties struct {
			ETag         string `xml:"Etag"`
			Length       int64  `xml:"Content-Length"`
			ResourceType string // "directory" where folders are real
			azureRights
		}
		Metadata struct {
			IsFolder string `xml:"hdi_isfolder"` // of a blob that stands for a folder
		}
	} `xml:"Blobs>Blob"`
}

// Objects implements Source.
func (c *container) Objects(ctx context.Context) iter.Seq2[Object, error] {
	return pages(func(token string) (all []Object, next string, err error) {
		query := url.Values{"restype": {"container"}, "comp": {"list"}, "include": {"metadata"}, "maxresults": {"5000"}}
		if c.asksRights {
			query.Set("include", "metadata,permissions")
			if token == "" {
				if err := c.readAbove(ctx); err != nil {
					return nil, "", err
				}
			}
		}
		if c.prefix != "" {
			query.Set("prefix", c.prefix)
		}
		if token != "" {
			query.Set("marker", token)
		}
		body, err := c.answer(ctx, http.MethodGet, c.base+"?"+c.proved(canonicalQuery(query)), nil, nil, http.StatusOK)
		if err != nil {
			return nil, "", err
		}
		var page blobs
		if err := xml.Unmarshal(body, &page); err != nil {
			return nil, "", errors.New("the server's answer is not the listing of a container")
		}
		for _, b := range page.Blobs {
			name := b.Name.Text
			if b.Name.Encoded {
				if name, err = url.PathUnescape(name); err != nil {
					return nil, "", errors.New("the server's listing has a name that is not valid")
				}
			}
			o, ok, err := objectBelow(c.prefix, name)
			switch {
			case err != nil:
				return nil, "", err
			case c.asksRights && b.Properties.ResourceType == "directory":
				c.pass(strings.TrimSuffix(o.Path, "/"), b.Properties.azureRights)
				continue
			case !ok, b.Properties.ResourceType == "directory", strings.EqualFold(strings.TrimSpace(b.Metadata.IsFolder), "true"):
				continue
			}
			o.Size, o.Version = b.Properties.Length, strings.Trim(b.Properties.ETag, `"`)
			if o.Version == "" {
				return nil, "", errors.New("the server's listing does not say which version of a file it has")
			}
			if c.asksRights {
				o.seen = strong(b.Properties.ETag)
				if o.Rights, err = c.rights(o.Path, b.Properties.azureRights); err != nil {
					return nil, "", err
				}
			}
			all = append(all, o)
		}
		return all, page.Next, nil
	})
}

// proved returns a query with what proves the account.
func (c *container) proved(query string) string {
	if query == "" || c.token == "" {
		return query + c.token
	}
	return query + "&" + c.token
}

// Open implements Source.
func (c *container) Open(ctx context.Context, o Object) (io.ReadCloser, error) {
	address := strings.TrimSuffix(c.base+"/"+escapeKey(o.key)+"?"+c.proved(""), "?")
	return c.open(ctx, address, o, c.most)
}

// azureSigner signs requests without a body with the key of an account ("Shared Key").
// https://learn.microsoft.com/rest/api/storageservices/authorize-with-shared-key
type azureSigner struct {
	account string
	key     []byte
	now     func() time.Time
}

func (s azureSigner) sign(r *http.Request) {
	date := s.now().UTC().Format(http.TimeFormat)
	r.Header.Set("X-Ms-Date", date)
	r.Header.Set("X-Ms-Version", azureVersion)
	resource := "/" + s.account + cmp.Or(r.URL.EscapedPath(), "/")
	query := r.URL.Query()
	for _, name := range slices.Sorted(maps.Keys(query)) {
		values := slices.Sorted(slices.Values(query[name]))
		resource += "\n" + strings.ToLower(name) + ":" + strings.Join(values, ",")
	}
	// Between the method and the headers of Azure are the values of eleven others, of which these requests have If-Match at most.
	text := r.Method + strings.Repeat("\n", 8) + r.Header.Get("If-Match") + strings.Repeat("\n", 4) + "x-ms-date:" + date + "\nx-ms-version:" + azureVersion + "\n" + resource
	h := hmac.New(sha256.New, s.key)
	h.Write([]byte(text))
	r.Header.Set("Authorization", fmt.Sprintf("SharedKey %s:%s", s.account, base64.StdEncoding.EncodeToString(h.Sum(nil))))
}
