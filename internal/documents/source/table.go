package source

const gitScheme = "git+https"

// Table lists the kinds of sources.
var Table = []Kind{
	{
		Name: "file or folder", Address: "/path",
		Account: "none", Changes: "size and time of each file; with ingest.watch, the system's notices",
		Limits: "symbolic links to folders, and out of the folder",
		Rights: "none: it has no entry in `ingest.sources`",
	},
	{
		Name: "web site", Schemes: []string{"https", "http"}, Address: "https://HOST/PATH",
		Account: "none", Changes: "one conditional request for each page; sitemaps, where the site has them, say which pages there are",
		Limits: "what robots.txt forbids; pages that need a sign-in",
		Rights: "none: it has no entry in `ingest.sources`",
	},
	{
		Name: "git repository", Schemes: []string{gitScheme, "git+http", "git+ssh", "git"},
		Address: "git+https://HOST/REPOSITORY?ref=BRANCH&path=FOLDER",
		Account: "user and secret: name and token (HTTPS); key_file and known_hosts (SSH)",
		Changes: "the commit at the branch, and the hash of each file. Only the newest commit is fetched, into the cache of the data folder",
		Limits:  "symbolic links, submodules, files of Git LFS (their pointers are read as text)",
		Rights:  "no: git keeps no rights",
		open:    openGit,
	},
	{
		Name: "S3 bucket", Schemes: []string{"s3"}, Address: "s3://BUCKET/FOLDER",
		Account: "user and secret: access key and secret key, by default AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; endpoint of a server that is not Amazon's; region",
		Changes: "the ETag of each object in the listing",
		Limits:  "roles of machines (IMDS, IRSA); objects in an archive that must be restored first",
		Rights:  "no: S3 names accounts, not people",
		open:    openS3,
	},
	{
		Name: "Google Cloud Storage", Schemes: []string{"gs"}, Address: "gs://BUCKET/FOLDER",
		Account:   "user and secret: access id and secret of an HMAC key",
		Changes:   "the ETag of each object in the listing",
		Limits:    "keys of service accounts in JSON: make an HMAC key for the account",
		Rights:    "each object's access control list, one more request for each object; people and groups by their e-mail addresses, domains as groups. Grants by IAM do not count; a bucket with uniform bucket-level access is refused",
		hasRights: true,
		open:      openGCS,
	},
	{
		Name: "Azure Blob Storage", Schemes: []string{"azblob"}, Address: "azblob://ACCOUNT/CONTAINER/FOLDER",
		Account:   "secret: a key of the account, or a shared access signature; endpoint of a server that is not Azure's",
		Changes:   "the ETag of each blob in the listing",
		Limits:    "Entra ID and managed identities; blobs of the archive tier",
		Rights:    "the POSIX access control lists of an account with a hierarchical namespace, with those of all folders above; ids of Entra objects. Grants by roles (RBAC) do not count",
		hasRights: true,
		open:      openAzure,
	},
	{
		Name: "WebDAV folder", Schemes: []string{"webdavs", "webdav"}, Address: "webdavs://HOST/FOLDER",
		Account:   "user and secret: name and password, in Nextcloud an app password",
		Changes:   "the ETag of each file in the listing, or its size and time. Nextcloud: webdavs://HOST/remote.php/dav/files/USER/FOLDER",
		Limits:    "none",
		Rights:    "Nextcloud: owners, and users and groups to whom the account shares the file or a folder around it; in team folders that the account manages, those to whom advanced permissions grant it. The address must have /remote.php/. Others: the access control list of RFC 3744, if the server announces access control",
		hasRights: true,
		open:      openWebDAV,
	},
	{
		Name: "SFTP folder", Schemes: []string{"sftp"}, Address: "sftp://HOST/FOLDER",
		Account:   "user and secret: name and password; or key_file, with its passphrase as secret; known_hosts",
		Changes:   "size and time of each file in the listing. FOLDER is absolute; without one, the account's own folder is read",
		Limits:    "symbolic links; agents and certificates of SSH",
		Rights:    "owner, group and mode, with those of all folders above; names from the server's /etc/passwd and /etc/group. SFTP shows neither access control lists nor closed folders above a chroot: leave source_rights off if the server has any",
		hasRights: true,
		open:      openSFTP,
	},
	{
		Name: "IMAP mailbox", Schemes: []string{"imaps", "imap"}, Address: "imaps://HOST/MAILBOX",
		Account:   "user and secret: name and password, or an app password",
		Changes:   "the unique number of each message. Nothing is changed on the server; imap:// encrypts with STARTTLS",
		Limits:    "sign-in with OAuth; drafts, junk, trash and all mail of Gmail, unless MAILBOX names them",
		Rights:    "the access control list of each mailbox (RFC 4314), where the account administers it",
		hasRights: true,
		open:      openIMAP,
	},
}
