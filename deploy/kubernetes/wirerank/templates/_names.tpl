{{/* Names and labels. Names of streams and lanes may hold what Kubernetes does not allow. */}}

{{- define "wirerank.fullname" -}}
{{- $chart := default .Chart.Name .Values.nameOverride -}}
{{- $name := .Release.Name -}}
{{- if not (contains $chart $name) -}}{{- $name = printf "%s-%s" $name $chart -}}{{- end -}}
{{- default $name .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{/* A text as a part of a name: changed texts get a digest, so that different texts stay different. */}}
{{- define "wirerank.slug" -}}
{{- $slug := regexReplaceAll "[^a-z0-9]+" (lower .) "-" | trimAll "-" -}}
{{- if or (ne $slug .) (gt (len $slug) 30) -}}
{{- $slug = printf "%s-%s" ($slug | trunc 20 | trimSuffix "-") (sha256sum . | trunc 6) | trimPrefix "-" -}}
{{- end -}}
{{- $slug -}}
{{- end -}}

{{/* The name of an object: the words joined, at most 50 characters (a StatefulSet adds to them). */}}
{{- define "wirerank.name" -}}
{{- $name := join "-" . -}}
{{- if gt (len $name) 50 -}}
{{- $name = printf "%s-%s" ($name | trunc 42 | trimSuffix "-") (sha256sum $name | trunc 7) -}}
{{- end -}}
{{- $name -}}
{{- end -}}

{{- define "wirerank.selector" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "wirerank.labels" -}}
{{ include "wirerank.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: wirerank
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* The labels of a worker: it has `root` (the top-level scope), `name`, `component` and `stream`. */}}
{{- define "wirerank.workerSelector" -}}
{{ include "wirerank.selector" .root }}
app.kubernetes.io/component: {{ .component }}
wirerank/worker: {{ .name }}
{{- end -}}

{{- define "wirerank.workerLabels" -}}
{{ include "wirerank.labels" .root }}
app.kubernetes.io/component: {{ .component }}
wirerank/worker: {{ .name }}
wirerank/stream: {{ include "wirerank.slug" .stream }}
{{- end -}}

{{- define "wirerank.image" -}}
{{- $image := .Values.image -}}
{{- if $image.digest -}}
{{ $image.repository }}@{{ $image.digest }}
{{- else -}}
{{ $image.repository }}:{{ default .Chart.AppVersion $image.tag }}
{{- end -}}
{{- end -}}
