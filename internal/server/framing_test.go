package server

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// exchangeRaw sends bytes and returns the statuses of all responses. It reads until the server closes
// the connection or waits for another request; then a request that closes the connection ends it.
func exchangeRaw(t *testing.T, addr, bytes string) (statuses []int, closed bool) {
	t.Helper()
	conn := dial(t, addr)
	defer conn.Close()
	if _, err := io.WriteString(conn, bytes); err != nil && !isReset(err) {
		t.Fatal(err)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil && !isReset(err) {
		t.Log(err)
	}
	r := bufio.NewReader(conn)
	for {
		res, err := http.ReadResponse(r, nil)
		if err != nil {
			if !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) && !isReset(err) {
				t.Fatalf("%.100q: %v", bytes, err)
			}
			return statuses, closed
		}
		if _, err := io.Copy(io.Discard, res.Body); err != nil && !isReset(err) {
			t.Fatal(err)
		}
		statuses, closed = append(statuses, res.StatusCode), res.Close
	}
}

// smuggled is a request that an attacker hides behind another one.
const smuggled = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"

// ambiguous are heads of requests whose end is unclear: some readers find it elsewhere than others.
// Behind each follow a body in chunks and a second request.
var ambiguous = map[string]string{
	"length, then chunked":        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
	"chunked, then length":        "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
	"length of the chunks":        "Content-Length: 9999\r\nTransfer-Encoding: chunked\r\n",
	"two lengths and chunked":     "Content-Length: 5\r\nContent-Length: 6\r\nTransfer-Encoding: chunked\r\n",
	"two lengths":                 "Content-Length: 5\r\nContent-Length: 6\r\n",
	"a list of lengths":           "Content-Length: 5, 5\r\n",
	"a list of different lengths": "Content-Length: 5, 6\r\n",
	"a signed length":             "Content-Length: +5\r\n",
	"a negative length":           "Content-Length: -5\r\n",
	"a hexadecimal length":        "Content-Length: 0x5\r\n",
	"an empty length":             "Content-Length: \r\n",
	"a length with an underscore": "Content-Length: 1_0\r\n",
	"a length of 2^64+5":          "Content-Length: 18446744073709551621\r\n",
	"chunked twice":               "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
	"chunked, chunked":            "Transfer-Encoding: chunked, chunked\r\n",
	"gzip, chunked":               "Transfer-Encoding: gzip, chunked\r\n",
	"chunked, identity":           "Transfer-Encoding: chunked, identity\r\n",
	"identity":                    "Transfer-Encoding: identity\r\nContent-Length: 5\r\n",
	"xchunked":                    "Transfer-Encoding: xchunked\r\nContent-Length: 5\r\n",
	"quoted":                      "Transfer-Encoding: \"chunked\"\r\nContent-Length: 5\r\n",
	"with a vertical tab":         "Transfer-Encoding: \x0bchunked\r\nContent-Length: 5\r\n",
	"with NUL":                    "Transfer-Encoding: chunked\x00\r\nContent-Length: 5\r\n",
	"NUL in another header":       "X: a\x00b\r\nContent-Length: 5\r\n",
	"NUL in a name":               "X\x00: a\r\nContent-Length: 5\r\n",
	"a space before the colon":    "Transfer-Encoding : chunked\r\nContent-Length: 5\r\n",
	"a space before the length":   "Content-Length : 5\r\nTransfer-Encoding: chunked\r\n",
	"folded chunked":              "Transfer-Encoding:\r\n chunked\r\nContent-Length: 5\r\n",
	"folded length":               "X: a\r\n Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
	"folded at the beginning":     " Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
	"bare CR":                     "X: a\rContent-Length: 5\r\nTransfer-Encoding: chunked\r\n",
	"bare LF before the length":   "X: a\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n",
	"bare LF before the encoding": "Content-Length: 5\r\nX: a\nTransfer-Encoding: chunked\r\n",
	"chunked in capitals":         "TRANSFER-ENCODING: CHUNKED\r\nContent-Length: 5\r\n",
	"chunked alone":               "Transfer-Encoding: chunked\r\n",
}

// RFC 9112 section 6.3: a request with an unclear end is the last one of its connection.
func TestServe_AnswersNothingBehindARequestWhoseEndIsInDoubt(t *testing.T) {
	l := start(t, options{})
	for name, head := range ambiguous {
		for _, line := range []string{"POST /chat HTTP/1.1", "POST /nothing HTTP/1.1", "GET /healthz HTTP/1.1", "POST /chat HTTP/1.0"} {
			request := line + "\r\nHost: localhost\r\nConnection: keep-alive\r\n" + head + "\r\n0\r\n\r\n" + smuggled
			statuses, closed := exchangeRaw(t, l.addr, request)
			if len(statuses) > 1 {
				t.Errorf("%s, %s: answered with %v", line, name, statuses)
			}
			if len(statuses) == 1 && !closed {
				t.Errorf("%s, %s: the answer %d does not close the connection", line, name, statuses[0])
			}
		}
	}
}

// Chunks are parsed strictly: a malformed one ends the request and the connection.
func TestServe_AnswersNothingBehindMalformedChunks(t *testing.T) {
	l := start(t, options{})
	for name, body := range map[string]string{
		"bare LF":               "5\n{\"a\"}\n0\n\n",
		"no size":               "\r\n0\r\n\r\n",
		"negative size":         "-1\r\n0\r\n\r\n",
		"0x size":               "0x5\r\naaaaa\r\n0\r\n\r\n",
		"size of 2^64":          "10000000000000000\r\n0\r\n\r\n",
		"too short":             "2\r\naaaaa\r\n0\r\n\r\n",
		"LF in an extension":    "5;a\nb\r\naaaaa\r\n0\r\n\r\n",
		"a trailer of a length": "0\r\nContent-Length: 9\r\n\r\n",
	} {
		request := "POST /chat HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n" + body + smuggled
		if statuses, closed := exchangeRaw(t, l.addr, request); len(statuses) > 1 || len(statuses) == 1 && !closed {
			t.Errorf("%s: answered with %v, closed: %v", name, statuses, closed)
		}
	}
}

func TestServe_KeepsAConnectionWhoseRequestsAreClear(t *testing.T) {
	l := start(t, options{})
	post := "POST /nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n"
	for name, head := range map[string]string{
		"one length":             "",
		"the same length again":  "Content-Length: 5\r\n",
		"lines that end with LF": "X: a\n",
	} {
		request := strings.Repeat(post+head+"\r\nabcde", 2) + smuggled
		if statuses, _ := exchangeRaw(t, l.addr, request); len(statuses) != 3 {
			t.Errorf("%s: answered with %v, want three answers", name, statuses)
		}
	}
}
