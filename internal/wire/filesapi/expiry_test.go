package filesapi_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"parley/internal/documents"
)

const typeJSON = "application/json"

func (s *site) sweep(want int) {
	s.Helper()
	if n, err := s.Library.Sweep(s.Context()); err != nil || n != want {
		s.Errorf("swept %d, %v, want %d", n, err, want)
	}
}

// expiringForm is an upload whose fields follow the file.
func expiringForm(anchor, seconds string) string {
	field := func(name, value string) string {
		return "--b\r\nContent-Disposition: form-data; name=\"" + name + "\"\r\n\r\n" + value + "\r\n"
	}
	return "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\r\nThirty days.\r\n" +
		field("purpose", "user_data") + field("expires_after[anchor]", anchor) + field("expires_after[seconds]", seconds) + "--b--\r\n"
}

func TestFiles_Expire(t *testing.T) {
	s := newSite(t, documents.Quota{})
	w := s.send("POST", "/v1/files", expiringForm("created_at", "3600"), "Content-Type", formType)
	if !strings.Contains(w.Body.String(), fmt.Sprintf(`"expires_at":%d`, s.At.Unix()+3600)) {
		t.Fatal(w.Code, w.Body)
	}
	id := s.do(200, "GET", "/v1/files", "").Data[0].ID
	stays := s.upload("b.txt", "For ever.")
	store := s.do(200, "POST", "/v1/vector_stores", `{"file_ids":["`+id+`","`+stays+`"]}`).ID
	s.Settle()
	s.At = s.At.Add(time.Hour - time.Second)
	s.sweep(0)
	s.do(200, "GET", "/v1/files/"+id, "")
	s.At = s.At.Add(time.Second)
	s.do(404, "GET", "/v1/files/"+id, "")
	s.sweep(1)
	s.sweep(0)
	if got := s.do(200, "GET", "/v1/files", "").Data; len(got) != 1 || got[0].ID != stays || s.kept() != 1 {
		t.Errorf("the files are %v, %d are kept", got, s.kept())
	}
	if got := s.do(200, "GET", "/v1/vector_stores/"+store, "").FileCounts; got.Total != 1 {
		t.Errorf("the store has %v", got)
	}
	if w := s.send("POST", "/v1/vector_stores/"+store+"/search", `{"query":"thirty days"}`); strings.Contains(w.Body.String(), "Thirty") {
		t.Error(w.Body)
	}
}

func TestStores_ExpireWhenNobodyUsesThem(t *testing.T) {
	s := newSite(t, documents.Quota{})
	file := s.upload("a.txt", "Thirty days.")
	store := "/v1/vector_stores/" + s.do(200, "POST", "/v1/vector_stores", `{"file_ids":["`+file+`"],"expires_after":{"anchor":"last_active_at","days":2}}`).ID
	s.Settle()
	s.At = s.At.Add(47 * time.Hour)
	s.do(200, "POST", store+"/search", `{"query":"thirty days"}`)
	s.At = s.At.Add(47 * time.Hour)
	s.sweep(0) // the search has put it off
	if w := s.send("GET", store, ""); !strings.Contains(w.Body.String(), `"status":"completed","expires_after":{"anchor":"last_active_at","days":2},"expires_at":`) {
		t.Error(w.Body)
	}
	s.At = s.At.Add(time.Hour)
	for _, c := range []struct{ method, target, body string }{
		{"POST", store + "/search", `{"query":"thirty days"}`},
		{"POST", store + "/files", `{"file_id":"` + file + `"}`},
		{"POST", store, `{"name":"again","expires_after":null}`},
	} {
		if o := s.do(400, c.method, c.target, c.body); o.Error.Code != "vector_store_expired" {
			t.Errorf("%s: %v", c.target, o.Error)
		}
	}
	s.sweep(1)
	if o := s.do(200, "GET", store, ""); o.Status != "expired" || o.FileCounts.Total != 0 {
		t.Error(o)
	}
	s.do(200, "GET", "/v1/files/"+file, "") // files stay
	s.do(200, "DELETE", store, "")
	s.sweep(0)
}

// A store that no longer expires, or later, is left alone by the deadline that it had.
func TestStores_ExpireAsTheLastChangeSays(t *testing.T) {
	s := newSite(t, documents.Quota{})
	const days = `{"expires_after":{"anchor":"last_active_at","days":%d}}`
	never := s.do(200, "POST", "/v1/vector_stores", fmt.Sprintf(days, 1)).ID
	later := s.do(200, "POST", "/v1/vector_stores", fmt.Sprintf(days, 1)).ID
	s.do(200, "POST", "/v1/vector_stores/"+never, `{"expires_after":null}`)
	s.do(200, "POST", "/v1/vector_stores/"+later, fmt.Sprintf(days, 3))
	s.At = s.At.Add(49 * time.Hour)
	s.sweep(0)
	s.At = s.At.Add(24 * time.Hour)
	s.sweep(1)
	if a, b := s.do(200, "GET", "/v1/vector_stores/"+never, ""), s.do(200, "GET", "/v1/vector_stores/"+later, ""); a.Status != "completed" || b.Status != "expired" {
		t.Error(a.Status, b.Status)
	}
}

func TestUploads_ExpireWithTheirParts(t *testing.T) {
	s := newSite(t, documents.Quota{})
	id := s.do(200, "POST", "/v1/uploads", `{"bytes":4,"filename":"a.txt","mime_type":"text/plain","purpose":"user_data"}`).ID
	part := s.do(200, "POST", "/v1/uploads/"+id+"/parts", partOf("data", "abcd"), "Content-Type", formType).ID
	s.At = s.At.Add(time.Hour)
	s.do(404, "POST", "/v1/uploads/"+id+"/complete", `{"part_ids":["`+part+`"]}`)
	s.sweep(1)
	if s.kept() != 0 {
		t.Errorf("%d are kept", s.kept())
	}
}

func partOf(name, content string) string {
	return "--b\r\nContent-Disposition: form-data; name=\"" + name + "\"; filename=\"x\"\r\n\r\n" + content + "\r\n--b--\r\n"
}

func TestUploads_RefuseWhatIsNotTheFile(t *testing.T) {
	s := newSite(t, documents.Quota{})
	id := s.do(200, "POST", "/v1/uploads", `{"bytes":4,"filename":"a.txt","mime_type":"text/plain","purpose":"user_data"}`).ID
	first := s.do(200, "POST", "/v1/uploads/"+id+"/parts", partOf("data", "ab"), "Content-Type", formType).ID
	for _, c := range []struct {
		code             int
		target, body, as string
	}{
		{413, "", `{"bytes":1e9,"filename":"a","mime_type":"x","purpose":"user_data"}`, typeJSON},
		{400, "", `{"bytes":0,"filename":"a","mime_type":"x","purpose":"user_data"}`, typeJSON},
		{400, "", `{"bytes":1.5,"filename":"a","mime_type":"x","purpose":"user_data"}`, typeJSON},
		{400, "", `{"bytes":"1","filename":"..","mime_type":"x","purpose":"user_data"}`, typeJSON},
		{400, "", `{"bytes":1,"filename":"a","mime_type":"x","purpose":"peace"}`, typeJSON},
		{400, "", `{"bytes":1,"filename":"a","mime_type":"x","purpose":"user_data","expires_after":{"anchor":"created_at","seconds":1}}`, typeJSON},
		{400, "", `{"bytes":1,"filename":"a","mime_type":"x","purpose":"user_data","expires_after":7}`, typeJSON},
		{400, "/" + id + "/parts", partOf("data", "abc"), formType}, // one byte too many
		{400, "/" + id + "/parts", partOf("file", "a"), formType},
		{400, "/" + id + "/parts", "--b--\r\n", formType},
		{415, "/" + id + "/parts", `{}`, typeJSON},
		{404, "/upload_x/parts", partOf("data", "a"), formType},
		{400, "/" + id + "/complete", `{}`, typeJSON},
		{400, "/" + id + "/complete", `{"part_ids":[]}`, typeJSON},
		{400, "/" + id + "/complete", `{"part_ids":[1]}`, typeJSON},
		{400, "/" + id + "/complete", `{"part_ids":["` + first + `"]}`, typeJSON},
		{400, "/" + id + "/complete", `{"part_ids":["` + first + `","` + first + `"]}`, typeJSON},
		{400, "/" + id + "/complete", `{"part_ids":["` + first + `"],"md5":"x"}`, typeJSON},
		{404, "/upload_x/cancel", "", typeJSON},
	} {
		if o := s.do(c.code, "POST", "/v1/uploads"+c.target, c.body, "Content-Type", c.as); o.Error.Message == "" {
			t.Errorf("%s %s: %v", c.target, c.body, o)
		}
	}
	if s.kept() != 1 {
		t.Errorf("%d are kept, want the first part", s.kept())
	}
	s.do(200, "POST", "/v1/uploads/"+id+"/cancel", "")
	if s.kept() != 0 {
		t.Errorf("%d are kept after the upload was cancelled", s.kept())
	}
	for _, form := range []string{expiringForm("last_active_at", "3600"), expiringForm("created_at", "3599"), expiringForm("created_at", "x")} {
		s.do(400, "POST", "/v1/files", form, "Content-Type", formType)
	}
	if s.kept() != 0 {
		t.Errorf("%d are kept of refused files", s.kept())
	}
}
