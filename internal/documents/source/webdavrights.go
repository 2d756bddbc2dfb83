package source

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
)

// rightsProps are what a folder is asked for beside its listing, when its rights are wanted.
const rightsProps = `<d:owner/><d:acl/><d:inherited-acl-set/>` +
	`<c:owner-id xmlns:c="http://owncloud.org/ns"/><n:sharees xmlns:n="http://nextcloud.org/ns"/>` +
	`<n:mount-type xmlns:n="http://nextcloud.org/ns"/><n:is-mount-root xmlns:n="http://nextcloud.org/ns"/><n:group-folder-id xmlns:n="http://nextcloud.org/ns"/>` +
	`<n:acl-enabled xmlns:n="http://nextcloud.org/ns"/><n:acl-can-manage xmlns:n="http://nextcloud.org/ns"/><n:acl-list xmlns:n="http://nextcloud.org/ns"/>`

// davRights are the properties of a file or folder that say who may read it: those of RFC 3744, and those of Nextcloud
// (docs.nextcloud.com, "WebDAV basics", and the app groupfolders, which is called team folders now).
type davRights struct {
	Owner     string    `xml:"DAV: owner>href"`
	ACL       *davACL   `xml:"DAV: acl"`
	Inherited []string  `xml:"DAV: inherited-acl-set>href"`
	OwnerID   string    `xml:"http://owncloud.org/ns owner-id"`
	Sharees   *sharees  `xml:"http://nextcloud.org/ns sharees"`
	Mount     string    `xml:"http://nextcloud.org/ns mount-type"`
	MountRoot string    `xml:"http://nextcloud.org/ns is-mount-root"`
	Team      string    `xml:"http://nextcloud.org/ns group-folder-id"`
	Enabled   string    `xml:"http://nextcloud.org/ns acl-enabled"`
	Manages   string    `xml:"http://nextcloud.org/ns acl-can-manage"`
	Rules     []teamACL `xml:"http://nextcloud.org/ns acl-list>acl"`
}

type davACL struct {
	Entries []struct {
		Principal davPrincipal   `xml:"DAV: principal"`
		Invert    *struct{}      `xml:"DAV: invert"` // it is about all but a principal
		Grant     []davPrivilege `xml:"DAV: grant>privilege"`
		Deny      []davPrivilege `xml:"DAV: deny>privilege"`
	} `xml:"DAV: ace"`
}

type davPrincipal struct {
	Href          string    `xml:"DAV: href"`
	All           *struct{} `xml:"DAV: all"`
	Authenticated *struct{} `xml:"DAV: authenticated"`
	Owner         *struct{} `xml:"DAV: property>owner"`
}

type davPrivilege struct {
	Names []struct{ XMLName xml.Name } `xml:",any"`
}

type sharees struct {
	All []struct {
		ID   string `xml:"http://nextcloud.org/ns id"`
		Type string `xml:"http://nextcloud.org/ns type"`
	} `xml:"http://nextcloud.org/ns sharee"`
}

type teamACL struct {
	Type        string `xml:"http://nextcloud.org/ns acl-mapping-type"`
	ID          string `xml:"http://nextcloud.org/ns acl-mapping-id"`
	Mask        int    `xml:"http://nextcloud.org/ns acl-mask"`
	Permissions int    `xml:"http://nextcloud.org/ns acl-permissions"`
}

// over adds the properties of another part of the answer. They replace single values and extend lists.
func (p *davRights) over(other davRights) {
	if other.ACL != nil {
		p.ACL = other.ACL
	}
	if other.Sharees != nil {
		p.Sharees = other.Sharees
	}
	for _, s := range []struct{ to, from *string }{{&p.Owner, &other.Owner}, {&p.OwnerID, &other.OwnerID}, {&p.Mount, &other.Mount},
		{&p.MountRoot, &other.MountRoot}, {&p.Team, &other.Team}, {&p.Enabled, &other.Enabled}, {&p.Manages, &other.Manages}} {
		if text := strings.TrimSpace(*s.from); text != "" {
			*s.to = text
		}
	}
	p.Inherited, p.Rules = append(p.Inherited, other.Inherited...), append(p.Rules, other.Rules...)
}

// cloudFolder is what a folder of Nextcloud passes on to what lies in it. It is never changed in place.
type cloudFolder struct {
	place  [3]string // its mount: shares of a folder do not count for what is mounted below it
	shared readers
	rules  []rule  // of advanced permissions, the innermost folder first
	many   bool    // it has more shares or rules than are kept
	told   *Rights // of a file in it without shares or rules of its own; nil until computed
}

// shareTypes are the kinds of Nextcloud's shares that stand for users or groups of the server. Links, addresses, other
// servers, teams and rooms are none.
var shareTypes = map[string]readerKind{"0": aUser, "1": aGroup}

// teamTypes are the same for advanced permissions.
var teamTypes = map[string]readerKind{"user": aUser, "group": aGroup}

// below returns what holds for a file or folder with these properties in folder f.
func (f cloudFolder) below(p davRights) cloudFolder {
	owner := reader{aUser, p.OwnerID}
	place := [3]string{p.OwnerID, p.Mount, p.Team}
	if place != f.place || isTrue(p.MountRoot) {
		f = cloudFolder{place: place, shared: readers{owner: true}}
	}
	own := p.Sharees.readers()
	switch {
	case len(own)+len(p.Rules) == 0 || f.many:
		return f
	case len(own)+len(f.shared) > maxReaders, len(p.Rules)+len(f.rules) > maxReaders:
		return cloudFolder{place: place, shared: readers{owner: true}, many: true}
	}
	maps.Copy(own, f.shared)
	f.shared, f.rules, f.told = own, append(teamRules(p.Rules), f.rules...), nil
	return f
}

// readers returns those with whom something is shared. s may be nil.
func (s *sharees) readers() readers {
	all := readers{}
	if s == nil {
		return all
	}
	for _, one := range s.All {
		if kind, ok := shareTypes[one.Type]; ok {
			all[reader{kind, one.ID}] = true
		}
	}
	return all
}

// teamRules returns the rules of a path. What is allowed to somebody there outweighs what is denied to them by way of another
// group.
func teamRules(all []teamACL) (rules []rule) {
	var denied []rule
	for _, a := range all {
		kind, known := teamTypes[a.Type]
		switch {
		case a.Mask&1 == 0: // it says nothing about reading
		case known && a.Permissions&1 != 0:
			rules = append(rules, rule{reader{kind, a.ID}, false})
		case known:
			denied = append(denied, rule{reader{kind, a.ID}, true})
		case a.Permissions&1 == 0: // to a team, say
			denied = append(denied, rule{reader{kind: everybody}, true})
		}
	}
	return append(rules, denied...)
}

func isTrue(s string) bool { return s == "1" || strings.EqualFold(s, "true") }

// rights returns who may read a file of Nextcloud with these properties.
func (f cloudFolder) rights(p davRights) *Rights {
	switch {
	case f.many:
		return unknownRights(p.OwnerID, "it is shared with too many users and groups")
	case p.Sharees == nil:
		return unknownRights(p.OwnerID, "the server does not say with whom it is shared")
	case p.Team != "" && !isTrue(p.Enabled):
		return unknownRights(p.OwnerID, "it is in a team folder without advanced permissions, and the server does not say who has the folder")
	case p.Team != "" && !isTrue(p.Manages):
		return unknownRights(p.OwnerID, "it is in a team folder whose advanced permissions the account does not manage")
	case f.told != nil:
		return f.told
	}
	return f.all()
}

// all returns those with whom the folder is shared, and those to whom the rules of a team folder grant it.
func (f cloudFolder) all() *Rights {
	all := firstMatch(f.rules)
	maps.Copy(all, f.shared)
	return all.rights()
}

// principalKinds maps the name of a collection to the kind of its principals. RFC 3744 gives no other hint in an address.
var principalKinds = map[string]readerKind{"user": aUser, "users": aUser, "group": aGroup, "groups": aGroup}

// reader returns whom an entry is about; false for somebody who cannot be named.
func (p davPrincipal) reader(owner string) (r reader, ok bool) {
	switch {
	case p.All != nil, p.Authenticated != nil:
		// Servers such as sabre/dav grant rights to DAV:all, and still let nobody in without an account.
		return reader{kind: signedIn}, true
	case p.Owner != nil:
		return principalAt(owner)
	}
	return principalAt(p.Href)
}

// principalAt returns the principal at an address, such as /principals/users/anna/.
func principalAt(href string) (r reader, ok bool) {
	u, err := url.Parse(strings.TrimSpace(href))
	if err != nil {
		return reader{}, false
	}
	parts := strings.Split(strings.Trim(u.EscapedPath(), "/"), "/")
	if len(parts) < 2 {
		return reader{}, false
	}
	kind, ok := principalKinds[strings.ToLower(parts[len(parts)-2])]
	name, err := url.PathUnescape(parts[len(parts)-1])
	return reader{kind, name}, ok && err == nil && name != ""
}

// grantsRead reports whether one of the privileges includes reading.
func grantsRead(all []davPrivilege) bool {
	return slices.ContainsFunc(all, func(p davPrivilege) bool {
		return len(p.Names) == 1 && p.Names[0].XMLName.Space == "DAV:" && (p.Names[0].XMLName.Local == "read" || p.Names[0].XMLName.Local == "all")
	})
}

// otherPrivileges are those of RFC 3744 that neither are nor contain the one to read.
var otherPrivileges = []string{"write", "write-properties", "write-content", "bind", "unbind", "unlock", "write-acl", "read-acl", "read-current-user-privilege-set"}

// deniesRead reports whether one of the privileges includes reading, or may include it: servers have privileges of their own.
func deniesRead(all []davPrivilege) bool {
	return slices.ContainsFunc(all, func(p davPrivilege) bool {
		return len(p.Names) != 1 || p.Names[0].XMLName.Space != "DAV:" || !slices.Contains(otherPrivileges, p.Names[0].XMLName.Local)
	})
}

// listed returns who may read a file by its access control list, whose entries are tried in their order (RFC 3744, section 6).
func (p davRights) listed() *Rights {
	owner, known := principalAt(p.Owner)
	if !known || owner.kind != aUser {
		owner = reader{}
	}
	switch {
	case p.ACL == nil:
		return unknownRights(owner.name, "the server does not say who may read it")
	case len(p.Inherited) > 0:
		return unknownRights(owner.name, "the access control lists of other places count for it too")
	}
	var rules []rule
	for _, e := range p.ACL.Entries {
		r, ok := e.Principal.reader(p.Owner)
		switch inverted := e.Invert != nil; {
		case deniesRead(e.Deny) && (!ok || inverted):
			rules = append(rules, rule{reader{kind: everybody}, true})
		case deniesRead(e.Deny):
			rules = append(rules, rule{r, true})
		case grantsRead(e.Grant) && ok && !inverted:
			rules = append(rules, rule{r, false})
		}
	}
	return firstMatch(rules).rights()
}

var errNoDAVRights = errors.New("the server does not say who may read its files: it is neither Nextcloud, at an address with /remote.php/, nor does it have access control lists (RFC 3744). Name users and groups in the entry instead of source_rights")

// setRights enters the rights of a folder's entries. own are the folder's properties, and told those of the entries.
func (d *davFolder) setRights(ctx context.Context, dir string, own davRights, entries []entry, told map[string]davRights) error {
	if dir == "." {
		if err := d.startRights(ctx, own); err != nil {
			return err
		}
	}
	if d.cloud == nil {
		for i := range entries {
			entries[i].Rights = told[entries[i].Path].listed()
		}
		return nil
	}
	folder := d.cloud[dir]
	delete(d.cloud, dir) // each is listed once
	folder.told = folder.all()
	for i := range entries {
		e := &entries[i]
		p := told[e.Path]
		switch inner := folder.below(p); {
		case e.folder:
			d.cloud[e.Path] = inner
		case p.OwnerID == "":
			e.Rights = unknownRights("", "the server does not say to whom it belongs")
		default:
			e.Rights = inner.rights(p)
		}
	}
	return nil
}

// startRights decides for the whole run which properties say who may read a file: Nextcloud's at an address with /remote.php/,
// else those of RFC 3744. The server must show that it sets them itself: others let anybody store such properties. Nextcloud's
// own lists of RFC 3744 do not count, since in some of its versions they open every file to everybody. So a folder with
// Nextcloud's property of the owner is refused at any other address.
func (d *davFolder) startRights(ctx context.Context, own davRights) error {
	d.cloud = nil
	at, _, isCloud := strings.Cut(d.base.Path, "/remote.php/")
	prove := d.controlsAccess
	if isCloud {
		prove = func(ctx context.Context) (bool, error) { return d.isNextcloud(ctx, at) }
	}
	if isCloud != (own.OwnerID != "") || !isCloud && own.ACL == nil {
		return errNoDAVRights
	}
	switch proved, err := prove(ctx); {
	case err != nil && !errors.Is(err, ErrRefused):
		return err
	case !proved:
		return errNoDAVRights
	case !isCloud:
		return nil
	}
	around, err := d.around(ctx)
	if err != nil {
		return err
	}
	d.cloud = map[string]cloudFolder{".": around.below(own)}
	return nil
}

// controlsAccess reports whether the server announces access control lists (RFC 3744, section 7.2).
func (d *davFolder) controlsAccess(ctx context.Context) (bool, error) {
	answer, err := d.call(ctx, http.MethodOptions, d.address(".")+"/", nil, nil, callTime, http.StatusOK, http.StatusNoContent)
	if err != nil {
		return false, err
	}
	answer.Body.Close()
	for class := range strings.SplitSeq(strings.Join(answer.Header.Values("DAV"), ","), ",") {
		if strings.EqualFold(strings.TrimSpace(class), "access-control") {
			return true, nil
		}
	}
	return false, nil
}

// isNextcloud reports whether the server at a path is Nextcloud, whatever name it shows. Nextcloud's edition is always "".
// ownCloud, which lets anybody store Nextcloud's properties, names an edition and, in later versions, a product.
func (d *davFolder) isNextcloud(ctx context.Context, at string) (bool, error) {
	u := url.URL{Scheme: d.base.Scheme, Host: d.base.Host, Path: at + "/status.php"}
	body, err := d.answer(ctx, http.MethodGet, u.String(), nil, nil, http.StatusOK)
	if err != nil {
		return false, err
	}
	var status struct {
		Installed     bool
		VersionString string
		Edition       *string
		ProductName   string
		Product       *string
	}
	if json.Unmarshal(body, &status) != nil {
		return false, nil //nolint:nilerr // another server has any page there
	}
	return status.Installed && status.VersionString != "" && status.Edition != nil && *status.Edition == "" && status.Product == nil &&
		!strings.Contains(strings.ToLower(status.ProductName), "owncloud"), nil
}

// around returns what the folders above the source pass on to it, up to the first one that Nextcloud does not show.
func (d *davFolder) around(ctx context.Context) (around cloudFolder, err error) {
	var all []davRights // the innermost first
	at := *d.base
	for at.Path = path.Dir(at.Path); len(at.Path) > 1 && len(all) < maxDepth; at.Path = path.Dir(at.Path) {
		header := http.Header{"Depth": {"0"}, "Content-Type": {"application/xml; charset=utf-8"}}
		body, err := d.answer(ctx, "PROPFIND", at.String()+"/", header, []byte(propfind(true)), http.StatusMultiStatus)
		if errors.Is(err, ErrRefused) {
			break
		}
		if err != nil {
			return around, err
		}
		var answer multistatus
		if err := xml.Unmarshal(body, &answer); err != nil || len(answer.Responses) != 1 {
			break
		}
		own := answer.Responses[0].rights()
		if own.OwnerID == "" {
			break
		}
		all = append(all, own)
	}
	for _, own := range slices.Backward(all) {
		around = around.below(own)
	}
	return around, nil
}
