package source

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"
)

// azureRights are the properties of a file or folder that say who may read it, in an account with a hierarchical namespace.
// https://learn.microsoft.com/azure/storage/blobs/data-lake-storage-access-control
type azureRights struct {
	Owner, Group string
	ACL          string `xml:"Acl"`
}

var errNoAzureRights = errors.New("the account does not say who may read its blobs: only one with a hierarchical namespace does. Name users and groups in the entry instead of source_rights")

// azureName returns the id of an owner, "" for $superuser, which stands for the key of the account.
func azureName(id string) string {
	if strings.HasPrefix(id, "$") {
		return ""
	}
	return id
}

// readersFor returns those who have a right; false if the properties do not say that.
func (a azureRights) readersFor(right string) (readers, bool) {
	p, ok := parsePOSIX(azureName(a.Owner), azureName(a.Group), a.ACL)
	if !ok {
		return nil, false
	}
	return p.readersFor(right), true
}

// readAbove finds out who may reach what lies in the source: who may pass through its folder and those above it.
func (c *container) readAbove(ctx context.Context) error {
	c.passing = map[string]readers{}
	through := readers{{kind: everybody}: true}
	folders := []string{""}
	for name := range strings.SplitSeq(strings.TrimSuffix(c.prefix, "/"), "/") {
		if name != "" {
			folders = append(folders, path.Join(folders[len(folders)-1], name))
		}
	}
	for _, folder := range folders {
		all, err := c.folderReaders(ctx, folder)
		if err != nil {
			return err
		}
		through = both(through, all)
	}
	c.passing["."] = through
	return nil
}

// folderReaders returns who may pass through a folder, "" for that of the container. Only the API of Data Lake Storage tells
// that of the container. https://learn.microsoft.com/rest/api/storageservices/datalakestoragegen2/path/get-properties
func (c *container) folderReaders(ctx context.Context, folder string) (readers, error) {
	query := canonicalQuery(url.Values{"action": {"getAccessControl"}, "upn": {"false"}})
	address := strings.Replace(c.base, ".blob.", ".dfs.", 1) + "/" + escapeKey(folder) + "?" + c.proved(query)
	answer, err := c.call(ctx, http.MethodHead, address, nil, nil, callTime, http.StatusOK)
	refused, isAnswer := errors.AsType[*StatusError](err)
	switch {
	case isAnswer && (refused.Status == http.StatusBadRequest || refused.Status == http.StatusConflict):
		return nil, errNoAzureRights
	case isAnswer && folder == "":
		return nil, fmt.Errorf("who may pass through the container is not known: %w", err)
	case isAnswer:
		return nil, fmt.Errorf("who may pass through its folder %q is not known: %w", folder, err)
	case err != nil:
		return nil, err
	}
	answer.Body.Close()
	h := answer.Header
	all, ok := azureRights{h.Get("X-Ms-Owner"), h.Get("X-Ms-Group"), h.Get("X-Ms-Acl")}.readersFor("x")
	if !ok {
		return nil, errNoAzureRights
	}
	return all, nil
}

// pass notes who may reach what lies in a listed folder. Folders are listed before what lies in them.
func (c *container) pass(folder string, a azureRights) {
	around, told := c.passing[path.Dir(folder)]
	if all, ok := a.readersFor("x"); ok && told {
		c.passing[folder] = both(around, all)
	}
}

// rights returns who may read a file: those who may pass through all folders above it and have the right to read it.
func (c *container) rights(file string, a azureRights) (*Rights, error) {
	all, ok := a.readersFor("r")
	if !ok {
		if a == (azureRights{}) {
			return nil, errNoAzureRights
		}
		return unknownRights(azureName(a.Owner), "its access control list cannot be read"), nil
	}
	dir := path.Dir(file)
	through, told := c.passing[dir]
	if !told {
		return unknownRights("", fmt.Sprintf("the server does not say who may pass through all folders down to %q", dir)), nil
	}
	return both(all, through).rights(), nil
}
