package check

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	policy "k8s.io/api/policy/v1"
)

// With a database, the chart runs replicas without a volume, which are updated one after the other: each goes on
// serving until a new one is ready and proxies have heard that it stops.
func TestChart_RunsReplicasOnADatabase(t *testing.T) {
	objects, err := render(t, map[string]any{"anonymous": "true", "replicaCount": 3, "database": map[string]any{"secret": "db"}})
	if err != nil {
		t.Fatal(err)
	}
	if objects["StatefulSet"] != nil || objects["HorizontalPodAutoscaler"] != nil {
		t.Errorf("%v", objects)
	}
	d := objects["Deployment"].(*apps.Deployment)
	if *d.Spec.Replicas != 3 || d.Spec.Strategy.RollingUpdate.MaxUnavailable.IntVal != 0 || d.Spec.Strategy.RollingUpdate.MaxSurge.IntVal != 1 {
		t.Errorf("%+v", d.Spec)
	}
	pod := d.Spec.Template.Spec
	for _, v := range pod.Volumes {
		if v.EmptyDir == nil {
			t.Errorf("the volume %s outlives its pod: %+v", v.Name, v)
		}
	}
	c := pod.Containers[0]
	database := ""
	for _, e := range c.Env {
		if e.Name == "PARLEY_DATABASE" {
			database = e.ValueFrom.SecretKeyRef.Name + " " + e.ValueFrom.SecretKeyRef.Key
		}
	}
	if database != "db uri" {
		t.Errorf("the database is that of %q", database)
	}
	const drain = 30 // drainSeconds
	if before := c.Lifecycle.PreStop.Sleep.Seconds; before < 2 || *pod.TerminationGracePeriodSeconds <= drain+before {
		t.Errorf("it sleeps for %d s, drains for %d s and is killed after %d s", before, drain, *pod.TerminationGracePeriodSeconds)
	}
	labels := d.Spec.Template.Labels
	selectors := []map[string]string{d.Spec.Selector.MatchLabels, objects["PodDisruptionBudget"].(*policy.PodDisruptionBudget).Spec.Selector.MatchLabels,
		pod.TopologySpreadConstraints[0].LabelSelector.MatchLabels}
	for _, selector := range selectors {
		for name, value := range selector {
			if labels[name] != value {
				t.Errorf("%v does not select %v", selector, labels)
			}
		}
	}
}

func TestChart_ScalesReplicasByLoad(t *testing.T) {
	objects, err := render(t, map[string]any{"anonymous": "true", "database": map[string]any{"url": "postgres://db/parley"},
		"autoscaling": map[string]any{"enabled": true, "maxReplicas": 9, "streams": 100}})
	if err != nil {
		t.Fatal(err)
	}
	d := objects["Deployment"].(*apps.Deployment)
	scaler := objects["HorizontalPodAutoscaler"].(*autoscaling.HorizontalPodAutoscaler).Spec
	if d.Spec.Replicas != nil || scaler.ScaleTargetRef.Name != d.Name || *scaler.MinReplicas != 2 || scaler.MaxReplicas != 9 {
		t.Errorf("%v, %+v", d.Spec.Replicas, scaler)
	}
	if *scaler.Metrics[0].Resource.Target.AverageUtilization != 80 || scaler.Metrics[1].Pods.Target.AverageValue.Value() != 100 {
		t.Errorf("%+v", scaler.Metrics)
	}
	source, err := os.ReadFile("../../internal/server/metrics.go")
	if name := scaler.Metrics[1].Pods.Metric.Name; err != nil || !bytes.Contains(source, []byte(`"`+name+`"`)) {
		t.Errorf("%v: the server has no metric %s", err, name)
	}
}

// The servers of the compose file share a database and no volume, and the proxy knows them all.
func TestCompose_RunsReplicasOnADatabase(t *testing.T) {
	project := compose(t, "compose.replicas.yaml", "POSTGRES_PASSWORD=p@ss/word")
	config := project.Configs["proxy"].Content
	proxied := regexp.MustCompile(`(?m)^ +server \S+ (\S+):8000$`).FindAllStringSubmatch(config, -1)
	var servers []string
	for _, p := range proxied {
		servers = append(servers, p[1])
	}
	for name, s := range project.Services {
		if len(s.Ports) > 0 && (name != "proxy" || s.Ports[0].HostIP != "127.0.0.1") {
			t.Errorf("%s publishes %+v", name, s.Ports)
		}
		if !strings.HasPrefix(name, "parley-") {
			continue
		}
		shutIn(t, s)
		if !slices.Contains(servers, name) {
			t.Errorf("the proxy knows %v, and not %s", servers, name)
		}
		if *s.Environment["PGPASSWORD"] != *project.Services["postgres"].Environment["POSTGRES_PASSWORD"] {
			t.Error("the servers have another password than the database")
		}
		for _, v := range s.Volumes {
			if v.Type == "volume" || !v.ReadOnly {
				t.Errorf("%s has the volume %+v", name, v)
			}
		}
		if time.Duration(*s.StopGracePeriod) <= 30*time.Second {
			t.Errorf("%s is killed after %v, before it has drained", name, s.StopGracePeriod)
		}
	}
	if len(servers) != 2 {
		t.Errorf("the proxy knows %v", servers)
	}
	program, err := exec.LookPath("haproxy")
	if err != nil {
		if os.Getenv("PARLEY_TEST_ALL") == "1" {
			t.Fatal("needs haproxy: apt-get install haproxy")
		}
		t.Skip("needs haproxy")
	}
	file := filepath.Join(t.TempDir(), "haproxy.cfg")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(program, "-c", "-V", "-f", file).CombinedOutput(); err != nil || bytes.Contains(out, []byte("WARNING")) {
		t.Errorf("%v: %s", err, out)
	}
}
