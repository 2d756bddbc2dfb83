package usersapi

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"parley/internal/users"
	"parley/internal/wire/wiretest"
)

type records = users.Records

// broken is a store that cannot be read.
type broken struct{ records }

func (broken) Records(context.Context, string, func(string, []byte) error) error {
	return errors.New("the database is closed")
}

func TestExport_DoesNotSendAnErrorAsAnArchive(t *testing.T) {
	h := wiretest.Handler(New(users.New(users.Config{Records: broken{}})).Protocol())
	for user, status := range map[string]int{"ann": http.StatusInternalServerError, "": http.StatusBadRequest} {
		w := wiretest.Send(h, http.MethodGet, "/api/users/export?user="+user, "")
		if w.Code != status || w.Header().Get("Content-Disposition") != "" || w.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%q: %d %v %s", user, w.Code, w.Header(), w.Body)
		}
	}
}
