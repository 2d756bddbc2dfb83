package source

import (
	"bufio"
	"cmp"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/user"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapserver"
	"github.com/emersion/go-imap/v2/imapserver/imapmemserver"
)

// cloud answers PROPFIND as Nextcloud does. props are properties by path, in addition to those of the mount of the path.
type cloud struct {
	home   string            // "/remote.php/dav/files/anna"
	paths  []string          // below home; folders end in "/"
	props  map[string]string // by path below home
	mounts map[string]string // the same for the folder and all below it, if no mount is nearer
	status string            // that of status.php; "" for that of Nextcloud
	more   string            // properties of all
	asked  []string
}

const nextcloudStatus = `{"installed":true,"maintenance":false,"needsDbUpgrade":false,"version":"31.0.2.1","versionstring":"31.0.2","edition":"","productname":"Our files","extendedSupport":false}`

func (c *cloud) response(p string) string {
	mount, length := "", -1
	for at, props := range c.mounts {
		if (at == "" || p == at || strings.HasPrefix(p, at)) && len(at) > length {
			mount, length = props, len(at)
		}
	}
	kind := ""
	if p == "" || strings.HasSuffix(p, "/") {
		kind = "<d:collection/>"
	}
	return `<d:response><d:href>` + c.home + "/" + p + `</d:href><d:propstat><d:prop><d:resourcetype>` + kind + `</d:resourcetype><d:getetag>&quot;1&quot;</d:getetag>` +
		mount + c.props[p] + c.more + `</d:prop><d:status>HTTP/1.1 200 OK</d:status></d:propstat><d:propstat><d:prop><d:acl/><nc:acl-list/></d:prop><d:status>HTTP/1.1 404 Not Found</d:status></d:propstat></d:response>`
}

func (c *cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/status.php" {
		io.WriteString(w, cmp.Or(c.status, nextcloudStatus))
		return
	}
	w.Header().Set("DAV", "1, 3, extended-mkcol, access-control, nextcloud-checksum-update") // Nextcloud too
	if r.Method == http.MethodOptions {
		return
	}
	at, inside := strings.CutPrefix(strings.TrimSuffix(r.URL.Path, "/")+"/", c.home+"/")
	body, _ := io.ReadAll(r.Body)
	c.asked = append(c.asked, r.Header.Get("Depth")+" "+r.URL.Path)
	if !inside || !strings.Contains(string(body), `<n:sharees xmlns:n="http://nextcloud.org/ns"/>`) || r.Method != "PROPFIND" {
		w.WriteHeader(http.StatusMethodNotAllowed) // as /remote.php/dav/files does
		return
	}
	w.WriteHeader(http.StatusMultiStatus)
	io.WriteString(w, `<?xml version="1.0"?><d:multistatus xmlns:d="DAV:" xmlns:s="http://sabredav.org/ns" xmlns:oc="http://owncloud.org/ns" xmlns:nc="http://nextcloud.org/ns">`)
	io.WriteString(w, c.response(at))
	for _, p := range c.paths {
		if dir, _ := path.Split(strings.TrimSuffix(p, "/")); dir == at && r.Header.Get("Depth") == "1" {
			io.WriteString(w, c.response(p))
		}
	}
	io.WriteString(w, `</d:multistatus>`)
}

func sharee(kind int, id string) string {
	return fmt.Sprintf(`<nc:sharee><nc:id>%s</nc:id><nc:display-name>Somebody</nc:display-name><nc:type>%d</nc:type></nc:sharee>`, id, kind)
}

func shared(all ...string) string { return "<nc:sharees>" + strings.Join(all, "") + "</nc:sharees>" }

func teamRule(kind, id string, mask, permissions int) string {
	return fmt.Sprintf(`<nc:acl><nc:acl-mapping-type>%s</nc:acl-mapping-type><nc:acl-mapping-id>%s</nc:acl-mapping-id><nc:acl-mapping-display-name>x</nc:acl-mapping-display-name>`+
		`<nc:acl-mask>%d</nc:acl-mask><nc:acl-permissions>%d</nc:acl-permissions></nc:acl>`, kind, id, mask, permissions)
}

func TestNextcloud_SharesCountForAllBelowThem(t *testing.T) {
	const own = "<oc:owner-id>anna</oc:owner-id><nc:mount-type></nc:mount-type>"
	c := &cloud{home: "/remote.php/dav/files/anna",
		paths: []string{"Work/", "Work/Docs/", "Work/Docs/a.md", "Work/Docs/b.md", "Work/Docs/deep/", "Work/Docs/deep/c.md", "Work/Docs/from-carol/", "Work/Docs/from-carol/d.md",
			"Work/Docs/old.md"},
		mounts: map[string]string{"": own, "Work/Docs/from-carol/": "<oc:owner-id>carol</oc:owner-id><nc:mount-type>shared</nc:mount-type>"},
		props: map[string]string{
			"Work/": shared(sharee(1, "staff")), "Work/Docs/": shared(sharee(3, ""), sharee(4, "x@example.org"), sharee(7, "circle"), sharee(6, "u@other.example")),
			"Work/Docs/a.md": shared(), "Work/Docs/b.md": shared(sharee(0, "bob"), sharee(0, "")), "Work/Docs/deep/": shared(sharee(0, "dora")),
			"Work/Docs/deep/c.md": shared(), "Work/Docs/from-carol/": shared(sharee(0, "anna")), "Work/Docs/from-carol/d.md": shared(),
		}}
	server := httptest.NewServer(c)
	defer server.Close()
	address := "webdav" + strings.TrimPrefix(server.URL, "http") + c.home + "/Work/Docs"
	wantRights(t, open(t, address, Options{Rights: true}), map[string]string{
		"a.md": "anna @staff", "b.md": "anna bob @staff", "deep/c.md": "anna dora @staff",
		"from-carol/d.md": "anna carol", // what is mounted in a folder is not shared with it
		"old.md":          "anna ?",     // it tells no shares
	})
	if !slices.Contains(c.asked, "0 "+c.home+"/Work/") || !slices.Contains(c.asked, "0 "+c.home+"/") {
		t.Errorf("asked for %q", c.asked)
	}
	var deep strings.Builder // more than a list holds, in a folder around many
	for i := range maxReaders + 1 {
		deep.WriteString(sharee(0, fmt.Sprint("u", i)))
	}
	c.props["Work/"] = shared(deep.String())
	got, err := listRights(t, open(t, address, Options{Rights: true}))
	if err != nil || got["a.md"] != "anna ?" || got["deep/c.md"] != "anna ?" {
		t.Errorf("shared with too many: %v, %v", got, err)
	}
}

// Mask and permissions are those of the app groupfolders: bit 1 is to read.
func TestNextcloud_AdvancedPermissionsOfTeamFolders(t *testing.T) {
	const team = "<oc:owner-id>anna</oc:owner-id><nc:mount-type>group</nc:mount-type><nc:group-folder-id>4</nc:group-folder-id>"
	rules := func(all ...string) string {
		return shared() + "<nc:acl-list>" + strings.Join(all, "") + "</nc:acl-list>"
	}
	c := &cloud{home: "/remote.php/dav/files/anna",
		paths: []string{"Team/", "Team/a.md", "Team/closed/", "Team/closed/b.md", "Team/closed/c.md", "Team/d.md", "Team/e.md", "Team/f.md"},
		props: map[string]string{
			"Team/": rules(teamRule("group", "staff", 31, 1), teamRule("group", "interns", 31, 0)), "Team/a.md": rules(),
			"Team/closed/": rules(teamRule("group", "staff", 1, 0), teamRule("user", "bob", 1, 1)), "Team/closed/b.md": rules(),
			"Team/closed/c.md": rules(teamRule("group", "staff", 1, 1)), "Team/d.md": rules(teamRule("group", "board", 30, 31)),
			"Team/e.md": rules(teamRule("circle", "c", 1, 1)), "Team/f.md": rules(teamRule("circle", "c", 1, 0)),
		}}
	for state, want := range map[string]map[string]string{
		"<nc:acl-enabled>1</nc:acl-enabled><nc:acl-can-manage>1</nc:acl-can-manage>": {
			"a.md": "anna @staff", "closed/b.md": "anna bob", "closed/c.md": "anna bob @staff",
			"d.md": "anna @staff", // a rule that is not about reading
			"e.md": "anna @staff", "f.md": "anna",
		},
		"<nc:acl-enabled>1</nc:acl-enabled><nc:acl-can-manage></nc:acl-can-manage>": nil, // the account sees its own rules only
		"<nc:acl-enabled></nc:acl-enabled><nc:acl-can-manage>1</nc:acl-can-manage>": nil, // the rules do not count
	} {
		c.mounts = map[string]string{"": "<oc:owner-id>anna</oc:owner-id><nc:mount-type></nc:mount-type>", "Team/": team + state}
		server := httptest.NewServer(c)
		if want == nil {
			want = map[string]string{}
			for _, p := range []string{"a.md", "closed/b.md", "closed/c.md", "d.md", "e.md", "f.md"} {
				want[p] = "anna ?"
			}
		}
		wantRights(t, open(t, "webdav"+strings.TrimPrefix(server.URL, "http")+c.home+"/Team", Options{Rights: true}), want)
		server.Close()
	}
}

// Some versions of Nextcloud give each file this list of RFC 3744, which is the default of sabre/dav and does not count.
const forAll = `<d:acl><d:ace><d:principal><d:all/></d:principal><d:grant><d:privilege><d:all/></d:privilege></d:grant></d:ace></d:acl>`

// A share that is mounted in another share of the same owner is not shared with those of the outer one.
func TestNextcloud_EachMountHasItsOwnShares(t *testing.T) {
	const own = "<oc:owner-id>anna</oc:owner-id><nc:mount-type>shared</nc:mount-type>"
	c := &cloud{home: "/remote.php/dav/files/bob", more: forAll,
		paths: []string{"Outer/", "Outer/Inner/", "Outer/Inner/a.md", "Outer/b.md"}, mounts: map[string]string{"": own},
		props: map[string]string{"Outer/": shared(sharee(1, "staff")) + "<nc:is-mount-root>true</nc:is-mount-root>", "Outer/b.md": shared(),
			"Outer/Inner/": shared(sharee(0, "bob")) + "<nc:is-mount-root>true</nc:is-mount-root>", "Outer/Inner/a.md": shared() + "<nc:is-mount-root>false</nc:is-mount-root>"}}
	server := httptest.NewServer(c)
	defer server.Close()
	wantRights(t, open(t, "webdav"+strings.TrimPrefix(server.URL, "http")+c.home+"/Outer", Options{Rights: true}), map[string]string{"Inner/a.md": "anna bob", "b.md": "anna @staff"})
}

// Servers that store properties of any name would let anybody who may write a file say who may read it.
func TestWebDAV_PropertiesCountOnlyWhereTheServerMakesThem(t *testing.T) {
	forged := "<oc:owner-id>mallory</oc:owner-id>" + shared(sharee(0, "mallory"))
	acl := strings.ReplaceAll(forAll, "<d:all/></d:principal>", "<d:href>/principals/users/anna</d:href></d:principal>")
	for name, c := range map[string]struct {
		home, status, props string
		announced           bool
		want                string // "" for an error
	}{
		"access control":                      {"/docs", "", acl, true, "anna"},
		"Nextcloud at another address":        {"/docs", nextcloudStatus, forged + forAll, true, ""},
		"access control is not announced":     {"/docs", "", acl, false, ""},
		"forged properties of Nextcloud only": {"/docs", nextcloudStatus, forged, true, ""},
		"no access control for the file":      {"/docs", "", "", true, ""},
		"Nextcloud":                           {"/remote.php/dav/files/anna", nextcloudStatus, forged + forAll, true, "mallory"},
		"ownCloud":                            {"/remote.php/dav/files/anna", `{"installed":true,"versionstring":"10.15.0","edition":"Community","productname":"ownCloud","product":"ownCloud"}`, forged + forAll, true, ""},
		"ownCloud by another name":            {"/remote.php/webdav", `{"installed":true,"versionstring":"10.15.0","edition":"","productname":"Cloud","product":"ownCloud"}`, forged, true, ""},
		"a page":                              {"/remote.php/webdav", `<html>`, forged, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			inner := &cloud{home: c.home, paths: []string{"a.md"}, status: c.status, more: c.props}
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodOptions && !c.announced {
					w.Header().Set("DAV", "1, 2")
					return
				}
				inner.ServeHTTP(w, r)
			}))
			defer server.Close()
			s := open(t, "webdav"+strings.TrimPrefix(server.URL, "http")+c.home, Options{Rights: true})
			if c.want == "" {
				failsWithReason(t, s, "does not say who may read")
				return
			}
			wantRights(t, s, map[string]string{"a.md": c.want})
		})
	}
}

func TestWebDAV_FailsWhereNobodySaysWhoMayRead(t *testing.T) {
	address, dir := davServer(t) // golang.org/x/net's has no such properties
	write(t, filepath.Join(dir, "a.md"), "alpha")
	failsWithReason(t, open(t, address, Options{Account: Account{User: "anna", Secret: "pw"}, Rights: true}), "does not say who may read")
	// Entities that stand for ever more text are an error of the reader of XML.
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusMultiStatus)
		io.WriteString(w, `<?xml version="1.0"?><!DOCTYPE m [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><d:multistatus xmlns:d="DAV:"><d:response><d:href>/</d:href><d:propstat><d:prop><oc:owner-id xmlns:oc="http://owncloud.org/ns">&b;</oc:owner-id></d:prop></d:propstat></d:response></d:multistatus>`)
	}))
	defer server.Close()
	if got, err := listRights(t, open(t, "webdav"+strings.TrimPrefix(server.URL, "http"), Options{Rights: true})); err == nil {
		t.Errorf("a bomb: %v", got)
	}
}

// aclProxy stands before go-imap's server, which has no ACL extension, and answers GETACL itself.
func aclProxy(t *testing.T, acls *sync.Map) (address string, trust *tls.Config) {
	t.Helper()
	certified := httptest.NewTLSServer(nil)
	certified.Close()
	_, _, trust = imapServer(t, true, nil)
	u := imapmemserver.NewUser("anna", "pw")
	for _, box := range []string{"INBOX", "Team", "Other"} {
		if err := u.Create(box, nil); err != nil {
			t.Fatal(err)
		}
		appendMail(t, u, box, "hello")
	}
	backend := imapmemserver.New()
	backend.AddUser(u)
	server := imapserver.New(&imapserver.Options{
		NewSession: func(*imapserver.Conn) (imapserver.Session, *imapserver.GreetingData, error) {
			return backend.NewSession(), nil, nil
		},
		InsecureAuth: true, Caps: imap.CapSet{imap.CapIMAP4rev1: {}, imap.CapNamespace: {}},
	})
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	go func() { defer close(served); server.Serve(inner) }()
	t.Cleanup(func() { server.Close(); <-served })
	address, _ = listen(t, func(plain net.Conn) {
		conn := tls.Server(plain, &tls.Config{Certificates: certified.TLS.Certificates})
		to, err := net.Dial("tcp", inner.Addr().String())
		if err != nil {
			return
		}
		defer to.Close()
		var mu sync.Mutex
		say := func(text string) { mu.Lock(); defer mu.Unlock(); io.WriteString(conn, text) }
		done := make(chan struct{})
		go func() {
			defer close(done)
			defer conn.Close()
			for r := bufio.NewReader(to); ; {
				line, err := r.ReadString('\n')
				if err != nil {
					return
				}
				say(strings.Replace(line, "IMAP4rev1", "IMAP4rev1 ACL RIGHTS=texk", 1))
			}
		}()
		for r := bufio.NewReader(conn); ; {
			line, err := r.ReadString('\n')
			if err != nil {
				break
			}
			words := strings.Fields(line)
			if len(words) != 3 || words[1] != "GETACL" {
				io.WriteString(to, line)
				continue
			}
			answer, ok := acls.Load(strings.Trim(words[2], `"`))
			if !ok {
				say(words[0] + " NO [NOPERM] You lack administrator privileges on this mailbox.\r\n")
				continue
			}
			say(answer.(string) + words[0] + " OK Getacl completed.\r\n")
		}
		to.Close()
		<-done
	})
	return address, trust
}

func TestIMAP_TellsWhoMayReadEachMailbox(t *testing.T) {
	var acls sync.Map
	acls.Store("INBOX", "* ACL INBOX anna lrwstipekxacd\r\n")
	acls.Store("Team", "* ACL Team anna lrwstipekxa \"$staff\" lrs group:board lr -bob r owner lr\r\n")
	address, trust := aclProxy(t, &acls)
	m := openMail(t, "imaps://"+address, trust, "pw")
	m.asksRights = true
	wantRights(t, m, map[string]string{"INBOX/1.eml": "anna", "Team/1.eml": "anna", "Other/1.eml": "nobody ?"})
	acls.Store("Team", "* ACL Team anna lr \"$staff\" lrs\r\n")
	acls.Store("Other", "* ACL Team anyone lr\r\n") // of another mailbox
	wantRights(t, m, map[string]string{"INBOX/1.eml": "anna", "Team/1.eml": "anna @staff", "Other/1.eml": "nobody ?"})
	acls.Store("Other", "* ACL Other anyone lr\r\n")
	wantRights(t, m, map[string]string{"INBOX/1.eml": "anna", "Team/1.eml": "anna @staff", "Other/1.eml": "signed in"})
	acls.Store("Other", "* ACL Other "+strings.Repeat("somebody-with-a-long-name lr ", maxHello/20)+"\r\n")
	if _, err := listRights(t, m); err == nil {
		t.Error("a list without an end is accepted")
	}
	plain, _, trusted := imapServer(t, true, map[string][]string{"INBOX": {"one"}})
	without := openMail(t, "imaps://"+plain, trusted, "pw")
	without.asksRights = true
	began := time.Now()
	failsWithReason(t, without, "does not say who may read its mailboxes")
	if time.Since(began) > 2*time.Second {
		t.Error("it was asked again and again")
	}
}

func TestAzure_TellsWhoMayReadEachBlob(t *testing.T) {
	const anna, staff, bob = "4f8b2c1e-0000-4000-8000-00000000a11a", "4f8b2c1e-0000-4000-8000-0000005taff0", "4f8b2c1e-0000-4000-8000-000000000b0b"
	rights := func(acl, kind string) string {
		return "<Owner>" + anna + "</Owner><Group>" + staff + "</Group><Permissions>rw-r-----+</Permissions><Acl>" + acl + "</Acl><ResourceType>" + kind + "</ResourceType></Properties>"
	}
	open600, closed := "user::rwx,group::r-x,other::--x", "user::rwx,group::---,other::---"
	page := azureBlob("<Name>here/a.md</Name>", "0x1", rights("user::rw-,user:"+bob+":r--,group::r--,mask::r--,other::---", "file")) +
		azureBlob("<Name>here/closed</Name>", "0x2", rights(closed, "directory")) +
		azureBlob("<Name>here/closed/b.md</Name>", "0x3", rights("user::rw-,user:"+bob+":r--,group::r--,mask::r--,other::r--", "file")) +
		azureBlob("<Name>here/closed/open</Name>", "0x2", rights("user::rwx,user:"+bob+":r-x,group::r-x,mask::rwx,other::r-x", "directory")) +
		azureBlob("<Name>here/closed/open/e.md</Name>", "0x3", rights("user::rw-,user:"+bob+":r--,group::r--,mask::r--,other::r--", "file")) +
		azureBlob("<Name>here/lost/c.md</Name>", "0x4", rights("user::rw-,group::r--,other::r--", "file")) +
		azureBlob("<Name>here/odd.md</Name>", "0x5", rights("what?", "file"))
	root, heads, refused := open600, map[string]int{}, false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		switch {
		case refused:
			w.WriteHeader(http.StatusForbidden)
		case r.Method == http.MethodHead && q.Get("action") == "getAccessControl":
			heads[r.URL.Path]++
			w.Header().Set("x-ms-owner", "$superuser")
			w.Header().Set("x-ms-group", "$superuser")
			w.Header().Set("x-ms-acl", root)
		case q.Get("include") == "metadata,permissions":
			fmt.Fprintf(w, azurePage, page, "")
		default:
			w.WriteHeader(http.StatusBadRequest)
		}
	}))
	defer server.Close()
	o := Options{Account: Account{Endpoint: server.URL}, Rights: true}
	wantRights(t, open(t, "azblob://acct/docs/here", o), map[string]string{
		"a.md": bob[:len(bob)-4] + "0b0b " + anna + " @" + staff, "closed/b.md": anna, "closed/open/e.md": anna, "lost/c.md": "nobody ?", "odd.md": anna + " ?",
	})
	if heads["/docs/"] != 1 || heads["/docs/here"] != 1 || len(heads) != 2 {
		t.Errorf("asked for the rights of %v", heads)
	}
	root = closed // of a folder above the source
	got, err := listRights(t, open(t, "azblob://acct/docs/here", o))
	if err != nil || got["a.md"] != "nobody" {
		t.Errorf("below a folder that nobody may pass: %v, %v", got, err)
	}
	refused = true
	if _, err := listRights(t, open(t, "azblob://acct/docs/here", o)); err == nil || !strings.Contains(err.Error(), "pass through the container is not known") {
		t.Errorf("a container whose rights may not be asked for: %v", err)
	}
	refused = false
	root = "" // as in an account without a hierarchical namespace
	failsWithReason(t, open(t, "azblob://acct/docs/here", o), "hierarchical namespace")
	root, page = open600, azureBlob("<Name>here/a.md</Name>", "0x1", "</Properties>")
	failsWithReason(t, open(t, "azblob://acct/docs/here", o), "hierarchical namespace")
}

func TestGCS_TellsWhoMayReadEachObject(t *testing.T) {
	entry := func(scope, permission string) string {
		return "<Entry><Scope " + scope + "</Scope><Permission>" + permission + "</Permission></Entry>"
	}
	owner := entry(`type="UserByEmail"><EmailAddress>jane@example.com</EmailAddress><Name>Jane</Name>`, "FULL_CONTROL")
	acls := map[string]string{
		"a.md": owner + entry(`type="GroupByEmail"><EmailAddress>staff@example.com</EmailAddress>`, "READ") + entry(`type="GroupByDomain"><Domain>example.com</Domain>`, "READ") +
			entry(`type="UserById"><ID>00b4903a97d0</ID>`, "FULL_CONTROL") + entry(`type="UserByEmail"><EmailAddress>w@example.com</EmailAddress>`, "WRITE"),
		"b.md": owner + entry(`type="AllAuthenticatedUsers">`, "READ"), "c.md": entry(`type="AllUsers">`, "READ"), "secret.md": "",
		"broken.md": "</Entries><Entries>" + strings.Repeat(owner, 20_000),
	}
	status := http.StatusForbidden
	var calls atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/docs/")
		auth := r.Header.Get("Authorization")
		switch {
		case r.URL.Path == "/docs":
			if !strings.HasPrefix(auth, "AWS4-HMAC-SHA256 ") {
				t.Errorf("the listing is signed with %q", auth)
			}
			io.WriteString(w, "<ListBucketResult>")
			for p := range acls {
				fmt.Fprintf(w, `<Contents><Key>%s</Key><Size>1</Size><ETag>"e"</ETag></Contents>`, p)
			}
			io.WriteString(w, "</ListBucketResult>")
		case !r.URL.Query().Has("acl"):
			t.Errorf("%s was read", name)
		case status == http.StatusBadRequest || acls[name] == "":
			w.WriteHeader(status)
			io.WriteString(w, "<?xml version='1.0' encoding='UTF-8'?><Error><Code>InvalidRequest</Code><Message>…</Message></Error>")
		default:
			calls.Add(1)
			if !strings.HasPrefix(auth, "GOOG4-HMAC-SHA256 Credential=GOOG1E/") || !strings.Contains(auth, "/auto/storage/goog4_request, SignedHeaders=host;x-goog-content-sha256;x-goog-date, Signature=") ||
				r.Header.Get("X-Goog-Date") == "" {
				t.Errorf("the list is asked for with %q", auth)
			}
			io.WriteString(w, "<?xml version='1.0' encoding='UTF-8'?><AccessControlList><Owner><ID>00b4903a97d0</ID></Owner><Entries>"+acls[name]+"</Entries></AccessControlList>")
		}
	}))
	defer server.Close()
	o := Options{Account: Account{Endpoint: server.URL, User: "GOOG1E", Secret: "s"}, Rights: true}
	wantRights(t, open(t, "gs://docs", o), map[string]string{
		"a.md": "jane@example.com @example.com @staff@example.com", "b.md": "jane@example.com signed in", "c.md": "public", "secret.md": "nobody ?", "broken.md": "nobody ?",
	})
	o.Reads = func(path string, size int64) bool { return size == 1 && path != "secret.md" && path != "broken.md" }
	calls.Store(0)
	got, err := listRights(t, open(t, "gs://docs", o))
	if err != nil || calls.Load() != 3 || got["secret.md"] != "none told" || got["a.md"] == "none told" {
		t.Errorf("with %d calls: %v, %v", calls.Load(), got, err)
	}
	status = http.StatusBadRequest // uniform bucket-level access
	failsWithReason(t, open(t, "gs://docs", o), "uniform bucket-level access")
	if _, err := listRights(t, open(t, "gs://docs", Options{Account: o.Account})); err != nil {
		t.Error(err)
	}
}

func TestGCS_FailsIfNoAccessControlListIsShown(t *testing.T) {
	n := maxRefused
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("acl") {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		io.WriteString(w, "<ListBucketResult>")
		for i := range n {
			fmt.Fprintf(w, `<Contents><Key>%d.md</Key><Size>1</Size><ETag>"e"</ETag></Contents>`, i)
		}
		io.WriteString(w, "</ListBucketResult>")
	}))
	defer server.Close()
	o := Options{Account: Account{Endpoint: server.URL, User: "GOOG1E", Secret: "s"}, Rights: true}
	failsWithReason(t, open(t, "gs://docs", o), "does not show the access control lists")
	n-- // a few may be closed
	if got, err := listRights(t, open(t, "gs://docs", o)); err != nil || got["0.md"] != "nobody ?" {
		t.Errorf("%v, %v", got, err)
	}
}

func TestSFTP_TellsWhoMayReadEachFile(t *testing.T) {
	address, known, dir, _ := sftpServer(t)
	me, err := user.Current()
	if err != nil {
		t.Skip(err)
	}
	group, err := user.LookupGroupId(me.Gid)
	if err != nil {
		t.Skip(err)
	}
	for p, mode := range map[string]os.FileMode{"a.md": 0o640, "b.md": 0o644, "c.md": 0o600, "closed/d.md": 0o644} {
		write(t, filepath.Join(dir, "here", p), "text")
		if err := os.Chmod(filepath.Join(dir, "here", p), mode); err != nil {
			t.Fatal(err)
		}
	}
	chmod := func(p string, mode os.FileMode) {
		if err := os.Chmod(p, mode); err != nil {
			t.Fatal(err)
		}
	}
	chmod(filepath.Join(dir, "here/closed"), 0o700)
	for p := filepath.Join(dir, "here"); len(p) > len(filepath.Clean(os.TempDir())); p = filepath.Dir(p) {
		chmod(p, 0o755)
	}
	o := Options{Account: Account{User: "anna", Secret: "pw", KnownHosts: known}, Rights: true}
	s := open(t, "sftp://"+address+filepath.ToSlash(dir)+"/here", o)
	mine, ours := me.Username, " @"+group.Name
	wantRights(t, s, map[string]string{"a.md": mine + ours, "b.md": mine + ours + " signed in", "c.md": mine, "closed/d.md": mine})
	chmod(dir, 0o700) // above the source
	wantRights(t, s, map[string]string{"a.md": mine, "b.md": mine, "c.md": mine, "closed/d.md": mine})
}
