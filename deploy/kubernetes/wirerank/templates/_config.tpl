{{/* What the configuration says: streams, lanes, shards, partitions. It is read from the TOML file. */}}

{{/* The configuration as JSON; refuses what cannot be used, or must not be in a ConfigMap. */}}
{{- define "wirerank.config" -}}
{{- if not (trim .Values.config) -}}
{{- fail "config is empty: give the configuration of the workers, as --set-file config=wirerank.toml" -}}
{{- end -}}
{{- $config := fromToml .Values.config -}}
{{- if hasKey $config "Error" -}}
{{- fail (printf "config is not valid TOML: %s" $config.Error) -}}
{{- end -}}
{{- if not $config.streams -}}
{{- fail "config has no stream: write [[streams]], as `wirerank config --example` shows" -}}
{{- end -}}
{{- range $section, $settings := $config -}}
{{- if kindIs "map" $settings -}}
{{- range $name, $value := $settings -}}
{{- if and (kindIs "string" $value) $value -}}
{{- if regexMatch "(password|token|secret)$" $name -}}
{{- fail (printf "config has [%s] %s: everybody who can read ConfigMaps could read it. Remove it, put it into a Secret, and name that (kafka.passwordSecret, registry.passwordSecret, extraEnv)" $section $name) -}}
{{- end -}}
{{- if regexMatch "://[^/]*@" $value -}}
{{- fail (printf "config has [%s] %s with a user or a password in the address: write user, and put the password into a Secret (registry.passwordSecret)" $section $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if not (or .Values.metrics.tokenSecret.name .Values.networkPolicy.enabled .Values.metrics.allowWithoutToken) -}}
{{- fail "everybody in the cluster could read the metrics: set metrics.tokenSecret, or networkPolicy.enabled, or metrics.allowWithoutToken if policies of your own protect them" -}}
{{- end -}}
{{- range .Values.extraEnv -}}
{{- if hasPrefix "WIRERANK__STREAMS__" .name -}}
{{- fail (printf "extraEnv sets %s: streams and shards belong in config, since the workloads follow from it" .name) -}}
{{- end -}}
{{- end -}}
{{- toJson $config -}}
{{- end -}}

{{/* The name of a lane: its spec as written, unless the spec has name=... */}}
{{- define "wirerank.laneName" -}}
{{- $spec := trim .spec -}}
{{- $name := $spec -}}
{{- $options := "" -}}
{{- if contains ":" $spec -}}{{- $options = (splitn ":" 2 $spec)._1 -}}{{- end -}}
{{- range splitList "," $options -}}
{{- $pair := splitn "=" 2 . -}}
{{- if eq (trim $pair._0) "name" -}}{{- $name = trim $pair._1 -}}{{- end -}}
{{- end -}}
{{- $name -}}
{{- end -}}

{{/* The workers as a JSON list: name, component, stream, number of replicas, and what is run. */}}
{{- define "wirerank.workers" -}}
{{- $root := . -}}
{{- $config := include "wirerank.config" . | fromJson -}}
{{- $full := include "wirerank.fullname" . -}}
{{- $workers := list -}}
{{- range $stream := $config.streams -}}
{{- if not $stream.name -}}{{- fail "config has a stream without a name" -}}{{- end -}}
{{- if not $stream.lanes -}}{{- fail (printf "config: stream %s has no lane" $stream.name) -}}{{- end -}}
{{- $slug := include "wirerank.slug" $stream.name -}}
{{- $most := int (default (default 4 $stream.partitions) $root.Values.tokenizer.maxReplicas) -}}
{{- $scaled := ne $root.Values.tokenizer.autoscaling.provider "none" -}}
{{- $replicas := int (ternary $root.Values.tokenizer.autoscaling.minReplicas $root.Values.tokenizer.replicas $scaled) -}}
{{- if gt $replicas $most -}}
{{- fail (printf "stream %s: %d tokenizers, but %d partitions: further ones would have nothing to do. If its Kafka topic has more partitions, set tokenizer.maxReplicas" $stream.name $replicas $most) -}}
{{- end -}}
{{- $workers = append $workers (dict "component" "tokenizer" "stream" $stream.name "replicas" $replicas "most" $most
      "name" (include "wirerank.name" (list $full $slug "tokenizer"))
      "args" (list "tokenize" "/etc/wirerank/wirerank.toml" "--stream" $stream.name)) -}}
{{- $whole := false -}}
{{- range $lane := $stream.lanes -}}
{{- $shards := int (default 1 $lane.shards) -}}
{{- if eq $shards 1 -}}
{{- $whole = true -}}
{{- else -}}
{{- $lane_name := include "wirerank.laneName" $lane -}}
{{- $digest := printf "%s/%s" $stream.name $lane_name | sha256sum | trunc 6 -}}
{{- $readable := regexReplaceAll "[^a-z0-9]+" (lower $lane_name) "-" | trunc 20 | trimAll "-" -}}
{{- $workers = append $workers (dict "component" "learner" "stream" $stream.name "replicas" $shards "lane" $lane_name
      "name" (include "wirerank.name" (list $full $slug $readable $digest))
      "args" (list "learn" "/etc/wirerank/wirerank.toml" "--stream" $stream.name "--lane" $lane_name
              "--shard" (printf "$(WIRERANK_SHARD)/%d" $shards))) -}}
{{- end -}}
{{- end -}}
{{- if $whole -}}
{{- $workers = append $workers (dict "component" "learner" "stream" $stream.name "replicas" 1 "lane" ""
      "name" (include "wirerank.name" (list $full $slug "learner"))
      "args" (list "learn" "/etc/wirerank/wirerank.toml" "--stream" $stream.name)) -}}
{{- end -}}
{{- end -}}
{{- $names := list -}}
{{- range $workers -}}
{{- if has .name $names -}}{{- fail (printf "two workers would be called %s: rename a stream" .name) -}}{{- end -}}
{{- $names = append $names .name -}}
{{- end -}}
{{- dict "workers" $workers | toJson -}}
{{- end -}}
