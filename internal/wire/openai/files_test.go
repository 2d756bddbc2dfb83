package openai

import (
	"errors"
	"testing"

	"parley/internal/wire"
)

func TestFileOf_ReadsTheIDOrTheContent(t *testing.T) {
	for _, c := range []struct{ file, id, name, data, param, code string }{
		{file: `{"file_id":"f","filename":"a.txt"}`, id: "f", name: "a.txt"},
		{file: `{"file_data":"YWI=","filename":"a.txt","file_id":null}`, name: "a.txt", data: "ab"},
		{file: `{"file_data":"data:application/pdf;base64,YWI="}`, name: "file.pdf", data: "ab"},
		{file: `{"file_data":"data:a/b;base64,YWI="}`, name: "file", data: "ab"},
		{file: `{"filename":"a.txt"}`, param: "p", code: Missing},
		{file: `{"file_id":"f","file_data":"YQ=="}`, param: "p", code: Missing},
		{file: `{"file_id":1}`, param: "p.file_id", code: Invalid},
		{file: `{"file_url":"http://169.254.169.254/"}`, param: "p.file_url", code: Unsupported},
		{file: `{"file_data":"?"}`, param: "p.file_data", code: Invalid},
		{file: `{"file_data":"data:text/markdown;charset=utf-8,a%20b"}`, name: "file.md", data: "a b"},
		{file: `{"filename":"report 1.2","file_data":"DATA:Application/PDF;name=x;base64,YWI%3D"}`, name: "report 1.2.pdf", data: "ab"},
		{file: `{"file_data":"data:text/plain,100%"}`, param: "p.file_data", code: Invalid},
		{file: `{"file_data":"data:text/plain,"}`, param: "p.file_data", code: Invalid},
		{file: `{"file_data":"data:text/plain"}`, param: "p.file_data", code: Invalid},
		{file: `{"file_data":"data:text/plain;base64,"}`, param: "p.file_data", code: Invalid},
	} {
		object, err := wire.ParseObject([]byte(c.file))
		if err != nil {
			t.Fatal(err)
		}
		f, err := FileOf(object, "p")
		if refused, ok := errors.AsType[*ParamError](err); ok {
			if refused.Param != c.param || refused.Code != c.code {
				t.Errorf("%s: %s %s", c.file, refused.Param, refused.Code)
			}
			continue
		}
		if err != nil || c.param != "" || f.ID != c.id || f.Name == "" && c.name != "file" || c.name != "file" && f.Name != c.name || string(f.Data) != c.data {
			t.Errorf("%s: %+v, %v", c.file, f, err)
		}
	}
}
