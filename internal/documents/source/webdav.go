package source

import (
	"cmp"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"
)

// davFolder is a folder of a WebDAV server (RFC 4918).
type davFolder struct {
	*caller
	base *url.URL // without a slash at the end of its path
	most int64

	asksRights bool
	cloud      map[string]cloudFolder // of Nextcloud, by path: folders that are not listed yet
}

func openWebDAV(_ context.Context, at *url.URL, o Options) (Source, error) {
	base := &url.URL{Scheme: "https", Host: at.Host, Path: strings.TrimSuffix(at.Path, "/")}
	if at.Scheme == "webdav" {
		base.Scheme = "http"
	}
	return &davFolder{caller: newCaller(func(r *http.Request) {
		if o.User != "" || o.Secret != "" {
			r.SetBasicAuth(o.User, o.Secret)
		}
	}), base: base, most: o.MaxBytes, asksRights: o.Rights}, nil
}

func (d *davFolder) Close() error {
	d.close()
	return nil
}

// Objects implements Source.
func (d *davFolder) Objects(ctx context.Context) iter.Seq2[Object, error] {
	return walk(func(dir string) ([]entry, error) {
		entries, err := d.list(ctx, dir)
		if refused, ok := errors.AsType[*StatusError](err); ok && (refused.Status == http.StatusForbidden || refused.Status == http.StatusNotFound) {
			err = &HiddenError{dir, err}
		}
		return entries, err
	})
}

// propfind asks for what a listing needs, and for rights.
func propfind(rights bool) string {
	more := ""
	if rights {
		more = rightsProps
	}
	return `<?xml version="1.0" encoding="utf-8"?><d:propfind xmlns:d="DAV:"><d:prop>` +
		`<d:resourcetype/><d:getetag/><d:getcontentlength/><d:getlastmodified/>` + more + `</d:prop></d:propfind>`
}

// multistatus is the answer to it.
type multistatus struct {
	XMLName   xml.Name      `xml:"DAV: multistatus"`
	Responses []davResponse `xml:"DAV: response"`
}

type davResponse struct {
	Href   string `xml:"DAV: href"`
	Status string `xml:"DAV: status"` // instead of properties
	Stats  []struct {
		Status string `xml:"DAV: status"`
		Prop   struct {
			Folder   *struct{} `xml:"DAV: resourcetype>collection"`
			ETag     string    `xml:"DAV: getetag"`
			Length   *int64    `xml:"DAV: getcontentlength"`
			Modified string    `xml:"DAV: getlastmodified"`
			davRights
		} `xml:"DAV: prop"`
	} `xml:"DAV: propstat"`
}

// isGood reports whether properties with a status are those of the file.
func isGood(status string) bool { return status == "" || strings.Contains(status, " 200") }

// rights returns the properties that say who may read the file.
func (r davResponse) rights() (p davRights) {
	for _, s := range r.Stats {
		if isGood(s.Status) {
			p.over(s.Prop.davRights)
		}
	}
	return p
}

// list returns the entries of a folder, sorted by path.
func (d *davFolder) list(ctx context.Context, dir string) ([]entry, error) {
	at := d.address(dir) + "/"
	header := http.Header{"Depth": {"1"}, "Content-Type": {"application/xml; charset=utf-8"}}
	body, err := d.answer(ctx, "PROPFIND", at, header, []byte(propfind(d.asksRights)), http.StatusMultiStatus)
	if err != nil {
		return nil, err
	}
	var answer multistatus
	if err := xml.Unmarshal(body, &answer); err != nil {
		return nil, errors.New("the server's answer is not the listing of a WebDAV folder")
	}
	asked, err := url.Parse(at)
	if err != nil {
		return nil, err
	}
	var all []entry
	var own davRights
	told := map[string]davRights{}
	listed := false // the folder itself, as RFC 4918, section 9.1, has it
	for _, r := range answer.Responses {
		href, err := asked.Parse(strings.TrimSpace(r.Href))
		if err != nil {
			return nil, errors.New("the server's listing has an address that is not valid")
		}
		rest, inside := d.inside(href.Path)
		if inside && rest == dir {
			listed, own = true, r.rights()
			continue
		}
		if !inside || path.Dir(rest) != dir {
			continue // what was not asked for
		}
		e := entry{Object: Object{Path: rest, Size: -1, key: rest}, hidden: true}
		for _, s := range r.Stats {
			if !isGood(s.Status) {
				continue
			}
			e.folder, e.hidden = e.folder || s.Prop.Folder != nil, false
			if s.Prop.Length != nil {
				e.Size = *s.Prop.Length
			}
			if d.asksRights {
				e.seen = strong(s.Prop.ETag)
			}
			if e.Version = strings.TrimSpace(s.Prop.ETag); e.Version == "" && s.Prop.Modified != "" {
				e.Version = fmt.Sprintf("%s %d", s.Prop.Modified, e.Size)
			}
		}
		if e.hidden = e.hidden || !isGood(r.Status); !e.hidden && e.Version == "" {
			e.Version = time.Now().UTC().Format(time.RFC3339Nano) // nothing tells a change: it is read each time
		}
		all, told[rest] = append(all, e), r.rights()
	}
	if !listed {
		return nil, errors.New("the server listed another folder than the one asked for")
	}
	if d.asksRights {
		if err := d.setRights(ctx, dir, own, all, told); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(all, func(a, b entry) int { return cmp.Compare(a.Path, b.Path) })
	return all, nil
}

// inside returns the path of an address relative to the folder; "." is the folder itself.
func (d *davFolder) inside(p string) (rel string, ok bool) {
	base, p := strings.TrimSuffix(path.Clean("/"+d.base.Path), "/"), path.Clean("/"+p)
	if p == cmp.Or(base, "/") {
		return ".", true
	}
	return strings.CutPrefix(p, base+"/")
}

// address returns the address of a path.
func (d *davFolder) address(rel string) string {
	u := *d.base
	u.Path = strings.TrimSuffix(path.Join("/", u.Path, rel), "/")
	return u.String()
}

// Open implements Source.
func (d *davFolder) Open(ctx context.Context, o Object) (io.ReadCloser, error) {
	return d.open(ctx, d.address(o.key), o, d.most)
}
