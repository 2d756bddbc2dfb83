package source

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// bucket is a folder of a bucket with the API of S3.
type bucket struct {
	*caller
	base   string // address of the bucket, without a slash at its end
	prefix string // of the keys: "" or with a slash at its end
	most   int64
	acls   *caller // asks Google for access control lists; nil if they are not wanted

	reads   func(path string, size int64) bool // Options.Reads
	shown   atomic.Bool                        // the server has shown an access control list
	refused atomic.Int32                       // access control lists that were refused before one was shown
}

// openS3 opens a bucket of Amazon or of another server with its API. Without a secret it is
// read as anybody may.
func openS3(_ context.Context, at *url.URL, o Options) (Source, error) {
	region, endpoint := cmp.Or(o.Region, "us-east-1"), o.Endpoint
	switch {
	case endpoint != "":
		endpoint = strings.TrimSuffix(endpoint, "/") + "/" + at.Host
	case strings.Contains(at.Host, "."): // the certificate does not cover it as a host
		endpoint = "https://s3." + region + ".amazonaws.com/" + at.Host
	default:
		endpoint = "https://" + at.Host + ".s3." + region + ".amazonaws.com"
	}
	return newBucket(endpoint, region, at, o)
}

// openGCS opens a bucket of Google through its API for clients of S3.
func openGCS(_ context.Context, at *url.URL, o Options) (Source, error) {
	endpoint := strings.TrimSuffix(cmp.Or(o.Endpoint, "https://storage.googleapis.com"), "/")
	b, err := newBucket(endpoint+"/"+at.Host, cmp.Or(o.Region, "auto"), at, o)
	if err == nil && o.Rights {
		b.acls = newCaller(nil)
		if o.Secret != "" {
			b.acls.sign = signer{scheme: google, user: o.User, secret: o.Secret, region: cmp.Or(o.Region, "auto"), now: time.Now}.sign
		}
	}
	return b, err
}

func newBucket(base, region string, at *url.URL, o Options) (*bucket, error) {
	if u, err := url.Parse(base); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" {
		return nil, errors.New("its endpoint is not an http or https address")
	}
	var sign func(*http.Request)
	if o.Secret != "" {
		sign = signer{user: o.User, secret: o.Secret, token: o.Session, region: region, now: time.Now}.sign
	}
	b := &bucket{caller: newCaller(sign), base: base, prefix: strings.Trim(at.Path, "/"), most: o.MaxBytes, reads: o.Reads}
	if b.prefix != "" {
		b.prefix += "/"
	}
	return b, nil
}

func (b *bucket) Close() error {
	if b.close(); b.acls != nil {
		b.acls.close()
	}
	return nil
}

// listing is the answer of ListObjectsV2.
type listing struct {
	Truncated bool   `xml:"IsTruncated"`
	Next      string `xml:"NextContinuationToken"`
	Encoding  string `xml:"EncodingType"`
	Contents  []struct {
		Key      string
		Size     int64
		ETag     string
		Modified string `xml:"LastModified"`
	}
}

// Objects implements Source.
func (b *bucket) Objects(ctx context.Context) iter.Seq2[Object, error] {
	return pages(func(token string) (all []Object, next string, err error) {
		page, err := b.page(ctx, token)
		if err != nil {
			return nil, "", err
		}
		for _, c := range page.Contents {
			o, ok, err := b.object(c.Key, page.Encoding)
			if err != nil {
				return nil, "", err
			}
			if o.Size, o.Version = c.Size, cmp.Or(strings.Trim(c.ETag, `"`), fmt.Sprintf("%s %d", c.Modified, c.Size)); ok {
				if b.acls != nil {
					o.seen = strong(c.ETag)
				}
				all = append(all, o)
			}
		}
		if page.Truncated && page.Next == "" {
			return all, "", errEndless
		}
		if b.acls != nil {
			if err := b.setRights(ctx, all); err != nil {
				return nil, "", err
			}
		}
		if !page.Truncated {
			page.Next = ""
		}
		return all, page.Next, nil
	})
}

// object returns the object of a key; false for one that only stands for a folder.
func (b *bucket) object(key, encoding string) (o Object, ok bool, err error) {
	if encoding == "url" {
		if key, err = url.QueryUnescape(key); err != nil {
			return o, true, errors.New("the server's listing has a name that is not valid")
		}
	}
	return objectBelow(b.prefix, key)
}

func (b *bucket) page(ctx context.Context, token string) (page listing, err error) {
	query := url.Values{"list-type": {"2"}, "encoding-type": {"url"}, "max-keys": {"1000"}}
	if b.prefix != "" {
		query.Set("prefix", b.prefix)
	}
	if token != "" {
		query.Set("continuation-token", token)
	}
	body, err := b.answer(ctx, http.MethodGet, b.base+"?"+canonicalQuery(query), nil, nil, http.StatusOK)
	if err != nil {
		return page, err
	}
	var answer struct {
		XMLName xml.Name `xml:"ListBucketResult"`
		listing
	}
	if err := xml.Unmarshal(body, &answer); err != nil {
		return page, errors.New("the server's answer is not the listing of a bucket")
	}
	return answer.listing, nil
}

// Open implements Source.
func (b *bucket) Open(ctx context.Context, o Object) (io.ReadCloser, error) {
	return b.open(ctx, b.base+"/"+escapeKey(o.key), o, b.most)
}

// scheme is a variant of the signature: Amazon's or Google's, which differ only in names.
type scheme struct{ prefix, vendor, service string }

var (
	amazon = scheme{"AWS4", "amz", "s3"}
	google = scheme{"GOOG4", "goog", "storage"}
)

// signer signs requests as AWS Signature Version 4 describes, and Google's V4 signatures with an HMAC key.
// https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
// https://cloud.google.com/storage/docs/authentication/signatures
type signer struct {
	scheme                      scheme // amazon if it is empty
	user, secret, token, region string
	now                         func() time.Time
}

const unsigned = "UNSIGNED-PAYLOAD" // requests have no body

func (s signer) sign(r *http.Request) {
	now, scheme := s.now().UTC(), cmp.Or(s.scheme, amazon)
	stamp, day := now.Format("20060102T150405Z"), now.Format("20060102")
	var headers []string
	names := "host"
	set := func(name, value string) {
		name = "x-" + scheme.vendor + "-" + name
		r.Header.Set(name, value)
		headers, names = append(headers, name+":"+value), names+";"+name
	}
	headers = append(headers, "host:"+r.URL.Host)
	set("content-sha256", unsigned)
	set("date", stamp)
	if s.token != "" {
		set("security-token", s.token)
	}
	request := strings.Join([]string{r.Method, cmp.Or(r.URL.EscapedPath(), "/"), r.URL.RawQuery, strings.Join(headers, "\n") + "\n", names, unsigned}, "\n")
	sum := sha256.Sum256([]byte(request))
	end := strings.ToLower(scheme.prefix) + "_request"
	scope := strings.Join([]string{day, s.region, scheme.service, end}, "/")
	key := []byte(scheme.prefix + s.secret)
	for _, part := range []string{day, s.region, scheme.service, end} {
		key = keyed(key, part)
	}
	algorithm := scheme.prefix + "-HMAC-SHA256"
	signature := keyed(key, strings.Join([]string{algorithm, stamp, scope, hex.EncodeToString(sum[:])}, "\n"))
	r.Header.Set("Authorization", fmt.Sprintf("%s Credential=%s/%s, SignedHeaders=%s, Signature=%x", algorithm, s.user, scope, names, signature))
}

func keyed(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// canonicalQuery encodes a query in the order and form that are signed.
func canonicalQuery(query url.Values) string {
	var parts []string
	for name, values := range query {
		for _, v := range values {
			parts = append(parts, escaped(name)+"="+escaped(v))
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, "&")
}

// escapeKey escapes a key for a path. Its slashes stay.
func escapeKey(key string) string {
	parts := strings.Split(key, "/")
	for i, p := range parts {
		parts[i] = escaped(p)
	}
	return strings.Join(parts, "/")
}

// escaped escapes everything but the unreserved characters of RFC 3986, as the signature needs it.
func escaped(s string) string {
	return strings.ReplaceAll(url.QueryEscape(s), "+", "%20")
}
