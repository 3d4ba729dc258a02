package sim_test

var newerStories = []story{
	{"a status with a default", `
# create alice
{apiVersion: sim.reconcel.dev/v1, kind: Gauge, metadata: {name: g}, spec: {port: 80}, status: {observedGeneration: 5}}
# get Gauge/g
# apply alice
{apiVersion: sim.reconcel.dev/v1, kind: Gauge, metadata: {name: h}, spec: {port: 80}}
# merge bob Gauge/h
{"spec": {"port": "http"}, "status": null}
# merge/status bob Gauge/h
{"status": {"observedGeneration": 2}}
# merge/status bob Gauge/h
{"status": null}
# get Gauge/h
`},
}
