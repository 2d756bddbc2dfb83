package source

import (
	"cmp"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// aclCalls is the number of access control lists that are asked for at the same time.
const aclCalls = 8

// gcsACL is the access control list of an object of Google Cloud Storage.
// https://cloud.google.com/storage/docs/xml-api/get-object-acls
type gcsACL struct {
	XMLName xml.Name `xml:"AccessControlList"`
	Entries []struct {
		Scope struct {
			Type   string `xml:"type,attr"`
			Email  string `xml:"EmailAddress"`
			Domain string
		}
		Permission string
	} `xml:"Entries>Entry"`
}

// gcsScopes maps the types of scopes to kinds of readers. Other types, such as those of ids, do not name people.
var gcsScopes = map[string]readerKind{
	"UserByEmail": aUser, "GroupByEmail": aGroup, "GroupByDomain": aGroup, "AllAuthenticatedUsers": signedIn, "AllUsers": everybody,
}

var errNoGCSRights = errors.New("the bucket does not say who may read its objects; with uniform bucket-level access they have no access control lists. Name users and groups in the entry instead of source_rights")

// maxRefused is the number of refused access control lists at which a listing fails, if none has been shown.
const maxRefused = 20

var errRefusedGCSRights = fmt.Errorf("the server does not show the access control lists of the first %d objects: the account may not read them. Name users and groups in the entry instead of source_rights", maxRefused)

// setRights asks for the access control lists of a page of objects, several at a time.
func (b *bucket) setRights(ctx context.Context, all []Object) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan *Object)
	var asking sync.WaitGroup
	for range aclCalls {
		asking.Go(func() {
			for o := range next {
				var err error
				if o.Rights, err = b.rightsOf(ctx, o.key); err != nil {
					cancel(err)
				}
			}
		})
	}
	for i := range all {
		if ctx.Err() != nil {
			break
		}
		if b.reads == nil || b.reads(all[i].Path, all[i].Size) {
			next <- &all[i]
		}
	}
	close(next)
	asking.Wait()
	return context.Cause(ctx)
}

// rightsOf returns who may read an object.
func (b *bucket) rightsOf(ctx context.Context, key string) (*Rights, error) {
	answer, err := b.acls.call(ctx, http.MethodGet, b.base+"/"+escapeKey(key)+"?acl=", nil, nil, callTime, http.StatusOK)
	refused, isAnswer := errors.AsType[*StatusError](err)
	switch {
	case isAnswer && refused.Status == http.StatusBadRequest:
		return nil, errNoGCSRights
	case errors.Is(err, ErrRefused) && !b.shown.Load() && b.refused.Add(1) >= maxRefused:
		return nil, errRefusedGCSRights
	case errors.Is(err, ErrRefused):
		return unknownRights("", "the server does not show its access control list: "+refused.Error()), nil
	case err != nil:
		return nil, err
	}
	defer answer.Body.Close()
	b.shown.Store(true)
	var list gcsACL
	if err := xml.NewDecoder(io.LimitReader(answer.Body, maxHello)).Decode(&list); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return unknownRights("", "the server's answer is not an access control list"), nil
	}
	all := readers{}
	for _, e := range list.Entries {
		if kind, known := gcsScopes[e.Scope.Type]; known && (e.Permission == "READ" || e.Permission == "FULL_CONTROL") {
			all[reader{kind, cmp.Or(e.Scope.Email, e.Scope.Domain)}] = true
		}
	}
	return all.rights(), nil
}
