package azurechat

import (
	"strconv"
	"strings"

	"parley/internal/lazyregexp"
)

// cutter cuts an answer into deltas for the web component, whose parser looks at each delta separately:
//
//   - It does not show a delta that contains a digit, but keeps the first number as that of a list step. It
//     reads the citations below the answer from all deltas, hidden ones included, so they have their page
//     numbers. But it reads them only when a delta without a digit arrives, so after an answer that ends
//     with a citation the cutter sends a line break.
//   - While it keeps a number, it does not show the next delta with a "." either, and begins the step with
//     the number that it kept first. It shows the text after that in the step, until a delta with an empty
//     line.
//   - It does not show a delta with "Next", "<<" or ">\n", and takes everything after it for follow-up
//     questions. From then on it does not show a delta with "Question" either.
//
// So the cutter sends numbers and citations as separate deltas, and also a "." while a number is kept. Of the
// prose, only digits and those stops are not shown. The client uses the number of a step as its position in a
// list: a number that does not fit would put text into an earlier step or, if it is 0, double everything with
// each delta. The cutter sends an HTML comment with a number that fits before a number that does not; the
// client does not show the comment either.
type cutter struct {
	isLabel func(string) bool // reports whether a citation of this turn may have this label

	held      string // input that cannot be cut before more arrives
	filled    bool   // the current line has more than indentation
	questions bool   // the answer has ended; follow-up questions follow
	unlisted  bool   // the last delta has digits, so the client has not read its citations yet

	// The state of the client's parser.
	kept     int  // the number that it keeps for the next step; 0 for none
	stepping bool // it appends text to the last step
	steps    int  // in the current block
	noBlock  bool // it has shown nothing since the last steps ended, so it would lose new ones
}

const (
	maxNumber   = 64  // bytes of a number, including its dots
	maxCitation = 300 // bytes of a citation
	digits      = "0123456789"
)

var (
	number = lazyregexp.New(`^[0-9]+(?:\.[0-9]+)*`)
	// ofPage matches the end of every citation of a page.
	ofPage = lazyregexp.New(`#page=[0-9]+$`)
)

// add takes a delta of the answer and sends the deltas for the client that are complete.
func (c *cutter) add(text string, send func(string) error) error { return c.cut(text, false, send) }

// end sends the rest of the answer.
func (c *cutter) end(send func(string) error) error {
	if err := c.cut("", true, send); err != nil || !c.unlisted {
		return err
	}
	return send("\n")
}

// ask sends follow-up questions as text. The marks around them are separate deltas; a delta with ">\n"
// separates two questions.
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

// inline returns follow-up questions as text, for an answer that is not streamed.
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
	shown := 0 // bytes of in that are plain text, to be sent as one delta
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

// next returns how many bytes at the start of the input must not be cut, and whether they must be a separate
// delta. ok is false if the decision needs more input.
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
		// The client may take this for a citation, so a comment must be sent before the bracket, not inside.
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

// isCitation reports whether the text inside brackets is a citation.
func (c *cutter) isCitation(inside string) bool {
	return !strings.Contains(inside, "[") && ofPage.MatchString(inside) || c.isLabel != nil && c.isLabel(inside)
}

// splits reports whether a delta must end between shown and rest, because the client would react to their combination.
func (c *cutter) splits(shown, rest string) bool {
	ends := func(before, after string) bool {
		return strings.HasSuffix(shown, before) && strings.HasPrefix(rest, after)
	}
	return ends("<", "<") || ends(">", "\n") || ends("N", "ext") || c.questions && ends("Q", "uestion")
}

// pass records whether the current line has text after the given text.
func (c *cutter) pass(text string) {
	if i := strings.LastIndexByte(text, '\n'); i >= 0 {
		text, c.filled = text[i+1:], false
	}
	c.filled = c.filled || strings.Trim(text, " \t") != ""
}

// sendSpecial sends a delta that changes the state of the client's parser, and before it whatever the
// parser needs. rest is the input after it.
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

// keep makes sure that the number that the client is about to keep fits: it must be the number of the next step at
// the start of a list item or outside steps, otherwise that of the current step. If the first number in piece does
// not fit, keep sends a comment with one that does. rest is the input after piece.
func (c *cutter) keep(piece, rest string, send func(string) error) error {
	listed := !c.filled && strings.HasPrefix(rest, ".")
	if c.questions {
		c.kept = 1 // no steps begin in questions
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

// begin records the step that a "." begins.
func (c *cutter) begin(send func(string) error) error {
	c.steps, c.kept, c.stepping = max(c.steps, c.kept), 0, !c.questions || c.stepping
	return c.openBlock(send)
}

// openBlock makes sure that the client has a block for steps, because it loses steps without one. One more
// line break after an empty line makes a block.
func (c *cutter) openBlock(send func(string) error) error {
	if !c.noBlock {
		return nil
	}
	c.noBlock = false
	return send("\n")
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }
