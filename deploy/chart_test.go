// Package deploy tests what stands beside it: the chart by Helm's own library, compose.yaml by that of Compose, and the
// Dockerfile by BuildKit's parser. It is a module of its own, so that these do not enter the product's go.mod.
package deploy

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"
)

// minimal are the values that have to be set.
const minimal = `
image: {repository: registry.example/mcpl, tag: "1"}
tokens: {existingSecret: my-tokens}
sessionKeys: {existingSecret: my-keys}
`

// objects are what a chart renders to, by the name of their Go type. Each is decoded strictly: a field that Kubernetes
// does not know is an error.
type objects map[string]any

// get returns the object of a type, nil if there is none.
func get[T any](o objects) *T {
	object, _ := o[reflect.TypeFor[T]().Name()].(*T)
	return object
}

// render renders the chart as helm install does, with values given as YAML.
func render(values ...string) (objects, error) {
	c, err := loader.Load("chart")
	if err != nil {
		return nil, err
	}
	merged := map[string]any{}
	for _, text := range values {
		given, err := chartutil.ReadValues([]byte(text))
		if err != nil {
			return nil, err
		}
		merged = chartutil.CoalesceTables(given, merged)
	}
	all, err := chartutil.ToRenderValues(c, merged, chartutil.ReleaseOptions{Name: "gw", Namespace: "tools", IsInstall: true}, nil)
	if err != nil {
		return nil, err
	}
	files, err := engine.Render(c, all)
	if err != nil {
		return nil, err
	}
	found := objects{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if text := files[name]; strings.HasSuffix(name, ".yaml") && strings.TrimSpace(text) != "" {
			if err := found.add(text); err != nil {
				return nil, fmt.Errorf("%s: %w\n%s", name, err, text)
			}
		}
	}
	return found, nil
}

// add decodes an object.
func (o objects) add(text string) error {
	var kind struct{ APIVersion, Kind string }
	if err := yaml.Unmarshal([]byte(text), &kind); err != nil {
		return err
	}
	known := map[string]any{
		"apps/v1 Deployment": new(appsv1.Deployment), "v1 Service": new(corev1.Service), "v1 ConfigMap": new(corev1.ConfigMap),
		"v1 ServiceAccount": new(corev1.ServiceAccount), "policy/v1 PodDisruptionBudget": new(policyv1.PodDisruptionBudget),
		"autoscaling/v2 HorizontalPodAutoscaler": new(autoscalingv2.HorizontalPodAutoscaler),
		"networking.k8s.io/v1 Ingress":           new(networkingv1.Ingress),
		"gateway.networking.k8s.io/v1 HTTPRoute": new(gatewayv1.HTTPRoute),
	}
	object := known[kind.APIVersion+" "+kind.Kind]
	if object == nil {
		return fmt.Errorf("unexpected %s %s", kind.APIVersion, kind.Kind)
	}
	name := reflect.TypeOf(object).Elem().Name()
	if o[name] != nil {
		return fmt.Errorf("a second %s", name)
	}
	o[name] = object
	return yaml.UnmarshalStrict([]byte(text), object)
}

func rendered(t *testing.T, values ...string) objects {
	t.Helper()
	o, err := render(values...)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// equal fails unless two values are the same as JSON.
func equal(t *testing.T, what string, got any, want string) {
	t.Helper()
	text, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	var a, b any
	if err := json.Unmarshal([]byte(want), &b); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &a); err != nil || !reflect.DeepEqual(a, b) {
		t.Errorf("%s is %s, not %s", what, text, want)
	}
}

// container returns the only container of a Deployment.
func (o objects) container(t *testing.T) (corev1.PodSpec, corev1.Container) {
	t.Helper()
	pod := get[appsv1.Deployment](o).Spec.Template.Spec
	if len(pod.Containers) != 1 || len(pod.InitContainers) != 0 {
		t.Fatalf("%d containers", len(pod.Containers))
	}
	return pod, pod.Containers[0]
}

// TestChartMinimal renders the chart with what has to be set.
func TestChartMinimal(t *testing.T) {
	t.Parallel()
	o := rendered(t, minimal)
	equal(t, "the set of objects", slices.Sorted(maps.Keys(o)),
		`["ConfigMap","Deployment","PodDisruptionBudget","Service","ServiceAccount"]`)
	pod, c := o.container(t)
	equal(t, "the pod's security", pod.SecurityContext, `{"runAsNonRoot":true,"runAsUser":65532,"runAsGroup":65532,
		"fsGroup":65532,"fsGroupChangePolicy":"OnRootMismatch","seccompProfile":{"type":"RuntimeDefault"}}`)
	equal(t, "the container's security", c.SecurityContext,
		`{"allowPrivilegeEscalation":false,"readOnlyRootFilesystem":true,"capabilities":{"drop":["ALL"]}}`)
	equal(t, "the image", c.Image, `"registry.example/mcpl:1"`)
	equal(t, "the arguments", c.Args, `["serve","--http=0.0.0.0:7332","--expose=search"]`)
	equal(t, "the environment", c.Env, `[{"name":"MCPL_TOKENS_FILE","value":"/var/run/mcpl/tokens/tokens.json"},
		{"name":"MCPL_SESSION_KEYS","valueFrom":{"secretKeyRef":{"name":"my-keys","key":"keys"}}}]`)
	equal(t, "the liveness probe", c.LivenessProbe.HTTPGet, `{"path":"/livez","port":"http"}`)
	equal(t, "the readiness probe", c.ReadinessProbe.HTTPGet, `{"path":"/readyz","port":"http"}`)
	equal(t, "the ports", c.Ports, `[{"name":"http","containerPort":7332}]`)
	equal(t, "the mounts", c.VolumeMounts, `[{"name":"config","mountPath":"/etc/mcpl","readOnly":true},
		{"name":"tokens","mountPath":"/var/run/mcpl/tokens","readOnly":true},
		{"name":"home","mountPath":"/home/mcpl"},{"name":"tmp","mountPath":"/tmp"}]`)
	equal(t, "the volumes", pod.Volumes, `[{"name":"config","configMap":{"name":"gw-mcpl"}},
		{"name":"tokens","secret":{"secretName":"my-tokens","defaultMode":288}},
		{"name":"home","emptyDir":{"sizeLimit":"1Gi"}},{"name":"tmp","emptyDir":{"sizeLimit":"256Mi"}}]`)
	if pod.AutomountServiceAccountToken == nil || *pod.AutomountServiceAccountToken ||
		*get[corev1.ServiceAccount](o).AutomountServiceAccountToken {
		t.Error("the pod gets a token of the cluster")
	}
	// The drain of 10 s and the 2 s after it (pkg/gateway/web) begin after the preStop hook.
	if rest := *pod.TerminationGracePeriodSeconds - c.Lifecycle.PreStop.Sleep.Seconds; rest <= 12 {
		t.Errorf("%d s to end", rest)
	}
	if len(c.Resources.Requests) == 0 || len(c.Resources.Limits) == 0 {
		t.Error("no resources")
	}
	deployment, service := get[appsv1.Deployment](o), get[corev1.Service](o)
	equal(t, "the replicas", deployment.Spec.Replicas, `2`)
	equal(t, "the Service", service.Spec, `{"type":"ClusterIP","selector":{"app.kubernetes.io/name":"mcpl","app.kubernetes.io/instance":"gw"},
		"ports":[{"name":"http","port":7332,"targetPort":"http","appProtocol":"http"}]}`)
	for _, selector := range []map[string]string{service.Spec.Selector, deployment.Spec.Selector.MatchLabels,
		get[policyv1.PodDisruptionBudget](o).Spec.Selector.MatchLabels} {
		for name, value := range selector {
			if len(selector) != 2 || deployment.Spec.Template.Labels[name] != value {
				t.Errorf("%v does not select %v", selector, deployment.Spec.Template.Labels)
			}
		}
	}
	equal(t, "the configuration", get[corev1.ConfigMap](o).Data, `{"mcp.json":"{\n  \"mcpServers\": {}\n}"}`)
}

// TestChartWhole renders everything that can be switched on.
func TestChartWhole(t *testing.T) {
	t.Parallel()
	o := rendered(t, minimal, `
expose: all
servers: {docs: {url: "https://docs.example/mcp", headers: {Authorization: "Bearer ${DOCS_TOKEN}"}, timeout: 30000}}
settings: |
  limit = 7
  call_timeout = "1m"
redis: {existingSecret: my-redis}
env: {OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318", OTEL_TRACES_SAMPLER_ARG: "0.5"}
envFrom: [{secretRef: {name: upstream}}]
extraArgs: ["--verbose"]
service: {type: LoadBalancer, port: 80, annotations: {a: b}}
ingress: {enabled: true, className: nginx, host: mcp.example, tlsSecret: cert, annotations: {buffering: "off"}}
httpRoute: {enabled: true, parentRefs: [{name: public, namespace: gateways}], hostnames: [mcp.example]}
autoscaling: {enabled: true, maxReplicas: 5}
imagePullSecrets: [{name: pull}]
podAnnotations: {x: "1"}
podLabels: {team: tools}
nodeSelector: {disk: ssd}
tolerations: [{key: spot, operator: Exists}]
affinity: {nodeAffinity: {}}
extraVolumes: [{name: ca, configMap: {name: ca}}]
extraVolumeMounts: [{name: ca, mountPath: /ca, readOnly: true}]
serviceAccount: {name: mine, annotations: {role: x}}
`)
	if len(o) != 8 {
		t.Errorf("the objects are %v", slices.Sorted(maps.Keys(o)))
	}
	deployment := get[appsv1.Deployment](o)
	pod, c := o.container(t)
	equal(t, "the arguments", c.Args, `["serve","--http=0.0.0.0:7332","--expose=all","--verbose"]`)
	equal(t, "the environment", c.Env[2:], `[
		{"name":"MCPL_REDIS_URL","valueFrom":{"secretKeyRef":{"name":"my-redis","key":"url"}}},
		{"name":"OTEL_EXPORTER_OTLP_ENDPOINT","value":"http://collector:4318"},{"name":"OTEL_TRACES_SAMPLER_ARG","value":"0.5"}]`)
	equal(t, "envFrom", c.EnvFrom, `[{"secretRef":{"name":"upstream"}}]`)
	equal(t, "the account", []string{pod.ServiceAccountName, get[corev1.ServiceAccount](o).Name}, `["mine","mine"]`)
	equal(t, "the last mount", c.VolumeMounts[4], `{"name":"ca","mountPath":"/ca","readOnly":true}`)
	equal(t, "the last volume", pod.Volumes[4], `{"name":"ca","configMap":{"name":"ca"}}`)
	equal(t, "labels and annotations", []string{deployment.Spec.Template.Labels["team"], deployment.Spec.Template.Annotations["x"]},
		`["tools","1"]`)
	equal(t, "what chooses nodes", []any{pod.NodeSelector, pod.Tolerations, pod.Affinity, pod.ImagePullSecrets},
		`[{"disk":"ssd"},[{"key":"spot","operator":"Exists"}],{"nodeAffinity":{}},[{"name":"pull"}]]`)
	if deployment.Spec.Replicas != nil {
		t.Error("the Deployment sets the replicas that the autoscaler sets")
	}
	equal(t, "the autoscaler", get[autoscalingv2.HorizontalPodAutoscaler](o).Spec, `{
		"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"gw-mcpl"},"minReplicas":2,"maxReplicas":5,
		"metrics":[{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":70}}}]}`)
	data := get[corev1.ConfigMap](o).Data
	var config any
	if err := json.Unmarshal([]byte(data["mcp.json"]), &config); err != nil {
		t.Fatal(err)
	}
	equal(t, "mcp.json", config, `{"mcpServers":{"docs":{"url":"https://docs.example/mcp","timeout":30000,
		"headers":{"Authorization":"Bearer ${DOCS_TOKEN}"}}}}`)
	equal(t, "config.toml", data["config.toml"], `"limit = 7\ncall_timeout = \"1m\"\n"`)

	// Both kinds of routes lead to the Service, and show clients nothing but what they use.
	ingress, route := get[networkingv1.Ingress](o).Spec, get[gatewayv1.HTTPRoute](o).Spec
	equal(t, "the Ingress", []any{ingress.IngressClassName, ingress.TLS, ingress.Rules[0].Host},
		`["nginx",[{"hosts":["mcp.example"],"secretName":"cert"}],"mcp.example"]`)
	var paths, routed []string
	for _, path := range ingress.Rules[0].HTTP.Paths {
		paths = append(paths, string(*path.PathType)+" "+path.Path)
		equal(t, "the backend", path.Backend, `{"service":{"name":"gw-mcpl","port":{"name":"http"}}}`)
	}
	for _, match := range route.Rules[0].Matches {
		routed = append(routed, string(*match.Path.Type)+" "+*match.Path.Value)
	}
	equal(t, "the paths", paths, `["Prefix /mcp","Prefix /api/mcp","Prefix /.well-known/oauth-protected-resource"]`)
	equal(t, "the routed paths", routed, `["PathPrefix /mcp","PathPrefix /api/mcp","PathPrefix /.well-known/oauth-protected-resource"]`)
	equal(t, "the route", []any{route.ParentRefs, route.Hostnames, route.Rules[0].BackendRefs, route.Rules[0].Timeouts},
		`[[{"name":"public","namespace":"gateways"}],["mcp.example"],[{"name":"gw-mcpl","port":80}],{"request":"0s"}]`)
}

// TestChartWithout leaves out what can be left out.
func TestChartWithout(t *testing.T) {
	t.Parallel()
	o := rendered(t, minimal, `
replicas: 1
sessionKeys: {existingSecret: ""}
existingConfigMap: mine
podDisruptionBudget: {enabled: false}
serviceAccount: {create: false}
redis: {url: "redis://redis:6379/0"}
`)
	equal(t, "the set of objects", slices.Sorted(maps.Keys(o)), `["Deployment","Service"]`)
	pod, c := o.container(t)
	equal(t, "the environment", c.Env[1:], `[{"name":"MCPL_REDIS_URL","value":"redis://redis:6379/0"}]`)
	equal(t, "the configuration", pod.Volumes[0], `{"name":"config","configMap":{"name":"mine"}}`)
	equal(t, "the account", pod.ServiceAccountName, `"default"`)
}

// TestChartRefuses answers values that are wrong with what to do, or with the value and what it has to be.
func TestChartRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ values, want string }{
		{`{}`, ""}, // the others are wrong by themselves
		{`image: {repository: ""}`, "image.repository is empty: build the image with deploy/Dockerfile"},
		{`tokens: {existingSecret: ""}`, "kubectl create secret generic NAME --from-file=tokens.json=FILE"},
		{`sessionKeys: {existingSecret: ""}`, "replicas need common keys"},
		{"sessionKeys: {existingSecret: ''}\nreplicas: 1\nautoscaling: {enabled: true}", "replicas need common keys"},
		{`redis: {url: "redis://a", existingSecret: b}`, "keep one of them"},
		{"existingConfigMap: a\nsettings: 'limit = 1'", "servers and settings would not count"},
		{`terminationGracePeriodSeconds: 24`, "set at least 25"},
		{`preStopSeconds: 30`, "set at least 50"},
		{`autoscaling: {enabled: true, minReplicas: 11}`, "minReplicas is more than"},
		{`ingress: {enabled: true}`, "ingress.host is empty"},
		{`httpRoute: {enabled: true}`, "httpRoute.parentRefs is empty"},
		{`replica: 3`, "additional properties 'replica' not allowed"},
		{`replicas: two`, "at '/replicas': got string, want integer"},
		{`replicas: 0`, "at '/replicas': minimum: got 0, want 1"},
		{`image: {repo: x}`, "at '/image': additional properties 'repo' not allowed"},
		{`expose: everything`, "at '/expose': value must be one of 'search', 'activate', 'all'"},
		{`env: {A: 1}`, "at '/env/A': got number, want string"},
		{`env: {MCPL_REDIS_URL: "redis://x"}`, "env has MCPL_REDIS_URL, which the chart sets: use redis"},
		{`redis: {url: "localhost:6379"}`, "at '/redis/url'"},
		{`extraArgs: ["--no-auth"]`, "at '/extraArgs/0'"},
		{`servers: [a]`, "at '/servers': got array, want object"},
		{`storage: {home: lots}`, "at '/storage/home'"},
		{`service: {port: 70000}`, "at '/service/port': maximum: got 70,000, want 65,535"},
	} {
		_, err := render(minimal, tt.values)
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s: %v", tt.values, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: %v, not %s", tt.values, err, tt.want)
		}
	}
}
