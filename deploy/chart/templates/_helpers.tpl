{{- define "mcpl.fullname" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "mcpl.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "mcpl.labels" -}}
{{ include "mcpl.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "mcpl.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default (include "mcpl.fullname" .) -}}
{{- else -}}
{{- .Values.serviceAccount.name | default "default" -}}
{{- end -}}
{{- end -}}

{{- /* The paths that clients use. Health and metrics are not among them. */ -}}
{{- define "mcpl.paths" -}}
["/mcp", "/api/mcp", "/.well-known/oauth-protected-resource"]
{{- end -}}

{{- /* What the schema cannot say. */ -}}
{{- define "mcpl.check" -}}
{{- $v := .Values -}}
{{- if not $v.image.repository -}}
{{- fail "image.repository is empty: build the image with deploy/Dockerfile, push it, and set its name" -}}
{{- end -}}
{{- if not $v.tokens.existingSecret -}}
{{- fail "tokens.existingSecret is empty: make a token with mcpl serve token add NAME, put the file into a Secret (kubectl create secret generic NAME --from-file=tokens.json=FILE), and set its name" -}}
{{- end -}}
{{- if and (or $v.autoscaling.enabled (gt (int $v.replicas) 1)) (not $v.sessionKeys.existingSecret) -}}
{{- fail "sessionKeys.existingSecret is empty: replicas need common keys (kubectl create secret generic NAME --from-literal=keys=$(openssl rand -base64 32)); or set replicas to 1 and autoscaling.enabled to false" -}}
{{- end -}}
{{- if and $v.redis.url $v.redis.existingSecret -}}
{{- fail "redis.url and redis.existingSecret are both set: keep one of them" -}}
{{- end -}}
{{- if and $v.existingConfigMap (or $v.servers $v.settings) -}}
{{- fail "existingConfigMap is set, so servers and settings would not count: empty them, or existingConfigMap" -}}
{{- end -}}
{{- range $name, $key := dict "MCPL_TOKENS_FILE" "tokens" "MCPL_SESSION_KEYS" "sessionKeys" "MCPL_REDIS_URL" "redis" -}}
{{- if hasKey $v.env $name -}}
{{- fail (printf "env has %s, which the chart sets: use %s" $name $key) -}}
{{- end -}}
{{- end -}}
{{- if lt (int $v.terminationGracePeriodSeconds) (add (int $v.preStopSeconds) 20) -}}
{{- fail (printf "terminationGracePeriodSeconds is too short: requests have 12 s to end after preStopSeconds, and servers some to stop; set at least %d" (add (int $v.preStopSeconds) 20)) -}}
{{- end -}}
{{- if and $v.autoscaling.enabled (gt (int $v.autoscaling.minReplicas) (int $v.autoscaling.maxReplicas)) -}}
{{- fail "autoscaling.minReplicas is more than autoscaling.maxReplicas" -}}
{{- end -}}
{{- if and $v.ingress.enabled (not $v.ingress.host) -}}
{{- fail "ingress.host is empty: set the name that clients use" -}}
{{- end -}}
{{- if and $v.httpRoute.enabled (not $v.httpRoute.parentRefs) -}}
{{- fail "httpRoute.parentRefs is empty: name the Gateway, as in [{name: public, namespace: gateways}]" -}}
{{- end -}}
{{- end -}}
