package webapi

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/internal/ledger"
	"parley/internal/wire"
)

// usagePeriod is the default time range of a report, counted back from its end. It prevents reports from
// becoming slower as the ledger grows.
const usagePeriod = 30 * 24 * time.Hour

// The default and maximum number of rows on a page of a report.
const (
	usageRows    = 10_000
	maxUsageRows = 100_000
)

// usage handles GET /api/usage?by=user,day&from=2026-11-01&to=2026-12-01&format=csv, a report on the
// usage of models. Callers see their own usage; administrators see everybody's.
func (h *Handler) usage(w http.ResponseWriter, r *wire.Request) error {
	q, err := usageQuery(r, time.Now())
	if err != nil {
		return err
	}
	asCSV, err := wantsCSV(r)
	if err != nil {
		return err
	}
	report, err := h.usagePage(r.Context(), q)
	if err != nil {
		return err
	}
	if report.Next > 0 {
		next, values := *r.URL, r.URL.Query()
		values.Set("offset", strconv.Itoa(report.Next))
		next.RawQuery = values.Encode()
		w.Header().Set("Link", fmt.Sprintf("<%s>; rel=\"next\"", next.RequestURI()))
	}
	if !asCSV {
		return wire.Reply(w, http.StatusOK, report)
	}
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="usage.csv"`)
	return report.WriteCSV(w)
}

// usageQuery reads which report is requested, and which page of it.
func usageQuery(r *wire.Request, now time.Time) (q ledger.UsageQuery, err error) {
	values := r.URL.Query()
	if q, err = ParseUsageQuery(values.Get("by"), values.Get("from"), values.Get("to")); err != nil {
		return q, wire.Invalidf("%s", err)
	}
	if q.From.IsZero() {
		end := q.To
		if end.IsZero() {
			end = now.UTC()
		}
		q.From = end.Add(-usagePeriod).Truncate(24 * time.Hour)
	}
	if q.Limit, err = number(r, "limit", 1, maxUsageRows, usageRows); err != nil {
		return q, err
	}
	if q.Offset, err = number(r, "offset", 0, math.MaxInt32, 0); err != nil {
		return q, err
	}
	if !r.Who.Administers() {
		q.Owner = &r.Who.Subject
	}
	return q, nil
}

func wantsCSV(r *wire.Request) (bool, error) {
	switch r.URL.Query().Get("format") {
	case "csv":
		return true, nil
	case "json":
		return false, nil
	case "":
		return strings.Contains(r.Header.Get("Accept"), "text/csv"), nil
	}
	return false, wire.Invalidf("format must be json or csv")
}

// usagePage returns a page of a report. If the report has several pages, a separate query determines the
// total.
func (h *Handler) usagePage(ctx context.Context, q ledger.UsageQuery) (p UsageReport, err error) {
	p.Query = q
	q.Limit++
	if p.Rows, err = h.cfg.Usage(ctx, q); err != nil {
		return p, err
	}
	if len(p.Rows) > p.Query.Limit {
		p.Rows, p.Next = p.Rows[:p.Query.Limit], p.Query.Offset+p.Query.Limit
	}
	if p.Next == 0 && q.Offset == 0 {
		return p, nil
	}
	q.By, q.Limit, q.Offset = nil, 0, 0
	all, err := h.cfg.Usage(ctx, q)
	if err == nil {
		total := UsageReport{Rows: all}.total()
		p.whole = &total
	}
	return p, err
}

// ParseUsageQuery reads the dimensions of a report, separated by commas, and its time range. from and to
// are days or times (2026-11-01, 2026-11-01T10:00:00Z). "" means no limit. A day in to is included; a time is
// exclusive. The text of the error is for the user.
func ParseUsageQuery(by, from, to string) (q ledger.UsageQuery, err error) {
	for name := range strings.SplitSeq(by, ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		d := ledger.Dimension(name)
		if !slices.Contains(ledger.Dimensions, d) || slices.Contains(q.By, d) {
			return q, fmt.Errorf("usage can be grouped by day, namespace, user, conversation, model, stage and turn, each at most once, not by %.40q", name)
		}
		q.By = append(q.By, d)
	}
	if q.From, _, err = parseTime("from", from); err != nil {
		return q, err
	}
	var day bool
	if q.To, day, err = parseTime("to", to); err == nil && day {
		q.To = q.To.AddDate(0, 0, 1)
	}
	return q, err
}

func parseTime(name, s string) (t time.Time, day bool, err error) {
	if s == "" {
		return t, false, nil
	}
	if t, err = time.Parse(time.DateOnly, s); err == nil {
		return t, true, nil
	}
	if t, err = time.Parse(time.RFC3339, s); err == nil {
		return t.UTC(), false, nil
	}
	return t, false, fmt.Errorf("%s must be a day such as 2026-11-01 or a time such as 2026-11-01T10:00:00Z", name)
}

// UsageReport is a page of a usage report. Programs read its JSON and CSV, so columns must not change.
type UsageReport struct {
	Query ledger.UsageQuery
	Rows  []ledger.UsageRow
	Next  int // the offset of the next page; 0 on the last page

	whole *ledger.UsageRow // the sum of all pages, if there are several
}

// column is a column of a report.
type column struct {
	name  string
	value func(u *ledger.UsageRow) any // string, int64, bool or wire.USD
}

var keyColumns = map[ledger.Dimension][]column{
	ledger.ByDay:       {{"day", func(u *ledger.UsageRow) any { return u.Day.Format(time.DateOnly) }}},
	ledger.ByNamespace: {{"namespace", func(u *ledger.UsageRow) any { return u.Namespace }}},
	ledger.ByUser: {
		{"owner", func(u *ledger.UsageRow) any { return u.Owner }},
		{"user", func(u *ledger.UsageRow) any { return u.User }},
	},
	ledger.ByConversation: {
		{"conversation", func(u *ledger.UsageRow) any { return u.Conversation }},
		{"stored", func(u *ledger.UsageRow) any { return u.Stored }},
	},
	ledger.ByModel: {{"model", func(u *ledger.UsageRow) any { return u.Provider + ":" + u.Model }}},
	ledger.ByStage: {{"stage", func(u *ledger.UsageRow) any { return string(u.Stage) }}},
	ledger.ByTurn:  {{"turn", func(u *ledger.UsageRow) any { return u.Turn }}},
}

var sumColumns = []column{
	{"turns", func(u *ledger.UsageRow) any { return u.Turns }},
	{"calls", func(u *ledger.UsageRow) any { return u.Calls }},
	{"input_tokens", func(u *ledger.UsageRow) any { return u.Input }},
	{"output_tokens", func(u *ledger.UsageRow) any { return u.Output }},
	{"cached_tokens", func(u *ledger.UsageRow) any { return u.Cached }},
	{"reasoning_tokens", func(u *ledger.UsageRow) any { return u.Reasoning }},
	{"total_tokens", func(u *ledger.UsageRow) any { return u.Input + u.Output }},
	{"cost_usd", func(u *ledger.UsageRow) any { return wire.USD(u.Micros) }},
	{"cost_micros", func(u *ledger.UsageRow) any { return u.Micros }},
	{"calls_with_unknown_price", func(u *ledger.UsageRow) any { return u.Unpriced }},
	{"calls_with_estimated_tokens", func(u *ledger.UsageRow) any { return u.Estimated }},
}

func (p UsageReport) columns() []column {
	var all []column
	for _, d := range p.Query.By {
		all = append(all, keyColumns[d]...)
	}
	return append(all, sumColumns...)
}

// total returns the sum of the rows on all pages. If the report has only one page, a turn that is part of
// several rows counts once in each, so the number of turns is exact only in a report without groups.
func (p UsageReport) total() ledger.UsageRow {
	if p.whole != nil {
		return *p.whole
	}
	var t ledger.UsageRow
	for _, u := range p.Rows {
		t.Turns += u.Turns
		t.Calls += u.Calls
		t.Input += u.Input
		t.Output += u.Output
		t.Cached += u.Cached
		t.Reasoning += u.Reasoning
		t.Micros += u.Micros
		t.Unpriced += u.Unpriced
		t.Estimated += u.Estimated
	}
	return t
}

// MarshalJSON writes {"by", "from", "to", "rows", "next", "total"}. A row is an object with the same columns
// as the CSV.
func (p UsageReport) MarshalJSON() ([]byte, error) {
	by := []string{}
	for _, d := range p.Query.By {
		by = append(by, string(d))
	}
	dst, err := wire.AppendJSON([]byte(`{"by":`), by)
	for _, t := range []struct {
		name string
		at   time.Time
	}{{"from", p.Query.From}, {"to", p.Query.To}} {
		if !t.at.IsZero() {
			dst = wire.AppendString(append(dst, `,"`+t.name+`":`...), t.at.Format(time.RFC3339))
		}
	}
	dst = append(dst, `,"rows":[`...)
	columns := p.columns()
	for i := range p.Rows {
		if i > 0 {
			dst = append(dst, ',')
		}
		if err == nil {
			dst, err = appendRow(dst, columns, &p.Rows[i])
		}
	}
	dst = append(dst, ']')
	if p.Next > 0 {
		dst = strconv.AppendInt(append(dst, `,"next":`...), int64(p.Next), 10)
	}
	dst = append(dst, `,"total":`...)
	if total := p.total(); err == nil {
		dst, err = appendRow(dst, sumColumns, &total)
	}
	return append(dst, '}'), err
}

func appendRow(dst []byte, columns []column, u *ledger.UsageRow) (_ []byte, err error) {
	for i, c := range columns {
		separator := byte(',')
		if i == 0 {
			separator = '{'
		}
		dst = append(wire.AppendString(append(dst, separator), c.name), ':')
		if dst, err = wire.AppendJSON(dst, c.value(u)); err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
}

// WriteCSV writes a line with the column names and a line for each row.
func (p UsageReport) WriteCSV(w io.Writer) error {
	columns := p.columns()
	out := csv.NewWriter(w)
	line := make([]string, len(columns))
	for i, c := range columns {
		line[i] = c.name
	}
	if err := out.Write(line); err != nil {
		return fmt.Errorf("write usage: %w", err)
	}
	for i := range p.Rows {
		for j, c := range columns {
			line[j] = cell(c.value(&p.Rows[i]))
		}
		if err := out.Write(line); err != nil {
			return fmt.Errorf("write usage: %w", err)
		}
	}
	out.Flush()
	return out.Error()
}

// cell formats a value for a spreadsheet. Names come from clients: it adds a quote before a name that a
// spreadsheet would interpret as a formula.
func cell(v any) string {
	switch v := v.(type) {
	case string:
		if v != "" && strings.ContainsRune("=+-@\t\r", rune(v[0])) {
			return "'" + v
		}
		return v
	case int64:
		return strconv.FormatInt(v, 10)
	case wire.USD:
		return string(wire.AppendUSD(nil, int64(v)))
	}
	return fmt.Sprint(v)
}

// Table returns the report in a form for display: the column names, and the cells of each row. If there are several
// rows, the last one is the total.
func (p UsageReport) Table() (names []string, rows [][]string) {
	shown := slices.DeleteFunc(p.columns(), func(c column) bool {
		return c.name == "cost_micros" || c.name == "cached_tokens" || c.name == "reasoning_tokens"
	})
	for _, c := range shown {
		names = append(names, c.name)
	}
	all := p.Rows
	if len(all) > 1 {
		all = append(slices.Clip(all), p.total())
	}
	keys := len(shown) - len(sumColumns) + 3
	for i := range all {
		var row []string
		for j, c := range shown {
			text := fmt.Sprint(c.value(&all[i]))
			if u, ok := c.value(&all[i]).(wire.USD); ok {
				text = string(wire.AppendUSD(nil, int64(u)))
			}
			if j < keys && i == len(p.Rows) {
				text = ""
			}
			row = append(row, text)
		}
		rows = append(rows, row)
	}
	return names, rows
}
