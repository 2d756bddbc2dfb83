package azurechat

import (
	"strconv"
	"strings"

	"parley/internal/lazyregexp"
)

// cutter cuts an answer into deltas for the web component, whose parser reads each delta by itself:
//
//   - One that holds a digit is not shown; its first number is kept as that of a list step. The citations
//     below the answer are read from all deltas, so that they keep their pages, but only with a delta
//     that has no digit: after an answer that ends with a citation comes a line break.
//   - While a number is kept, the next delta with a "." is not shown either, and begins the step with the
//     number that came first. What follows is shown in that step, until a delta with an empty line.
//   - One with "Next" or "<<" is not shown, nor one with ">\n", and all that follows is taken for follow-up
//     questions; from then on one with "Question" is not shown.
//
// So numbers and citations are deltas of their own, and so is a "." while a number is kept: of the prose,
// only digits and such stops are not shown. The number of a step is its place in a list: one that does
// not fit would put text among what came earlier, or, if it is 0, double all that is there with every
// delta. Where a number does not fit, an HTML comment with one that does goes before it; the client
// shows nothing of that either.
type cutter struct {
	isLabel func(string) bool // whether that is what citations of this turn may name

	held      string // what is not decided
	filled    bool   // the line holds more than indentation
	questions bool   // the answer is over
	unlisted  bool   // the last delta has digits, so that the client has not read citations since

	// What the client's parser has.
	kept     int  // the number of the next step; 0 when none is kept
	stepping bool // text goes to the last step
	steps    int  // of the block
	noBlock  bool // nothing was shown since the steps ended: steps would be lost
}

const (
	maxNumber   = 64  // bytes of a number with its dots
	maxCitation = 300 // bytes of a citation
	digits      = "0123456789"
)

var (
	number = lazyregexp.New(`^[0-9]+(?:\.[0-9]+)*`)
	// ofPage is how every citation of a page ends.
	ofPage = lazyregexp.New(`#page=[0-9]+$`)
)

// add takes a delta of the answer and hands on those that the client gets.
func (c *cutter) add(text string, send func(string) error) error { return c.cut(text, false, send) }

// end hands on the rest.
func (c *cutter) end(send func(string) error) error {
	if err := c.cut("", true, send); err != nil || !c.unlisted {
		return err
	}
	return send("\n")
}

// ask hands on follow-up questions, which stand in the text: the marks around them as deltas of
// their own. One that holds ">\n" ends a question.
func (c *cutter) ask(questions []string, send func(string) error) error {
	for i, q := range questions {
		after := ">>\n"
		if i == len(questions)-1 {
			after = ">>"
		}
		if i == 0 {
			if err := send("\n\n"); err != nil {
				return err
			}
			c.questions = true
		}
		if err := send("<<"); err != nil {
			return err
		}
		if err := c.cut(q, true, send); err != nil {
			return err
		}
		if err := send(after); err != nil {
			return err
		}
	}
	return nil
}

// inline returns follow-up questions as they stand in an answer that is not streamed.
func inline(questions []string) (text string) {
	for i, q := range questions {
		before := "\n"
		if i == 0 {
			before = "\n\n"
		}
		text += before + "<<" + q + ">>"
	}
	return text
}

func (c *cutter) cut(text string, final bool, send func(string) error) error {
	in := c.held + text
	c.held = ""
	out := send
	send = func(delta string) error {
		c.unlisted = strings.ContainsAny(delta, digits)
		return out(delta)
	}
	shown := 0 // of in, which goes on with text that is shown as it is
	flush := func() error {
		piece := in[:shown]
		in, shown = in[shown:], 0
		if piece == "" {
			return nil
		}
		c.noBlock = false
		return send(piece)
	}
	for shown < len(in) {
		rest := in[shown:]
		n, special, ok := c.next(rest, final)
		if !ok {
			break
		}
		if !special {
			shown += n
			c.pass(rest[:n])
			if !c.splits(in[:shown], in[shown:]) {
				continue
			}
		}
		if err := flush(); err != nil {
			return err
		}
		if special {
			piece := in[:n]
			in = in[n:]
			if err := c.sendSpecial(piece, in, send); err != nil {
				return err
			}
			c.pass(piece)
		}
	}
	if err := flush(); err != nil {
		return err
	}
	c.held = in
	return nil
}

// next returns how much of the input belongs together, and whether it must be a delta of its own;
// ok is false when that takes more input.
func (c *cutter) next(in string, final bool) (n int, special, ok bool) {
	switch first := in[0]; {
	case isDigit(first):
		n = len(number.FindString(in))
		ahead := in[n:]
		if !final && n < maxNumber && (ahead == "" || ahead == ".") {
			return 0, false, false
		}
		return n, true, true
	case first == '[':
		end := strings.IndexAny(in, "]\n")
		if end < 0 {
			return 1, false, final || len(in) >= maxCitation
		}
		if in[end] == ']' && c.isCitation(in[1:end]) {
			return end + 1, c.kept > 0 || strings.ContainsAny(in[:end], digits), true
		}
		// What the client takes for a citation must hold no comment, so that it goes before.
		return 1, c.kept == 0 && strings.ContainsAny(in[:end], digits), true
	case first == '\n':
		n = len(in) - len(strings.TrimLeft(in, "\n"))
		if n == len(in) && !final {
			return 0, false, false
		}
		return n, n > 1, true
	case first == '.' && c.kept > 0:
		return 1, true, true
	}
	return 1, false, true
}

// isCitation reports whether what stands between brackets is a citation.
func (c *cutter) isCitation(inside string) bool {
	return !strings.Contains(inside, "[") && ofPage.MatchString(inside) || c.isLabel != nil && c.isLabel(inside)
}

// splits reports whether a delta must end before what follows.
func (c *cutter) splits(shown, rest string) bool {
	ends := func(before, after string) bool {
		return strings.HasSuffix(shown, before) && strings.HasPrefix(rest, after)
	}
	return ends("<", "<") || ends(">", "\n") || ends("N", "ext") || c.questions && ends("Q", "uestion")
}

// pass takes note of where in a line the text is.
func (c *cutter) pass(text string) {
	if i := strings.LastIndexByte(text, '\n'); i >= 0 {
		text, c.filled = text[i+1:], false
	}
	c.filled = c.filled || strings.Trim(text, " \t") != ""
}

// sendSpecial sends a delta that the client's parser does more with than to show it, and what must
// go before it.
func (c *cutter) sendSpecial(piece, rest string, send func(string) error) error {
	switch {
	case strings.HasPrefix(piece, "\n"):
		if c.stepping {
			c.stepping, c.steps, c.noBlock = false, 0, true
		}
	case piece == "[":
		if err := c.keep(rest, "", send); err != nil {
			return err
		}
	case strings.ContainsAny(piece, digits):
		if err := c.keep(piece, rest, send); err != nil {
			return err
		}
	default: // it has a "."
		if err := c.begin(send); err != nil {
			return err
		}
	}
	return send(piece)
}

// keep prepares for a number that the client keeps: that of the next step, where steps are listed, else of
// the step that text goes to.
func (c *cutter) keep(piece, rest string, send func(string) error) error {
	listed := !c.filled && strings.HasPrefix(rest, ".")
	if c.questions {
		c.kept = 1 // questions are never steps
		return nil
	}
	if err := c.openBlock(send); err != nil {
		return err
	}
	if c.kept > 0 && (!listed || !c.stepping) {
		return nil
	}
	if c.kept > 0 {
		if err := send("<!--.-->"); err != nil {
			return err
		}
	}
	if c.kept = c.steps; listed || !c.stepping {
		c.kept++
	}
	first, _, _ := strings.Cut(number.FindString(piece[strings.IndexAny(piece, digits):]), ".")
	if n, err := strconv.Atoi(first); err == nil && n == c.kept {
		return nil
	}
	return send("<!--" + strconv.Itoa(c.kept) + "-->")
}

// begin takes note of the step that a "." begins.
func (c *cutter) begin(send func(string) error) error {
	c.steps, c.kept, c.stepping = max(c.steps, c.kept), 0, !c.questions || c.stepping
	return c.openBlock(send)
}

// openBlock sees to it that steps have a block to stand in: without one they would be lost. An empty
// line that gets longer makes one.
func (c *cutter) openBlock(send func(string) error) error {
	if !c.noBlock {
		return nil
	}
	c.noBlock = false
	return send("\n")
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }
