// Package check tests the recipes in the folder deploy: the chart is linted and rendered as Helm does it
// and decoded into the types of Kubernetes, the compose file is loaded as Docker does it, the Dockerfile
// is parsed, and systemd looks at the unit. It is a module of its own, so that the program does not
// depend on theirs.
package check

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

const chartDir = "../helm/parley"

// renderTexts returns the manifests of the chart by the name of their template.
func renderTexts(t *testing.T, values map[string]any) (map[string]string, error) {
	t.Helper()
	chart, err := loader.Load(chartDir)
	if err != nil {
		t.Fatal(err)
	}
	all, err := chartutil.ToRenderValues(chart, values, chartutil.ReleaseOptions{Name: "chat", Namespace: "default"}, chartutil.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	files, err := engine.Render(chart, all)
	if err != nil {
		return nil, err
	}
	for name, text := range files {
		if strings.TrimSpace(text) == "" || strings.HasSuffix(name, ".tpl") {
			delete(files, name)
		}
	}
	return files, nil
}

// render returns the manifests of the chart by kind. It fails for fields that Kubernetes does not have.
func render(t *testing.T, values map[string]any) (map[string]any, error) {
	t.Helper()
	files, err := renderTexts(t, values)
	if err != nil {
		return nil, err
	}
	objects := map[string]any{}
	for name, text := range files {
		var kind meta.TypeMeta
		if err := yaml.Unmarshal([]byte(text), &kind); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, text)
		}
		object, known := map[string]any{
			"apps/v1 StatefulSet": &apps.StatefulSet{}, "apps/v1 Deployment": &apps.Deployment{}, "v1 Service": &core.Service{},
			"networking.k8s.io/v1 Ingress": &networking.Ingress{}, "policy/v1 PodDisruptionBudget": &policy.PodDisruptionBudget{},
			"autoscaling/v2 HorizontalPodAutoscaler": &autoscaling.HorizontalPodAutoscaler{},
		}[kind.APIVersion+" "+kind.Kind]
		if !known {
			t.Fatalf("%s: unknown kind %+v", name, kind)
		}
		if err := yaml.UnmarshalStrict([]byte(text), object); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, text)
		}
		objects[kind.Kind] = object
	}
	return objects, nil
}

func TestChart_NamesTheRelease(t *testing.T) {
	chart, err := loader.Load(chartDir)
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("../../cmd/parley/version.go")
	if err != nil {
		t.Fatal(err)
	}
	release := regexp.MustCompile(`const release = "(.*)"`).FindSubmatch(source)[1]
	if chart.AppVersion() != string(release) {
		t.Errorf("the chart is for %s, and the program is %s", chart.AppVersion(), release)
	}
}

func TestChart_PassesTheLinter(t *testing.T) {
	result := lint.All(chartDir, map[string]any{"anonymous": "false"}, "default", false)
	for _, m := range result.Messages {
		if m.Severity > support.InfoSev {
			t.Error(m)
		}
	}
}

func TestChart_RunsOneShutInServer(t *testing.T) {
	objects, err := render(t, map[string]any{"anonymous": "true", "secret": "keys", "settings": map[string]any{"PARLEY_MODEL": "openai:x"}})
	if err != nil {
		t.Fatal(err)
	}
	set := objects["StatefulSet"].(*apps.StatefulSet)
	if *set.Spec.Replicas != 1 {
		t.Errorf("%d replicas", *set.Spec.Replicas)
	}
	pod := set.Spec.Template.Spec
	c := pod.Containers[0]
	if s := c.SecurityContext; !*s.ReadOnlyRootFilesystem || *s.AllowPrivilegeEscalation || !slices.Equal(s.Capabilities.Drop, []core.Capability{"ALL"}) ||
		!*pod.SecurityContext.RunAsNonRoot || *pod.AutomountServiceAccountToken {
		t.Errorf("%+v, %+v", s, pod.SecurityContext)
	}
	for name, probe := range map[string]*core.Probe{"/healthz": c.LivenessProbe, "/readyz": c.ReadinessProbe} {
		if probe.HTTPGet.Path != name || probe.HTTPGet.Port.StrVal != c.Ports[0].Name {
			t.Errorf("%+v", probe)
		}
	}
	if c.StartupProbe.HTTPGet.Path != "/healthz" {
		t.Errorf("%+v", c.StartupProbe)
	}
	env := map[string]string{}
	for _, e := range c.Env {
		env[e.Name] = e.Value
	}
	drain, err := strconv.Atoi(strings.TrimSuffix(env["PARLEY_DRAIN"], "s"))
	if err != nil || int64(drain) >= *pod.TerminationGracePeriodSeconds {
		t.Errorf("it drains for %s, and is killed after %d s", env["PARLEY_DRAIN"], *pod.TerminationGracePeriodSeconds)
	}
	if env["PARLEY_MODEL"] != "openai:x" || c.EnvFrom[0].SecretRef.Name != "keys" {
		t.Errorf("%v", c.Env)
	}
	mounted := false
	for _, m := range c.VolumeMounts {
		mounted = mounted || strings.HasPrefix(env["PARLEY_DATA"], m.MountPath+"/")
	}
	if !mounted || set.Spec.VolumeClaimTemplates[0].Name != "data" {
		t.Errorf("%s is in no volume: %+v", env["PARLEY_DATA"], c.VolumeMounts)
	}
	budget := objects["PodDisruptionBudget"].(*policy.PodDisruptionBudget)
	service := objects["Service"].(*core.Service)
	for name, value := range service.Spec.Selector {
		if set.Spec.Template.Labels[name] != value || budget.Spec.Selector.MatchLabels[name] != value {
			t.Errorf("the label %s", name)
		}
	}
	if service.Spec.Ports[0].TargetPort.StrVal != c.Ports[0].Name {
		t.Errorf("%+v", service.Spec.Ports)
	}
}

func TestChart_RendersWithAllValues(t *testing.T) {
	objects, err := render(t, map[string]any{
		"anonymous": "false", "podAnnotations": map[string]any{"a": "b"}, "imagePullSecrets": []any{map[string]any{"name": "x"}},
		"storage":             map[string]any{"existingClaim": "claim"},
		"podDisruptionBudget": map[string]any{"enabled": false},
		"documents": map[string]any{"paths": []any{"/docs"}, "volumes": []any{map[string]any{"name": "docs", "emptyDir": map[string]any{}}},
			"mounts": []any{map[string]any{"name": "docs", "mountPath": "/docs", "readOnly": true}}},
		"ingress":      map[string]any{"enabled": true, "host": "chat.example.com", "tlsSecret": "tls", "className": "nginx"},
		"nodeSelector": map[string]any{"a": "b"}, "tolerations": []any{map[string]any{"key": "a"}},
		"affinity": map[string]any{"nodeAffinity": map[string]any{}},
	})
	if err != nil {
		t.Fatal(err)
	}
	set := objects["StatefulSet"].(*apps.StatefulSet)
	if len(set.Spec.VolumeClaimTemplates) != 0 || len(set.Spec.Template.Spec.Volumes) != 3 || set.Spec.Template.Spec.Containers[0].Args[1] != "/docs" {
		t.Errorf("%+v", set.Spec)
	}
	if in := objects["Ingress"].(*networking.Ingress); in.Spec.Rules[0].Host != "chat.example.com" || in.Annotations["nginx.ingress.kubernetes.io/proxy-buffering"] != "off" {
		t.Errorf("%+v", in)
	}
	if objects["PodDisruptionBudget"] != nil {
		t.Error("there is a budget")
	}
}

func TestChart_RefusesWhatCannotWork(t *testing.T) {
	for want, values := range map[string]map[string]any{
		"replicaCount: more than one server needs a PostgreSQL database":        {"anonymous": "true", "replicaCount": 2},
		"autoscaling.enabled: more than one server needs a PostgreSQL database": {"anonymous": "true", "autoscaling": map[string]any{"enabled": true}},
		"set cpu or streams": {"anonymous": "true", "database": map[string]any{"secret": "db"}, "autoscaling": map[string]any{"enabled": true, "cpu": 0}},
		"not both":           {"anonymous": "true", "database": map[string]any{"secret": "db", "url": "postgres://db/parley"}},
		"set database.url or database.secret instead": {"anonymous": "true", "settings": map[string]any{"PARLEY_DATABASE": "postgres://db/parley"}},
		"there is no volume":                          {"anonymous": "true", "database": map[string]any{"secret": "db"}, "storage": map[string]any{"existingClaim": "claim"}},
		"configure sign-in":                           {},
		"name the host":                               {"anonymous": "true", "ingress": map[string]any{"enabled": true}},
	} {
		if _, err := render(t, values); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// compose loads a compose file as Docker does.
func compose(t *testing.T, file string, env ...string) *types.Project {
	t.Helper()
	options, err := cli.NewProjectOptions([]string{filepath.Join("..", file)}, cli.WithName("parley"), cli.WithEnv(env))
	if err != nil {
		t.Fatal(err)
	}
	project, err := options.LoadProject(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return project
}

// shutIn fails the test if a server has more rights than it needs.
func shutIn(t *testing.T, s types.ServiceConfig) {
	t.Helper()
	if !s.ReadOnly || s.User != "65532:65532" || !slices.Equal(s.CapDrop, []string{"ALL"}) || s.Deploy != nil {
		t.Errorf("%+v", s)
	}
	if _, err := os.Stat(filepath.Join(s.Build.Context, s.Build.Dockerfile)); err != nil {
		t.Error(err)
	}
}

func TestCompose_RunsOneShutInServer(t *testing.T) {
	s := compose(t, "compose.yaml").Services["parley"]
	shutIn(t, s)
	if s.Ports[0].HostIP != "127.0.0.1" {
		t.Errorf("%+v", s.Ports)
	}
}

func TestDockerfile_MakesASmallImageThatIsNotRoot(t *testing.T) {
	raw, err := os.ReadFile("../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := parser.Parse(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	stages, _, err := instructions.Parse(parsed.AST, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range parsed.Warnings {
		t.Error(w)
	}
	last := stages[len(stages)-1]
	if !strings.Contains(last.BaseName, "distroless/static") {
		t.Errorf("it is based on %s", last.BaseName)
	}
	user := ""
	for _, c := range last.Commands {
		switch c := c.(type) {
		case *instructions.UserCommand:
			user = c.User
		case *instructions.RunCommand:
			t.Error("the last stage runs a program, and has none")
		}
	}
	if user != "65532:65532" {
		t.Errorf("it runs as %q", user)
	}
	module, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`(?m)^go (\S+)$`).FindSubmatch(module)[1]
	if !strings.Contains(stages[0].BaseName, "golang:"+string(version)) {
		t.Errorf("it is built with %s, and go.mod says %s", stages[0].BaseName, version)
	}
}

// The unit is valid and leaves the program few rights. The exposure of 2.0, of 10, counts the network, which a
// server needs.
func TestUnit_IsShutIn(t *testing.T) {
	program, err := exec.LookPath("systemd-analyze")
	if err != nil {
		if os.Getenv("PARLEY_TEST_ALL") == "1" {
			t.Fatal("needs systemd-analyze: apt-get install systemd")
		}
		t.Skip("needs systemd-analyze")
	}
	raw, err := os.ReadFile("../systemd/parley.service")
	if err != nil {
		t.Fatal(err)
	}
	unit := filepath.Join(t.TempDir(), "parley.service")
	here := bytes.ReplaceAll(raw, []byte("ExecStart=/usr/local/bin/parley"), []byte("ExecStart=/bin/true"))
	if err := os.WriteFile(unit, here, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"verify", unit}, {"security", "--offline=yes", "--threshold=20", unit}} {
		cmd := exec.Command(program, args...)
		var said bytes.Buffer
		cmd.Stderr, cmd.Stdout = &said, io.Discard
		if err := cmd.Run(); err != nil || strings.Contains(said.String(), "parley.service:") {
			t.Errorf("systemd-analyze %s: %v: %s", args[0], err, said.String())
		}
	}
}
