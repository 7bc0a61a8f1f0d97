#!/bin/sh
# A producer of update insights that delivers them over HTTPS. It warns if the last backup is older than a day.
# Run it at least once within the expiry of its UpdateInformer, for example as a CronJob.
#
#   producer.sh FILE       FILE is touched by each backup
#
# Environment:
#   ENDPOINT    the endpoint of the controller, such as https://HOST:PORT
#   CA          the certificate authority of the endpoint, a file
#   TOKEN_FILE  a token of ServiceAccount backup/insight-producer for the audience `update-status-controller`, such as
#               that of `kubectl create token insight-producer -n backup --audience update-status-controller`
set -eu
backup=${1:?usage: producer.sh FILE}

# A delivery has all current insights: an empty list withdraws the earlier ones.
if [ -n "$(find "$backup" -mmin -1440 2>/dev/null)" ]; then
    insights='{"insights": []}'
else
    # The controller takes a start that lies ahead of its clock as the time of the delivery.
    started=$(date -u +%Y-%m-%dT%H:%M:%SZ)
    insights=$(cat <<JSON
{"insights": [{
  "uid": "backup-is-old",
  "health": {
    "startedAt": "$started",
    "scope": {
      "type": "ControlPlane",
      "resources": [{"group": "config.openshift.io", "resource": "clusterversions", "name": "version"}]
    },
    "impact": {
      "level": "Warning",
      "type": "Data Loss",
      "summary": "The last backup of etcd is older than a day",
      "description": "Take a backup before you continue with the update."
    },
    "remediation": {
      "reference": "https://docs.openshift.com/container-platform/latest/backup_and_restore/control_plane_backup_and_restore/backing-up-etcd.html"
    }
  }
}]}
JSON
)
fi

# The token comes from a file through standard input: other users of the machine can see the arguments of a command.
# --retry waits as long as Retry-After says.
printf 'header = "Authorization: Bearer %s"\n' "$(cat "$TOKEN_FILE")" | curl --config - --silent --show-error \
    --fail-with-body --max-time 60 --retry 3 --cacert "$CA" \
    --header 'Content-Type: application/json' --data-binary "$insights" \
    "$ENDPOINT/v1alpha1/informers/backup/insights"
