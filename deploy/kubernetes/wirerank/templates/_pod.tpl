{{/* What the pods of all workers have in common. They get `root`, and a worker as in _config.tpl. */}}

{{/* The metadata of a pod. It has the digest of the configuration, so that the pod is replaced when
     that changes. It has no version of the chart: a new chart alone replaces no pod. */}}
{{- define "wirerank.podMetadata" -}}
labels:
  {{- include "wirerank.workerSelector" . | nindent 2 }}
  app.kubernetes.io/part-of: wirerank
  wirerank/stream: {{ include "wirerank.slug" .stream }}
annotations:
  wirerank/config: {{ .root.Values.config | sha256sum }}
  {{- with .settings.podAnnotations }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{- define "wirerank.podSpec" -}}
serviceAccountName: {{ include "wirerank.fullname" .root }}
automountServiceAccountToken: false
enableServiceLinks: false
terminationGracePeriodSeconds: {{ .settings.terminationGracePeriodSeconds }}
securityContext:
  {{- toYaml .root.Values.podSecurityContext | nindent 2 }}
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- with .settings.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .settings.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .settings.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .settings.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "wirerank.workerSelector" . | nindent 8 }}
{{- end -}}

{{- define "wirerank.container" -}}
image: {{ include "wirerank.image" .root | quote }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
command: [wirerank]
securityContext:
  allowPrivilegeEscalation: false
  privileged: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
resources:
  {{- toYaml .settings.resources | nindent 2 }}
# The last lines of the log are in the status of a pod that failed. Exit code 3 needs an operator.
terminationMessagePolicy: FallbackToLogsOnError
{{- end -}}

{{/* How metrics are served: over TLS, if the configuration names a certificate. */}}
{{- define "wirerank.scheme" -}}
{{- dig "metrics" "tls_certfile" "" (include "wirerank.config" . | fromJson) | empty | ternary "http" "https" -}}
{{- end -}}

{{/* The container of a tokenizer or a learner, without its own variables and mounts. */}}
{{- define "wirerank.workerContainer" -}}
{{- $values := .root.Values -}}
{{- $scheme := include "wirerank.scheme" .root | upper -}}
{{ include "wirerank.container" . }}
args:
  {{- range .args }}
  - {{ . | quote }}
  {{- end }}
  - --log-level={{ $values.log.level }}
  - --log-format={{ $values.log.format }}
ports:
  - {name: metrics, containerPort: {{ $values.metrics.port }}}
# A worker that is not ready yet compiles, restores or waits for the broker. It is not killed for it.
startupProbe:
  httpGet: {path: /readyz, port: metrics, scheme: {{ $scheme }}}
  periodSeconds: 5
  timeoutSeconds: 5
  failureThreshold: {{ div .startupSeconds 5 }}
readinessProbe:
  httpGet: {path: /readyz, port: metrics, scheme: {{ $scheme }}}
  periodSeconds: 10
  timeoutSeconds: 5
# /healthz fails after two minutes in which the loop has not turned.
livenessProbe:
  httpGet: {path: /healthz, port: metrics, scheme: {{ $scheme }}}
  periodSeconds: 30
  timeoutSeconds: 10
  failureThreshold: 4
{{- end -}}

{{/* The secrets of workers as a JSON list: the Secret, its key, the file, and the setting. Workers
     read files again, so that a new password needs no restart. */}}
{{- define "wirerank.secrets" -}}
{{- $secrets := list -}}
{{- $known := dict "kafka" (list .Values.kafka.passwordSecret "WIRERANK__KAFKA__SASL_PASSWORD_FILE")
      "registry" (list .Values.registry.passwordSecret "WIRERANK__REGISTRY__PASSWORD_FILE")
      "metrics" (list .Values.metrics.tokenSecret "WIRERANK__METRICS__TOKEN_FILE") -}}
{{- range $file, $given := $known -}}
{{- if (first $given).name -}}
{{- $secrets = append $secrets (dict "name" (first $given).name "key" (first $given).key "file" $file "variable" (last $given)) -}}
{{- end -}}
{{- end -}}
{{- dict "secrets" $secrets | toJson -}}
{{- end -}}

{{- define "wirerank.workerEnv" -}}
{{- $values := .root.Values -}}
- {name: HOME, value: /tmp}
- {name: WIRERANK__METRICS__HOST, value: {{ $values.metrics.host | quote }}}
- {name: WIRERANK__METRICS__PORT, value: {{ $values.metrics.port | quote }}}
- {name: WIRERANK__METRICS__SAME_PORT, value: "true"}
# Kubernetes finds pods by itself, without files.
- {name: WIRERANK__METRICS__TARGETS_FOLDER, value: ""}
{{- if not $values.metrics.tokenSecret.name }}
# The chart has made sure that a NetworkPolicy, or the word of the operator, protects the port.
- {name: WIRERANK__METRICS__ALLOW_WITHOUT_TOKEN, value: "true"}
{{- end }}
{{- range (include "wirerank.secrets" .root | fromJson).secrets }}
- {name: {{ .variable }}, value: /etc/wirerank-secrets/{{ .file }}}
{{- end }}
{{- if $values.kafka.tlsSecret }}
- {name: WIRERANK__KAFKA__SSL_CAFILE, value: /etc/wirerank-tls/ca.crt}
{{- if $values.kafka.clientCertificate }}
- {name: WIRERANK__KAFKA__SSL_CERTFILE, value: /etc/wirerank-tls/tls.crt}
- {name: WIRERANK__KAFKA__SSL_KEYFILE, value: /etc/wirerank-tls/tls.key}
{{- end }}
{{- end }}
{{- with $values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "wirerank.workerMounts" -}}
- {name: wirerank-config, mountPath: /etc/wirerank, readOnly: true}
- {name: wirerank-tmp, mountPath: /tmp}
{{- if (include "wirerank.secrets" .root | fromJson).secrets }}
- {name: wirerank-secrets, mountPath: /etc/wirerank-secrets, readOnly: true}
{{- end }}
{{- if .root.Values.kafka.tlsSecret }}
- {name: wirerank-tls, mountPath: /etc/wirerank-tls, readOnly: true}
{{- end }}
{{- with .root.Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Volumes have a prefix that those of extraVolumes are not likely to have. */}}
{{- define "wirerank.workerVolumes" -}}
- name: wirerank-config
  configMap: {name: {{ include "wirerank.fullname" .root }}}
- name: wirerank-tmp
  emptyDir: {sizeLimit: 1Gi}
{{- with (include "wirerank.secrets" .root | fromJson).secrets }}
- name: wirerank-secrets
  projected:
    defaultMode: 0440
    sources:
      {{- range . }}
      - secret: {name: {{ .name }}, items: [{key: {{ .key }}, path: {{ .file }}}]}
      {{- end }}
{{- end }}
{{- with .root.Values.kafka.tlsSecret }}
- name: wirerank-tls
  secret: {secretName: {{ . }}, defaultMode: 0440}
{{- end }}
{{- with .root.Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}
