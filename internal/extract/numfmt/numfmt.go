// Package numfmt shows numbers as spreadsheets do.
package numfmt

import (
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Format is a number format of a spreadsheet (ECMA-376 part 1, section 18.8.31), as far as it matters to a reader. Dates
// are shown as in ISO 8601, and everything else as in the cell.
type Format struct {
	date, clock bool // shows a date, a time of day
	day         bool // the date has a day, not only year and month
	elapsed     bool // hours beyond 24
	percent     bool
	grouped     bool // thousands are set apart
	thousands   int  // number of divisions by 1,000
	decimals    int  // most digits after the point; -1 for as many as there are
	least       int  // least digits after the point
	prefix      string
	suffix      string
}

// General is the format of cells without a format.
var General = Format{decimals: -1}

// Builtin are the formats that files refer to by number only (section 18.8.30).
var Builtin = map[int]string{
	1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00", 9: "0%", 10: "0.00%",
	14: "m/d/yyyy", 15: "d-mmm-yy", 16: "d-mmm", 17: "mmm-yy", 18: "h:mm", 19: "h:mm:ss", 20: "h:mm", 21: "h:mm:ss",
	22: "m/d/yyyy h:mm", 27: "yyyy/m/d", 28: "m/d", 29: "m/d", 30: "m-d-yy", 31: "yyyy-m-d", 32: "h:mm", 33: "h:mm:ss",
	36: "yyyy/m/d", 37: "#,##0", 38: "#,##0", 39: "#,##0.00", 40: "#,##0.00", 45: "mm:ss", 46: "[h]:mm:ss", 47: "mm:ss",
	50: "yyyy/m/d", 57: "yyyy/m/d",
}

// Parse reads the section of a format for positive numbers.
func Parse(code string) Format {
	p := parser{Format: Format{decimals: -1}}
	if strings.EqualFold(code, "general") || code == "@" {
		return General
	}
	for rest := code; rest != "" && !p.done; {
		rest = p.take(rest)
	}
	switch {
	case p.date || p.clock:
		p.prefix, p.suffix = "", ""
	case p.exponent || p.digits == 0:
		return General
	default:
		p.decimals = max(p.decimals, 0)
		p.thousands += p.scaled
	}
	return p.Format
}

// parser reads a format's code from left to right.
type parser struct {
	Format
	digits   int  // placeholders so far
	year     bool // the date has a year
	exponent bool
	scaled   int // commas before the point
	done     bool
}

// take reads the first element of code, and returns the rest.
func (p *parser) take(code string) string {
	switch c := code[0]; c {
	case ';':
		p.done = true
	case '"':
		text, rest, _ := strings.Cut(code[1:], `"`)
		p.literal(text)
		return rest
	case '[':
		inside, rest, _ := strings.Cut(code[1:], "]")
		p.bracket(inside)
		return rest
	case '\\':
		text, rest := cutRune(code[1:])
		p.literal(text)
		return rest
	case '_', '*':
		_, rest := cutRune(code[1:])
		return rest
	case '0', '#', '?':
		p.digits++
		p.grouped = p.grouped || p.thousands > 0
		p.thousands = 0
		if p.decimals >= 0 {
			p.decimals++
			if c == '0' {
				p.least = p.decimals
			}
		}
	case '.':
		p.scaled += p.thousands
		p.thousands = 0
		p.decimals = max(p.decimals, 0)
	case ',':
		if p.digits > 0 { // between digits it groups thousands; after them it divides by 1,000
			p.thousands++
		}
	case '%':
		p.percent = true
	case 'E', 'e', '/':
		p.exponent = p.digits > 0
	case 'y', 'Y':
		p.date, p.year = true, true
	case 'd', 'D':
		p.date, p.day = true, true
	case 'm', 'M':
		p.date = p.date || !p.clock
	case 'h', 'H', 's', 'S':
		if !p.clock && !p.day && !p.year && !strings.ContainsAny(code, "yYdD") {
			p.date = false // an m before it meant minutes
		}
		p.clock = true
	default:
		text, rest := cutRune(code)
		p.literal(text)
		return rest
	}
	return code[1:]
}

// bracket reads a currency, as in [$€-407], or elapsed time that may exceed a day, as in [h].
func (p *parser) bracket(inside string) {
	if symbol, ok := strings.CutPrefix(inside, "$"); ok {
		symbol, _, _ = strings.Cut(symbol, "-")
		p.literal(symbol)
		return
	}
	switch strings.ToLower(inside) {
	case "h", "hh", "m", "mm", "s", "ss":
		p.clock, p.elapsed = true, true
	}
}

func (p *parser) literal(text string) {
	if p.digits == 0 {
		p.prefix += text
	} else {
		p.suffix += text
	}
}

// cutRune separates the first character of a text from the rest.
func cutRune(s string) (first, rest string) {
	_, n := utf8.DecodeRuneInString(s)
	return s[:n], s[n:]
}

// Text returns a number in this format. epoch is day 0 of the file's dates.
func (n Format) Text(v float64, epoch time.Time) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return ""
	}
	if n.date || n.clock {
		if text := n.formatTime(v, epoch); text != "" {
			return text
		}
		return Plain(v)
	}
	if n.percent {
		v *= 100
	}
	v /= math.Pow10(3 * n.thousands)
	text := Plain(v)
	if n.decimals >= 0 {
		text = fixed(v, min(n.decimals, 15), n.least)
	}
	if n.grouped {
		text = group(text)
	}
	if n.percent {
		text += "%"
	}
	sign := ""
	if rest, ok := strings.CutPrefix(text, "-"); ok {
		sign, text = "-", rest
	}
	return strings.TrimSpace(sign + n.prefix + text + n.suffix)
}

func (n Format) formatTime(v float64, epoch time.Time) string {
	const lastDay = 2_958_465 // the last day of the year 9999
	if v < 0 || v > lastDay {
		return ""
	}
	seconds := int64(math.Round(v * 86400))
	if n.elapsed {
		return clockText(seconds/3600, seconds%3600/60, seconds%60)
	}
	if !n.date {
		seconds %= 86400
		return clockText(seconds/3600, seconds%3600/60, seconds%60)
	}
	if epoch.Year() == 1899 && v < 60 {
		seconds += 86400 // spreadsheets have a 29 February 1900; earlier dates are off by a day
	}
	t := epoch.Add(time.Duration(seconds%86400)*time.Second).AddDate(0, 0, int(seconds/86400))
	layout := "2006-01"
	if n.day {
		layout = "2006-01-02"
	}
	if n.clock {
		layout = "2006-01-02 15:04"
		if t.Second() != 0 {
			layout += ":05"
		}
	}
	return t.Format(layout)
}

func clockText(h, m, s int64) string {
	two := func(n int64) string {
		if n < 10 {
			return "0" + strconv.FormatInt(n, 10)
		}
		return strconv.FormatInt(n, 10)
	}
	if s == 0 {
		return two(h) + ":" + two(m)
	}
	return two(h) + ":" + two(m) + ":" + two(s)
}

// Plain writes a number as a calculator does: with at most 15 digits, which hides the errors of binary fractions.
func Plain(v float64) string {
	if math.Abs(v) >= 1e15 || v != 0 && math.Abs(v) < 1e-6 {
		return strconv.FormatFloat(v, 'g', 15, 64)
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 15, 64), 64)
	if err != nil {
		rounded = v
	}
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

// fixed writes a number with between least and most digits after the point.
func fixed(v float64, most, least int) string {
	text := strconv.FormatFloat(v, 'f', most, 64)
	for ; most > least && strings.HasSuffix(text, "0"); most-- {
		text = text[:len(text)-1]
	}
	return strings.TrimSuffix(text, ".")
}

// group puts a comma between the thousands of a decimal number.
func group(number string) string {
	whole, fraction, found := strings.Cut(number, ".")
	sign := ""
	if rest, ok := strings.CutPrefix(whole, "-"); ok {
		sign, whole = "-", rest
	}
	var b strings.Builder
	for i, digit := range whole {
		if i > 0 && (len(whole)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(digit)
	}
	if found {
		b.WriteString("." + fraction)
	}
	return sign + b.String()
}
