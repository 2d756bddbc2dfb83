package wire

import (
	"net/http"
	"net/url"
	"strings"
)

// BaseURL returns the URL of the server as clients see it, without a trailing slash: public if it is set,
// otherwise the scheme and host of the request. It uses X-Forwarded-Proto and X-Forwarded-Host only if
// trustForwarded is set, because any client can send them.
func BaseURL(r *http.Request, public string, trustForwarded bool) string {
	if public != "" {
		return strings.TrimRight(public, "/")
	}
	scheme, host := "http", r.Host
	if r.TLS != nil {
		scheme = "https"
	}
	if trustForwarded {
		if p := firstOf(r.Header.Get("X-Forwarded-Proto")); p == "http" || p == "https" {
			scheme = p
		}
		if h := firstOf(r.Header.Get("X-Forwarded-Host")); h != "" {
			host = h
		}
	}
	return (&url.URL{Scheme: scheme, Host: host}).String()
}

// ContentURL returns the absolute URL of a citation such as "a b/c.pdf#page=3". It escapes the path and
// keeps the fragment, with which a browser opens the page.
func ContentURL(base, citation string) string { return base + ContentPath(citation) }

// ContentURLIn is like ContentURL, for a document in a namespace other than the server's. A namespace of ""
// means the server's.
func ContentURLIn(base, citation, namespace string) string {
	link := ContentURL(base, citation)
	if namespace == "" {
		return link
	}
	path, page, paged := strings.Cut(link, "#")
	path += "?namespace=" + url.QueryEscape(namespace)
	if paged {
		path += "#" + page
	}
	return path
}

// ContentPath returns the path of a citation below /content/, escaped, and its fragment.
func ContentPath(citation string) string {
	name, page := citation, ""
	if i := strings.LastIndex(citation, "#page="); i >= 0 && allDigits(citation[i+len("#page="):]) {
		name, page = citation[:i], citation[i:]
	}
	segments := strings.Split(name, "/")
	for i, s := range segments {
		segments[i] = url.PathEscape(s)
	}
	return "/content/" + strings.Join(segments, "/") + page
}

// Content is what a link to a document on this server refers to.
type Content struct {
	Name      string // the document's name
	Page      string // the page number; "" for none
	Namespace string // "" for the server's
}

// ParseContentURL is the inverse of ContentURLIn; ok is false for other links.
func ParseContentURL(base, link string) (c Content, ok bool) {
	path, ok := strings.CutPrefix(link, base+"/content/")
	if !ok {
		return c, false
	}
	if i := strings.LastIndex(path, "#page="); i >= 0 {
		path, c.Page = path[:i], path[i+len("#page="):]
	}
	path, query, _ := strings.Cut(path, "?")
	name, err := url.PathUnescape(path)
	if err != nil {
		return c, false
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return c, false
	}
	c.Name, c.Namespace = name, values.Get("namespace")
	return c, true
}

// firstOf returns the first entry of a comma-separated list. In an X-Forwarded header that is the entry of the
// proxy nearest to the client.
func firstOf(list string) string {
	first, _, _ := strings.Cut(list, ",")
	return strings.TrimSpace(first)
}

func allDigits(s string) bool {
	for _, r := range s {
		if r < '0' || r > '9' {
			return false
		}
	}
	return s != ""
}
