// Command sbom prints the software in a Parley binary as a CycloneDX 1.6 document: the Go modules
// recorded in the binary, and the npm packages bundled into the web page, which are the packages
// that the lock file does not mark as tools.
//
//	go run ./test/sbom parley web/package-lock.json > parley.cdx.json
//
// The same binary and lock file give the same bytes.
package main

import (
	"cmp"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: sbom BINARY PACKAGE-LOCK")
		os.Exit(2)
	}
	if err := run(os.Stdout, os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func run(out io.Writer, binary, lock string) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return fmt.Errorf("read %s: %w", binary, err)
	}
	raw, err := os.ReadFile(lock)
	if err != nil {
		return err
	}
	packages, err := bundled(raw)
	if err != nil {
		return fmt.Errorf("read %s: %w", lock, err)
	}
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	return e.Encode(newDocument(info, packages))
}

// document is a CycloneDX 1.6 BOM.
type document struct {
	Format       string       `json:"bomFormat"`
	Spec         string       `json:"specVersion"`
	Version      int          `json:"version"`
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version,omitempty"`
	URL        string     `json:"purl"`
	Hashes     []hash     `json:"hashes,omitempty"`
	Licenses   []licence  `json:"licenses,omitempty"`
	Properties []property `json:"properties,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"` // hexadecimal
}

type licence struct {
	Expression string `json:"expression"` // SPDX
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dependency struct {
	Ref  string   `json:"ref"`
	Uses []string `json:"dependsOn"`
}

func newDocument(info *debug.BuildInfo, packages []component) document {
	program := info.Main
	if program.Version == "(devel)" {
		program.Version = ""
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				program.Version = s.Value
			}
		}
	}
	d := document{Format: "CycloneDX", Spec: "1.6", Version: 1, Metadata: metadata{goModule("application", &program)}}
	d.Components = append(d.Components, goModule("library", &debug.Module{Path: "std", Version: strings.TrimPrefix(info.GoVersion, "go")}))
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		d.Components = append(d.Components, goModule("library", m))
	}
	d.Components = append(d.Components, packages...)
	slices.SortFunc(d.Components, func(a, b component) int { return cmp.Compare(a.URL, b.URL) })
	// npm may install a package in several places, but references must be unique.
	d.Components = slices.CompactFunc(d.Components, func(a, b component) bool { return a.Ref == b.Ref })
	all := dependency{Ref: d.Metadata.Component.Ref}
	for _, c := range d.Components {
		all.Uses = append(all.Uses, c.Ref)
	}
	d.Dependencies = []dependency{all}
	return d
}

func goModule(kind string, m *debug.Module) component {
	c := component{Type: kind, Name: m.Path, Version: m.Version, URL: "pkg:golang/" + m.Path}
	if m.Version != "" {
		c.URL += "@" + strings.ReplaceAll(m.Version, "+", "%2B")
	}
	if m.Sum != "" { // of the module's files and names, as in go.sum
		c.Properties = []property{{"go.sum", m.Sum}}
	}
	c.Ref = c.URL
	return c
}

// bundled returns the packages of an npm lock file that are not tools.
func bundled(lock []byte) ([]component, error) {
	var file struct {
		Packages map[string]struct {
			Version, Integrity, License string
			Dev                         bool
		}
	}
	if err := json.Unmarshal(lock, &file); err != nil {
		return nil, err
	}
	if len(file.Packages) == 0 {
		return nil, errors.New("it has no packages")
	}
	var all []component
	for path, p := range file.Packages {
		const folder = "node_modules/"
		at := strings.LastIndex(path, folder)
		if at < 0 || p.Dev {
			continue // the page itself, or a build tool
		}
		name := path[at+len(folder):]
		c := component{Type: "library", Name: name, Version: p.Version,
			URL: "pkg:npm/" + strings.ReplaceAll(name, "@", "%40") + "@" + p.Version}
		c.Ref = c.URL
		if p.License != "" {
			c.Licenses = []licence{{p.License}}
		}
		if sum, ok := strings.CutPrefix(p.Integrity, "sha512-"); ok {
			raw, err := base64.StdEncoding.DecodeString(sum)
			if err != nil {
				return nil, fmt.Errorf("the checksum of %s: %w", name, err)
			}
			c.Hashes = []hash{{"SHA-512", hex.EncodeToString(raw)}}
		}
		all = append(all, c)
	}
	return all, nil
}
