{{- define "parley.labels" -}}
app.kubernetes.io/name: parley
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- /* "true" if everything is stored in PostgreSQL, and nothing if it is in a volume. */ -}}
{{- define "parley.database" -}}
{{- if or .Values.database.url .Values.database.secret -}}true{{- end -}}
{{- end }}

{{- /* Values that cannot work end with a message that says what to change. */ -}}
{{- define "parley.check" -}}
{{- if not (has (toString .Values.anonymous) (list "true" "false")) }}
{{- fail "anonymous: set it to true if everybody who reaches the server may ask, or to false and configure sign-in with settings (docs/signin.md)" }}
{{- end }}
{{- if and .Values.database.url .Values.database.secret }}
{{- fail "database: set url or secret, not both" }}
{{- end }}
{{- if hasKey .Values.settings "PARLEY_DATABASE" }}
{{- fail "settings.PARLEY_DATABASE: set database.url or database.secret instead, from which the chart knows that no volume is needed" }}
{{- end }}
{{- if not (include "parley.database" .) }}
{{- if gt (int .Values.replicaCount) 1 }}
{{- fail "replicaCount: more than one server needs a PostgreSQL database; set database.secret or database.url (docs/scaling.md), or replicaCount to 1" }}
{{- end }}
{{- if .Values.autoscaling.enabled }}
{{- fail "autoscaling.enabled: more than one server needs a PostgreSQL database; set database.secret or database.url (docs/scaling.md), or autoscaling.enabled to false" }}
{{- end }}
{{- else if .Values.storage.existingClaim }}
{{- fail "storage.existingClaim: with a PostgreSQL database there is no volume; move what is in it with \"parley migrate\" (docs/operations.md), and leave existingClaim empty" }}
{{- end }}
{{- if and .Values.autoscaling.enabled (not .Values.autoscaling.cpu) (not .Values.autoscaling.streams) }}
{{- fail "autoscaling: set cpu or streams, by which to scale" }}
{{- end }}
{{- end }}

{{- define "parley.pod" -}}
metadata:
  labels: {{- include "parley.labels" . | nindent 4 }}
  {{- with .Values.podAnnotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  automountServiceAccountToken: false
  enableServiceLinks: false # their variables would begin with PARLEY_
  terminationGracePeriodSeconds: {{ add .Values.drainSeconds .Values.preStopSeconds 15 }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 65532
    runAsGroup: 65532
    fsGroup: 65532
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile:
      type: RuntimeDefault
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets: {{- toYaml . | nindent 4 }}
  {{- end }}
  containers:
    - name: parley
      image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      args:
        - serve
        {{- range .Values.documents.paths }}
        - {{ . | quote }}
        {{- end }}
      env:
        - name: PARLEY_ADDR
          value: ":8000"
        - name: PARLEY_DATA
          value: /data/parley
        - name: PARLEY_DRAIN
          value: "{{ .Values.drainSeconds }}s"
        - name: PARLEY_AUTH_ANONYMOUS
          value: {{ .Values.anonymous | quote }}
        {{- with .Values.database.url }}
        - name: PARLEY_DATABASE
          value: {{ . | quote }}
        {{- end }}
        {{- with .Values.database.secret }}
        - name: PARLEY_DATABASE
          valueFrom:
            secretKeyRef:
              name: {{ . }}
              key: {{ $.Values.database.secretKey }}
        {{- end }}
        {{- range $name, $value := .Values.settings }}
        - name: {{ $name }}
          value: {{ $value | quote }}
        {{- end }}
      {{- if .Values.secret }}
      envFrom:
        - secretRef:
            name: {{ .Values.secret }}
      {{- end }}
      ports:
        - name: http
          containerPort: 8000
      startupProbe: # opening a large store, and updating one of an older version, takes a while
        httpGet: {path: /healthz, port: http}
        periodSeconds: 2
        failureThreshold: 150
      livenessProbe:
        httpGet: {path: /healthz, port: http}
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      readinessProbe:
        httpGet: {path: /readyz, port: http}
        periodSeconds: 5
        timeoutSeconds: 3
      {{- if include "parley.database" . }}
      lifecycle: # goes on serving until proxies have heard that this pod stops
        preStop:
          sleep:
            seconds: {{ .Values.preStopSeconds }}
      {{- end }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities:
          drop: [ALL]
      resources: {{- toYaml .Values.resources | nindent 8 }}
      volumeMounts:
        - name: data
          mountPath: /data
        - name: tmp
          mountPath: /tmp
        {{- with .Values.documents.mounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
  volumes:
    - name: tmp
      emptyDir: {}
    {{- if include "parley.database" . }}
    - name: data # copies only; everything is in the database
      emptyDir: {}
    {{- else if .Values.storage.existingClaim }}
    - name: data
      persistentVolumeClaim:
        claimName: {{ .Values.storage.existingClaim }}
    {{- end }}
    {{- with .Values.documents.volumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- if include "parley.database" . }}
  topologySpreadConstraints: # replicas on different nodes, where there are several
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels: {{- include "parley.labels" . | nindent 10 }}
  {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity: {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
