{{- define "kp.name" -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "kp.labels" -}}
app.kubernetes.io/name: knowledgepulse
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Values.image.tag | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "kp.selector" -}}
app.kubernetes.io/name: knowledgepulse
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "kp.claim" -}}
{{- $volume := index .root.Values.volumes .volume -}}
{{- $volume.existingClaim | default (printf "%s-%s" (include "kp.name" .root) .volume) -}}
{{- end -}}

{{- define "kp.env" -}}
- { name: KP_URL, value: {{ .root.Values.url | quote }} }
- { name: KP_ROLE, value: {{ .role }} }
- { name: KP_LEDGER_URL, value: /ledger/erasures }
- { name: KP_LEDGER_MARK, value: /mark/ledger.mark }
{{- if .root.Values.trustedProxies }}
- { name: KP_TRUSTED_PROXIES, value: {{ .root.Values.trustedProxies | quote }} }
{{- end }}
{{- /* Without these, a pod would store data in its own folder, which ends with it. A missing key stops the pod. */}}
{{- range $name := list "DATABASE_URL" "KP_SECRET" "KP_OBJECTS_URL" "KP_FILES_URL" }}
- { name: {{ $name }}, valueFrom: { secretKeyRef: { name: {{ $.root.Values.secret.name }}, key: {{ $name }} } } }
{{- end }}
{{- range $name, $value := .root.Values.settings }}
- { name: {{ $name }}, value: {{ $value | quote }} }
{{- end }}
{{- end -}}

{{- define "kp.security" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
{{- end -}}

{{- define "kp.podSecurity" -}}
automountServiceAccountToken: false
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  seccompProfile: { type: RuntimeDefault }
{{- end -}}

{{- define "kp.mounts" -}}
volumeMounts:
  - { name: ledger, mountPath: /ledger }
  - { name: mark, mountPath: /mark }
  - { name: data, mountPath: /data }
  - { name: tmp, mountPath: /tmp }
{{- end -}}

{{- define "kp.volumes" -}}
volumes:
  - { name: ledger, persistentVolumeClaim: { claimName: {{ include "kp.claim" (dict "root" . "volume" "ledger") }} } }
  - { name: mark, persistentVolumeClaim: { claimName: {{ include "kp.claim" (dict "root" . "volume" "mark") }} } }
  - { name: data, emptyDir: {} }
  - { name: tmp, emptyDir: {} }
{{- end -}}
