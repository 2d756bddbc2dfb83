package internal_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// TestInterfaces_HaveOnlyMethodsThatTheirPackageCalls holds that a consumer asks for no more than it uses:
// each method of an interface is called somewhere in the package that declares the interface. It compares
// names only, so that it misses a method that is called like another one that the package does call.
func TestInterfaces_HaveOnlyMethodsThatTheirPackageCalls(t *testing.T) {
	packages := map[string]*declared{}
	err := fs.WalkDir(os.DirFS("."), ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") || strings.Contains(file, "testdata/") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), filepath.FromSlash(file), nil, 0)
		if err != nil {
			return err
		}
		dir := path.Dir(file)
		if packages[dir] == nil {
			packages[dir] = &declared{methods: map[string][]string{}, selected: map[string]bool{}}
		}
		packages[dir].read(f)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for dir, p := range packages {
		for name, methods := range p.methods {
			for _, m := range methods {
				if !p.selected[m] && forOthers[dir+"."+name] == "" {
					t.Errorf("internal/%s: nothing in the package calls %s.%s: leave it out of the interface", dir, name, m)
				}
			}
		}
	}
}

// forOthers are interfaces that several packages share, each with the reason.
var forOthers = map[string]string{
	"transcript.Store": "azurechat and chatui consume it",
	"chat.Runner":      "the adapters consume it",
	"chat.Event":       "its method only seals it",
	"llm.Lister":       "commands consume it; providers implement it",
	"llm.Transcriber":  "commands consume it; providers implement it",
}

// declared holds the declarations and calls of a package.
type declared struct {
	methods  map[string][]string // of interfaces, by their names
	selected map[string]bool     // names that stand behind a dot
}

func (d *declared) read(f *ast.File) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			d.selected[n.Sel.Name] = true
		case *ast.TypeSpec:
			if it, ok := n.Type.(*ast.InterfaceType); ok {
				for _, m := range it.Methods.List {
					for _, name := range m.Names {
						d.methods[n.Name.Name] = append(d.methods[n.Name.Name], name.Name)
					}
				}
			}
		}
		return true
	})
}
