package plan

import "strings"

// Help is the grammar of a plan file, for users: text without a final newline.
func Help() string {
	var b strings.Builder
	b.WriteString(helpFile)
	for _, k := range kinds {
		b.WriteString(k.help)
	}
	b.WriteString(helpExpect)
	return b.String()
}

const helpFile = `A plan is a YAML file: steps that are taken one after the other, and what must be seen.

  name: one-worker             # one word
  about: One worker loses power under the web shop.
  deployment: default/shop     # default: load.deployment of lightsout.yaml
  steps:
    - load: {rate: 2/s, background: true, timeout: 3s}
      name: clients            # every step may have a name
    - off: [worker2]           # asks the guest to shut down
    - wait: detected
    - wait: {for: evicted, within: 10m}
    - on: [worker2]
    - wait: restored
    - stop: clients
  expect:
    - detected: predicted      # inside the forecast
    - error_window: {max: 60s}
      step: clients
    - balanced: true           # every request is accounted for

Steps
`

const helpExpect = `
Expectations: 16, {min: 4, max: 6}, {max: 90s} or predicted (inside the forecast)
  of one load, with step: NAME
           sent, ok, failed, failed_after_detection, peak_served, peak_queued,
           error_window (from the first to the last failed request between the
           first power-off and the power-on; predicted is of its end)
  of a phase, its time from the first power-off; of every node, or one with node: NAME
           off, detected, endpoints_out, tainted, evicted, booted, ready
           replaced, restored (of the deployment)
  of the trial
           lowest_available (pods), skew, skew_before_rollout (most less fewest pods on a
           worker), balanced: true

Times are written like 90s, 5m or 1h30m. A plan may have 256 KiB, 200 steps and 200 expectations.`
