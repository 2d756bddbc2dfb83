package ingestapi

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"

	"parley/internal/chat"
	"parley/internal/documents"
	"parley/internal/documents/ingest"
	"parley/internal/documents/job"
	"parley/internal/documents/upload"
	"parley/internal/wire"
)

// outcome is the response of the Chat-with-RAG ingestion routes when a job has ended. The keys are those
// of the original; job_id and state are additions.
type outcome struct {
	Message        string    `json:"message"`
	ChunksIndexed  int       `json:"chunks_indexed"`
	VectorsIndexed int       `json:"vectors_indexed"` // equal to ChunksIndexed, as in the original
	TokensUsed     int       `json:"tokens_used"`
	EmbeddingCost  float64   `json:"embedding_cost"`
	AlreadyIndexed bool      `json:"already_indexed,omitempty"`
	Source         string    `json:"source,omitempty"`
	URL            string    `json:"url,omitempty"`
	Errors         []refused `json:"errors"`
	JobID          string    `json:"job_id"`
	State          job.State `json:"state"`
}

// refused is a page or file that could not be indexed.
type refused struct {
	URL    string `json:"url"`
	Reason string `json:"reason"`
	Error  string `json:"error"`
}

// estimate is the response of these routes to a request for an estimate, which writes nothing.
type estimate struct {
	Message       string    `json:"message"`
	ChunksPlanned int       `json:"chunks_planned"`
	TokensUsed    int       `json:"tokens_used"`
	EmbeddingCost *float64  `json:"embedding_cost"` // null if the price is unknown
	Errors        []refused `json:"errors"`
}

// options are the members that the bodies of these routes have in common.
type options struct {
	namespace    string
	skipSections []string
	maxChunks    int
	force        bool
	estimate     bool
}

// optionsOf reads the common members of a body. Null counts as absent.
func optionsOf(o wire.Object) (opts options, err error) {
	read := fields{o: o}
	opts.namespace = read.text("namespace")
	if opts.namespace == "" {
		opts.namespace = read.text("active_domain")
	}
	opts.maxChunks = max(read.number("max_chunks", -1_000_000, 1_000_000), 0) // 0 or less means all
	opts.skipSections = read.texts("skip_sections", 200)
	opts.force = read.flag("force_delete")
	opts.estimate = read.flag("estimate")
	return opts, read.err
}

// index handles POST /index {urls, …}.
func (h *Handler) index(w http.ResponseWriter, r *wire.Request) error {
	return h.sites(w, r, documents.Index, func(o wire.Object, opts options) ([]ingest.Site, bool, error) {
		read := fields{o: o}
		urls := read.texts("urls", documents.MaxSites)
		kind := read.text("doc_type")
		crawl := read.flag("force_crawl")
		site := ingest.Site{
			Depth: read.number("depth", 0, 100), Pages: read.number("pages", 0, 100_000), Prefix: read.text("prefix"),
			SkipSections: opts.skipSections, MaxChunks: opts.maxChunks,
		}
		switch {
		case read.err != nil:
			return nil, false, read.err
		case len(urls) == 0:
			return nil, false, unprocessable(`"urls" must be a list of at least one address.`)
		case kind != "" && !strings.EqualFold(kind, "html") && !strings.EqualFold(kind, "pdf"):
			return nil, false, unprocessable(`"doc_type" must be "HTML" or "PDF".`)
		}
		sites := make([]ingest.Site, len(urls))
		for i, u := range urls {
			sites[i] = site
			sites[i].URL = u
		}
		return sites, crawl, nil
	})
}

// mediaWiki handles POST /mediawiki/url {url, …}.
func (h *Handler) mediaWiki(w http.ResponseWriter, r *wire.Request) error {
	return h.sites(w, r, documents.MediaWiki, func(o wire.Object, opts options) ([]ingest.Site, bool, error) {
		site, err := siteOf(o, opts)
		site.MediaWiki = true
		return []ingest.Site{site}, false, err
	})
}

// siteOf returns the site at the "url" in a body.
func siteOf(o wire.Object, opts options) (ingest.Site, error) {
	read := fields{o: o}
	site := ingest.Site{URL: read.text("url"), SkipSections: opts.skipSections, MaxChunks: opts.maxChunks}
	if read.err == nil && site.URL == "" {
		return site, unprocessable(`"url" must be an address.`)
	}
	return site, read.err
}

// sites handles the routes that index web pages. The function of returns the sites that a body names, and whether
// to index unchanged pages again.
func (h *Handler) sites(w http.ResponseWriter, r *wire.Request, kind string,
	of func(wire.Object, options) ([]ingest.Site, bool, error)) error {
	object, err := r.Object()
	if err != nil {
		return err
	}
	opts, err := optionsOf(object)
	if err != nil {
		return err
	}
	at, err := h.editing(r.Who, opts.namespace)
	if err != nil {
		return err
	}
	sites, crawl, err := of(object, opts)
	if err != nil {
		return err
	}
	return h.readSites(w, r, at, kind, sites, opts, crawl)
}

func (h *Handler) readSites(w http.ResponseWriter, r *wire.Request, at upload.Scope, kind string, sites []ingest.Site, opts options, crawl bool) error {
	if opts.estimate {
		leave, err := h.surveying.Take(errBusy)
		if err != nil {
			return err
		}
		defer leave()
		ctx, cancel := context.WithTimeout(r.Context(), h.cfg.Wait)
		defer cancel()
		e, err := h.cfg.Service.EstimateSites(ctx, at.Namespace, sites)
		if err != nil && ctx.Err() != nil && r.Context().Err() == nil {
			return &chat.Error{Kind: chat.Unavailable, Msg: "The pages could not be fetched in time for an estimate.", Err: err}
		}
		if err != nil {
			return siteFailure(err)
		}
		return wire.Reply(w, http.StatusOK, h.estimated(e))
	}
	j, err := h.cfg.Service.AddSites(r.Context(), at, kind, sites, opts.force || crawl)
	if err != nil {
		return siteFailure(err)
	}
	return h.conclude(w, r, j, outcome{URL: sites[0].URL})
}

// siteFailure is like failure, but also converts errors about an address.
func siteFailure(err error) error {
	if bad, ok := errors.AsType[*ingest.SiteError](err); ok {
		return unprocessable("%s", sentence(strings.TrimSuffix(bad.Error(), ".")))
	}
	return failure(err)
}

func (h *Handler) estimated(e documents.Estimate) estimate {
	out := estimate{Message: "Estimate only", ChunksPlanned: e.Chunks, TokensUsed: e.Tokens, Errors: []refused{}}
	if cost, known := h.cfg.Cost(e.ToEmbed); known {
		out.EmbeddingCost = &cost
	}
	for _, f := range e.Refused {
		out.Errors = append(out.Errors, refused{URL: f.Path, Reason: string(f.Reason), Error: f.Detail})
	}
	return out
}

// conclude responds with the result of a job if it ends within Config.Wait, and otherwise with 202 and the URL
// of the job. It does not wait if the client sends Prefer: respond-async (RFC 7240).
func (h *Handler) conclude(w http.ResponseWriter, r *wire.Request, j job.Job, out outcome) error {
	r.Changed = changedBy(j)
	if !strings.Contains(strings.ToLower(r.Header.Get("Prefer")), "respond-async") {
		j = h.ended(r.Context(), j, h.cfg.Wait)
	}
	if !j.State.Final() {
		w.Header().Set("Location", "/api/jobs/"+j.ID)
		return wire.Reply(w, http.StatusAccepted, message{Message: "Accepted. GET /api/jobs/" + j.ID + " reports the job's progress.", JobID: j.ID})
	}
	out.JobID, out.State, out.Errors = j.ID, j.State, []refused{}
	out.ChunksIndexed, out.VectorsIndexed, out.TokensUsed = j.Counts.Chunks, j.Counts.Chunks, j.Counts.Tokens
	out.EmbeddingCost, _ = h.cfg.Cost(j.Counts.Tokens)
	for _, f := range j.Files {
		if f.State == job.FileFailed || f.State == job.FileSkipped {
			out.Errors = append(out.Errors, refused{URL: f.Name, Reason: f.Reason, Error: f.Detail})
		}
	}
	switch {
	case j.State == job.Cancelled:
		return &chat.Error{Kind: chat.Conflict, Msg: "The job " + j.ID + " was cancelled."}
	case j.State == job.Failed && len(out.Errors) > 0:
		return unprocessable("Nothing was indexed (job %s). %s: %s (%s)", j.ID, out.Errors[0].URL, out.Errors[0].Error, out.Errors[0].Reason)
	case j.State == job.Failed:
		return &chat.Error{Kind: chat.Unavailable, Msg: j.Error + " (job " + j.ID + ")"}
	case j.Counts.Indexed == 0:
		out.Message, out.AlreadyIndexed = "Content was indexed already and has not changed", true
	default:
		out.Message = "Content indexed successfully"
	}
	return wire.Reply(w, http.StatusOK, out)
}

// pdf handles POST /pdf {file: base64 | url, filename, …}.
func (h *Handler) pdf(w http.ResponseWriter, r *wire.Request) error {
	leave, err := h.receiving.Take(errBusy)
	if err != nil {
		return err
	}
	defer leave()
	// The file may arrive before the namespace, so batch.Settle sets the scope later.
	batch := h.cfg.Service.Begin(upload.Scope{}, documents.PDF)
	kept := false
	defer func() {
		if !kept {
			batch.Discard()
		}
	}()
	object, err := h.receivePDF(w, r, batch)
	leave()
	if err != nil {
		return err
	}
	opts, err := optionsOf(object)
	if err != nil {
		return err
	}
	at, err := h.editing(r.Who, opts.namespace)
	if err != nil {
		return err
	}
	read := fields{o: object}
	address, name := read.text("url"), read.text("filename")
	switch {
	case read.err != nil:
		return read.err
	case batch.Len() == 0 && address == "":
		return unprocessable(`Expected "file", the content of a PDF in base64, or "url".`)
	case batch.Len() == 0:
		site, err := siteOf(object, opts)
		if err != nil {
			return err
		}
		return h.readSites(w, r, at, documents.PDFPage, []ingest.Site{site}, opts, false)
	}
	if name, err = pdfName(name, address); err == nil {
		err = batch.Settle(at, name, opts.skipSections, opts.maxChunks)
	}
	if err != nil {
		return failure(err)
	}
	if opts.estimate {
		done, err := h.surveying.Take(errBusy)
		if err != nil {
			return err
		}
		defer done()
		e, err := batch.Estimate(r.Context())
		if err != nil {
			return failure(err)
		}
		return wire.Reply(w, http.StatusOK, h.estimated(e))
	}
	j, err := batch.Commit(r.Context())
	if err != nil {
		return failure(err)
	}
	kept = true
	return h.conclude(w, r, j, outcome{Source: j.Files[0].Name})
}

// unnamed is the name of a PDF until its name is known, and if it has none.
const unnamed = "upload.pdf"

// pdfStart is the number of bytes at the start of a PDF that must contain its header (ISO 32000-1, annex H, note 13).
const pdfStart = 1024

// receivePDF reads the body, and adds the PDF in it, if any, to the batch. It returns the body without the file's content.
func (h *Handler) receivePDF(w http.ResponseWriter, r *wire.Request, batch *documents.Batch) (wire.Object, error) {
	body := wire.NewPaced(w, r.Request, (h.cfg.MaxUpload+2)/3*4+h.cfg.MaxBody)
	defer body.Drain()
	rest, err := divert(body, "file", h.cfg.MaxBody, func(content io.Reader) error {
		decoded := bufio.NewReader(&limitedReader{r: base64Reader(content), left: h.cfg.MaxUpload})
		switch start, err := decoded.Peek(pdfStart); {
		case len(start) == 0 && errors.Is(err, io.EOF):
			return nil // an empty string counts as no file
		case err != nil && !errors.Is(err, io.EOF):
			return err
		case !bytes.Contains(start, []byte("%PDF-")):
			return unprocessable(`"file" is not a PDF: it does not begin with %%PDF-. Other formats go to POST /upload.`)
		}
		return batch.Add(r.Context(), unnamed, decoded)
	})
	if err != nil {
		if broken := body.Err(); broken != nil {
			return wire.Object{}, broken
		}
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return wire.Object{}, errNotBase64
		}
		return wire.Object{}, failure(err)
	}
	return wire.ParseObject(rest)
}

// limitedReader returns a TooLarge error if r has more than left bytes.
type limitedReader struct {
	r    io.Reader
	left int64
}

func (l *limitedReader) Read(b []byte) (int, error) {
	n, err := l.r.Read(b)
	if l.left -= int64(n); l.left < 0 {
		return 0, &chat.Error{Kind: chat.TooLarge, Msg: "The file is larger than the setting limits.max_upload allows."}
	}
	return n, err
}

// pdfName returns the name of a PDF: the client's, or the last part of its address, or unnamed.
func pdfName(name, address string) (string, error) {
	if name == "" {
		if u, err := url.Parse(address); err == nil {
			name = path.Base(u.Path)
		}
	}
	if strings.Trim(name, "./") == "" {
		name = unnamed
	}
	return upload.Clean(name)
}

// delete handles DELETE /delete/{url…}. The path ends with the address of a document, escaped or verbatim.
func (h *Handler) delete(w http.ResponseWriter, r *wire.Request) error {
	address, namespace := addressOf(r)
	if c, ok := wire.ParseContentURL(wire.BaseURL(r.Request, h.cfg.PublicURL, false), address); ok { // a link from /search
		address, namespace = c.Name, cmp.Or(c.Namespace, namespace)
	}
	at, err := h.editing(r.Who, namespace)
	if err != nil {
		return err
	}
	if address == "" {
		return wire.Invalidf("The path must end with the address of a document.")
	}
	n, err := h.cfg.Service.DeleteAddress(r.Context(), r.Who, at.Namespace, address)
	if err != nil {
		return failure(err)
	}
	return wire.Reply(w, http.StatusOK, struct {
		Message string `json:"message"`
		Deleted int    `json:"deleted"`
	}{"Document deleted successfully", n})
}

// addressOf returns the address at the end of the path of DELETE /delete/, and the namespace. If the address is
// verbatim (not escaped), the query is part of it, and cannot name a namespace.
func addressOf(r *wire.Request) (address, namespace string) {
	raw := strings.TrimPrefix(r.URL.EscapedPath(), deletePath)
	address, err := url.PathUnescape(raw)
	if err != nil {
		return "", ""
	}
	if !strings.Contains(raw, ":/") {
		return address, queryNamespace(r)
	}
	address = raw // escapes in a verbatim address belong to it
	if r.URL.RawQuery != "" {
		address += "?" + r.URL.RawQuery
	}
	return address, ""
}
