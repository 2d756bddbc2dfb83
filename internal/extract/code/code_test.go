package code

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/extract"
	"parley/internal/extract/compose"
	"parley/internal/extract/extracttest"
)

// headings returns the headings of a document below that of the file, one to a line, indented.
func headings(doc *extract.Document) string {
	var b strings.Builder
	for _, p := range doc.Pages {
		for _, block := range p.Blocks {
			if block.Kind == extract.Heading && block.Level > 1 {
				b.WriteString(strings.Repeat(" ", block.Level-2) + p.Text[block.Start:block.End] + "\n")
			}
		}
	}
	return b.String()
}

func TestSource_FindsWhatIsDeclared(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"a.go": {"package a\n\n// Open opens.\nfunc (c *File) Open(name string) error {\n\tif x := f(name); x {\n\t\treturn nil\n\t}\n}\n\ntype Kind uint8\n\nfunc Map[T any](s []T) {}\n",
			"File.Open\nKind\nMap\n"},
		"a.py": {"import os\n\nclass A(B):\n    \"\"\"Doc.\"\"\"\n\n    @property\n    def size(self):\n        return len(self)\n\n    async def run(self) -> None:\n        for x in y:\n            pass\n\ndef main():\n    print(\"x\")\n",
			"A\n size\n run\nmain\n"},
		"a.java": {"package a;\n\n/** Doc. */\npublic final class A<T> extends B {\n    private int x = f(3);\n\n    @Override\n    public List<T> get(int n) throws E {\n        if (n > 0) {\n            return null;\n        } else if (f(n)) {\n        }\n    }\n\n    A(int x) {\n    }\n}\n",
			"A\n get\n A\n"},
		"a.js": {"import x from 'y';\n\nexport const add = (a, b) => a + b;\n\nexport default async function run(a) {\n  while (a) {\n  }\n}\n\nclass C {\n  constructor() {\n  }\n}\n",
			"add\nrun\nC\n constructor\n"},
		"a.ts": {"export interface P { x: number }\nexport type Q = string;\nconst f = async (x: number): Promise<void> => {\n};\n", "P\nQ\nf\n"},
		"a.c": {"#include <stdio.h>\n\nstatic int add(int a,\n    int b)\n{\n  if (a) {\n  }\n  return a + b;\n}\n\nint main(int argc, char **argv) {\n  printf(\"x\");\n}\n\nstruct point { int x; };\n",
			"add\nmain\npoint\n"},
		"a.cpp": {"namespace n {\ntemplate <typename T>\nclass V {\n public:\n  V() : x(1) {\n  }\n};\n}\nvoid n::V::grow(int by) {\n}\n", "n\nV\n V\nn::V::grow\n"},
		"a.rs":  {"/// Doc.\n#[derive(Debug)]\npub struct P {\n}\n\nimpl<T> Display for P {\n    pub(crate) async fn run(&self) -> u8 {\n        match x {\n        }\n    }\n}\n", "P\nDisplay for P\n run\n"},
		"a.rb":  {"module M\n  class A < B\n    def self.make!(x)\n    end\n  end\nend\n", "M\n A\n  self.make!\n"},
		"a.sh":  {"#!/bin/sh\nusage() {\n  echo x\n}\nfunction two {\n}\nif [ -f x ]; then\n  y\nfi\n", "usage\ntwo\n"},
		"a.cs":  {"namespace N.M {\n  [Serializable]\n  public class A : B {\n    public async Task<int> GetAsync(int n) {\n    }\n  }\n}\n", "N.M\n A\n  GetAsync\n"},
		"a.kt":  {"data class P(val x: Int)\n\nsuspend fun load(id: String): P {\n}\n", "P\nload\n"},
		"a.php": {"<?php\nclass A {\n    public function b($c) {\n        foreach ($c as $d) {\n        }\n    }\n}\n", "A\n b\n"},
		"a.tf":  {"resource \"aws_s3_bucket\" \"logs\" {\n  bucket = \"x\"\n}\n", "aws_s3_bucket logs\n"},
		"a.r":   {"area <- function(r) {\n  pi * r^2\n}\n", "area\n"},
		"a.sql": {"-- People.\nCREATE TABLE IF NOT EXISTS public.\"people\" (\n  id int\n);\n\ncreate or replace function f() returns int as $$\nselect 1;\n$$;\nINSERT INTO people VALUES (1);\n",
			"table public.people\nfunction f\n"},
	} {
		doc := extracttest.Read(t, name, []byte(c.text))
		if diff := cmp.Diff(c.want, headings(doc)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		for line := range strings.Lines(c.text) {
			if line = strings.TrimSpace(line); !strings.Contains(doc.Pages[0].Text, line) {
				t.Errorf("%s: %q is lost", name, line)
			}
		}
	}
}

// Comments and annotations right above a declaration belong to it.
func TestSource_KeepsCommentsWithWhatTheyDescribe(t *testing.T) {
	doc := extracttest.Read(t, "dir/a.go", []byte("package a\n\nvar x = 1\n// F does.\n// Always.\nfunc F() {\n\treturn\n\n\treturn\n}\n"))
	const want = "H1 a.go\nC package a\nC var x = 1\nH2 F\nC // F does.⏎// Always.⏎func F() {⏎\treturn\nC \treturn⏎}\n"
	if diff := cmp.Diff(want, extracttest.Outline(doc)); diff != "" {
		t.Error(diff)
	}
	if doc.Title != "a.go" {
		t.Errorf("the title is %q", doc.Title)
	}
}

func TestConfig_FindsItsSections(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"a.yaml": {"# Setup.\nversion: 3\nservices:\n  web:\n    port: 8080\n\nvolumes: # none\n  x: {}\n", "H1 a.yaml\nC # Setup.⏎version: 3\nH2 services\nC   web:⏎    port: 8080\nH2 volumes\nC   x: {}\n"},
		"a.toml": {"title = \"x\"\n\n[server.http]\nport = 80\n[[rules]]\na = [1, 2]\n", "H1 a.toml\nC title = \"x\"\nH2 server.http\nC port = 80\nH2 rules\nC a = [1, 2]\n"},
		"a.ini":  {"; comment\n[main] ; first\nkey=value\n", "H1 a.ini\nC ; comment\nH2 main\nC key=value\n"},
	} {
		if diff := cmp.Diff(c.want, extracttest.Outline(extracttest.Read(t, name, []byte(c.text)))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// What is written SECRET must not be found in the document, and what is written public must.
func TestConfig_LeavesSecretsOut(t *testing.T) {
	for name, text := range map[string]string{
		"a.env":         "# The public comment.\nPUBLIC_NAME=SECRET\nexport B = 'SECRET\nSECRET'\n#C=SECRET\n",
		"b.env":         "KEY=\"-----BEGIN RSA PRIVATE KEY-----\nSECRET\nSECRET\n-----END RSA PRIVATE KEY-----\"\nAFTER_public=SECRET\n",
		"a.yaml":        "db:\n  user: public\n  password: SECRET\n  dbPassword: \"SECRET\"\n  api_key: >-\n    SECRET\n    SECRET\n  port: public\n",
		"b.yaml":        "credentials:\n  - SECRET\n  - SECRET\nurl: postgres://public:SECRET@host/db\nauth: {user: public, token: SECRET}\n",
		"c.yml":         "apiVersion: v1\nkind: Secret\nmetadata:\n  name: public\ndata:\n  a: SECRET\n\n  b: SECRET\ntype: public\n",
		"a.ini":         "[public]\nPassword = SECRET\n; token = SECRET\nkeyboard=public\nconn=Server=public;Password=SECRET;Database=public\n",
		"a.toml":        "max_tokens = \"public\"\nsecret_name = \"public\"\nclient_secret = '''\nSECRET\n'''\npublic = 1\n",
		"a.properties":  "spring.datasource.password=SECRET\naws.secretAccessKey=SECRET\ntoken.expiry=public\nmonkey=public\n",
		"prod.conf":     "AccountKey = SECRET\njwt_key: SECRET\nprimary_key: public\n",
		"pem.yaml":      "tls: |\n  -----BEGIN PRIVATE KEY-----\n  SECRET\n  -----END PRIVATE KEY-----\npublic: 1\n",
		"commented.yml": "# password: SECRET\npublic: 1\n",
	} {
		got := extracttest.Outline(extracttest.Read(t, name, []byte(text)))
		if strings.Contains(got, "SECRET") {
			t.Errorf("%s: a secret is left: %s", name, got)
		}
		if want := strings.Count(strings.ToLower(text), "public"); strings.Count(strings.ToLower(got), "public") != want {
			t.Errorf("%s: %s lacks some of what is public (%d)", name, got, want)
		}
	}
}

func FuzzCode(f *testing.F) {
	f.Add("go", "// a\nfunc (c *File) Open[T any](x int) {\n\n}\n")
	f.Add("cpp", "template <typename T>\nclass A : B {\n  A() : x(1) {\n")
	f.Add("sql", "create table a (\n")
	f.Add("env", "A=\"b\nc\nd\"\n")
	f.Add("yaml", "a:\n  password: |\n    x\n- b\n'''\n")
	f.Fuzz(func(t *testing.T, ext, text string) {
		if len(ext) < 8 {
			extracttest.CheckAnyInput(t, "a."+ext, []byte(text))
		}
	})
}

var commented = regexp.MustCompile(`(?m)^\s*#.*Tq7xZ`)

// FuzzSecrets holds that no value of an env file is in its document. The text of comments is not a value.
func FuzzSecrets(f *testing.F) {
	f.Add("0", "\f", ":")
	f.Add("A", "\n;", ": x")
	f.Add("A", "x y", "")
	f.Add("export B", `"a\"`, "# c")
	f.Fuzz(func(t *testing.T, name, before, after string) {
		text := name + "=" + before + "Tq7xZ" + after + "\n"
		if strings.Contains(name, "Tq7xZ") || strings.Count(text, "=") > 1 || strings.ContainsAny(name, "#;/") || strings.TrimSpace(name) == "" {
			t.Skip()
		}
		if clean, err := compose.DecodeText([]byte(text), ""); err != nil || commented.MatchString(clean) {
			t.Skip()
		}
		doc, err := extracttest.TryRead(t, "a.env", []byte(text), extract.Limits{})
		if err == nil && strings.Contains(extracttest.Outline(doc), "Tq7xZ") {
			t.Errorf("%q: %s", text, extracttest.Outline(doc))
		}
	})
}
