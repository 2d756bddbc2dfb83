package wire

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"parley/internal/chat"
)

func TestReadBody_TakesABodyOfExactlyTheLimit(t *testing.T) {
	for _, chunked := range []bool{false, true} {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(strings.Repeat("x", 2000)))
		if chunked {
			r.ContentLength = -1
		}
		body, err := ReadBody(httptest.NewRecorder(), r, 2000)
		if err != nil || len(body) != 2000 {
			t.Errorf("chunked %v: %d bytes, %v", chunked, len(body), err)
		}
	}
}

func TestReadBody_RefusesOneByteMore(t *testing.T) {
	for _, chunked := range []bool{false, true} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, err := ReadBody(w, r, 0); err != nil {
				PlainError(w, nil, err)
			}
		}))
		var body io.Reader = strings.NewReader(strings.Repeat("x", DefaultBodyLimit+1))
		if chunked {
			body = io.MultiReader(body)
		}
		response, err := http.Post(server.URL, "application/json", body)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(response.Body)
		response.Body.Close()
		want := `{"error":"the request body is over the limit of 1048576 bytes"}` + "\n"
		if response.StatusCode != http.StatusRequestEntityTooLarge || string(text) != want {
			t.Errorf("chunked %v: %d %s", chunked, response.StatusCode, text)
		}
		server.Close()
	}
}

func TestReadBody_NeverAsksForABodyThatItRefuses(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, err := ReadBody(w, r, 10)
		PlainError(w, nil, err)
	}))
	defer server.Close()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5000000\r\nExpect: 100-continue\r\n\r\n")
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "HTTP/1.1 413") {
		t.Errorf("got %q, %v", line, err)
	}
}

func TestReadBody_GivesUpOnABodyThatIsCut(t *testing.T) {
	errs := make(chan error, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, err := ReadBody(w, r, 0)
		errs <- err
	}))
	defer server.Close()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{\"mess")
	conn.Close()
	if err := <-errs; chat.KindOf(err) != chat.Invalid {
		t.Errorf("got %v", err)
	}
}

// slowly is a body of which two reads return parts. Then it stalls until its deadline.
type slowly struct {
	http.ResponseWriter
	deadlines []time.Time // all deadlines that were set
	came      []int       // bytes that had arrived at each deadline
	rooms     []int       // length of each read's buffer
	total     int
}

func (s *slowly) SetReadDeadline(d time.Time) error {
	s.deadlines, s.came = append(s.deadlines, d), append(s.came, s.total)
	return nil
}

func (s *slowly) Read(p []byte) (int, error) {
	s.rooms = append(s.rooms, len(p))
	if len(s.deadlines) == 3 {
		return 0, fmt.Errorf("read: %w", os.ErrDeadlineExceeded)
	}
	n := copy(p, strings.Repeat("x", bodyRate))
	s.total += n
	return n, nil
}

func TestReadBody_MovesItsDeadlineOnlyWithTheBytesThatCame(t *testing.T) {
	s := &slowly{ResponseWriter: httptest.NewRecorder()}
	r := httptest.NewRequest(http.MethodPost, "/", s)
	r.ContentLength = 10 * bodyRate
	_, err := ReadBody(s, r, 0)
	if chat.KindOf(err) != chat.Invalid || !strings.HasPrefix(err.Error(), "the request body arrived too slowly") {
		t.Errorf("got %v", err)
	}
	if len(s.deadlines) != 3 {
		t.Fatalf("%d deadlines: the last one must stay, so that net/http does not wait for the rest", len(s.deadlines))
	}
	if s.came[2] <= s.came[1] || s.came[1] == 0 {
		t.Fatalf("the deadlines were set when %v bytes had come", s.came)
	}
	for i, d := range s.deadlines {
		if got, want := d.Sub(s.deadlines[0]), time.Duration(s.came[i])*time.Second/bodyRate; got != want {
			t.Errorf("deadline %d is %v behind the first, want %v", i, got, want)
		}
	}
}

// Two thousand clients that declare a body of 1 MiB and send one byte of it must not cost 2 GiB.
func TestReadBody_HoldsRoomForWhatHasComeNotForWhatWasDeclared(t *testing.T) {
	s := &slowly{ResponseWriter: httptest.NewRecorder()}
	r := httptest.NewRequest(http.MethodPost, "/", s)
	r.ContentLength = DefaultBodyLimit
	_, _ = ReadBody(s, r, 0)
	if s.rooms[0] > 2*firstRead {
		t.Errorf("the first read had room for %d bytes", s.rooms[0])
	}
	if last := s.rooms[len(s.rooms)-1]; last > 2*s.total {
		t.Errorf("when %d bytes had come, there was room for %d more", s.total, last)
	}
}

// A client that sends its whole body before it reads must receive the reply; the connection must not be
// reset before.
func TestReadBody_LetsAClientFinishItsLargeBody(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, err := ReadBody(w, r, 0)
		PlainError(w, nil, err)
	}))
	defer server.Close()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	const size = 20 << 20
	fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", size)
	if _, err := conn.Write(make([]byte, size)); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "HTTP/1.1 413") {
		t.Errorf("got %q, %v", line, err)
	}
}

func TestForm_DoesNotCountFilesAsFields(t *testing.T) {
	body := &strings.Builder{}
	form := multipart.NewWriter(body)
	for n := range maxFields {
		if _, err := form.CreateFormFile("file", fmt.Sprint(n)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(form.WriteField("name", "value"), form.Close()); err != nil {
		t.Fatal(err)
	}
	r := &Request{Request: httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body.String()))}
	r.Header.Set("Content-Type", form.FormDataContentType())
	var read string
	err := Form{
		File:  func(*multipart.Part) error { return nil },
		Field: func(name, value string) error { read = name + "=" + value; return nil },
	}.Read(httptest.NewRecorder(), r, 1<<20)
	if err != nil || read != "name=value" {
		t.Errorf("read %q, %v", read, err)
	}
}
