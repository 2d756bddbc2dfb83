package numfmt

import (
	"testing"
	"time"
)

func TestNumberFormat_ShowsWhatTheCellShows(t *testing.T) {
	epoch := time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		code string
		v    float64
		want string
	}{
		{"", 1234567, "1234567"},
		{"General", 0.1 + 0.2, "0.3"},
		{"General", 1e20, "1e+20"},
		{"0", 3.7, "4"},
		{"0.00", 2, "2.00"},
		{"0.##", 2.5, "2.5"},
		{"#,##0", -1234567, "-1,234,567"},
		{"#,##0.00 [$€-407]", 1234.5, "1,234.50 €"},
		{`"EUR "0.0`, -1.25, "-EUR 1.2"},
		{"0%", 0.07, "7%"},
		{`0.0,,"M"`, 1500000, "1.5M"},
		{`#,##0,"k"`, 1234567, "1,235k"},
		{"0,.0", 1234, "1.2"},
		{"0.0E+00", 12345, "12345"},
		{"# ?/?", 0.5, "0.5"},
		{"@", 5, "5"},
		{"yyyy\\-mm\\-dd", 45356, "2024-03-05"},
		{"dd/mm/yyyy hh:mm", 45356.75, "2024-03-05 18:00"},
		{"yyyy-mm hh:mm", 45356.75, "2024-03-05 18:00"},
		{"mmm-yy", 45356, "2024-03"},
		{"h:mm AM/PM", 0.75, "18:00"},
		{"mm:ss", 0.001, "00:01:26"},
		{"[h]:mm", 1.5, "36:00"},
		{"m/d/yyyy", 1, "1900-01-01"},
		{"m/d/yyyy", -5, "-5"},
		{"m/d/yyyy", 1e12, "1000000000000"},
	} {
		if got := Parse(c.code).Text(c.v, epoch); got != c.want {
			t.Errorf("%q shows %v as %q, want %q", c.code, c.v, got, c.want)
		}
	}
}
