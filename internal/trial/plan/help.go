package plan

// Help is the grammar of a plan file, for users: text without a final newline.
const Help = `A plan is a YAML file: steps that are taken one after the other, and what must be seen.

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
  load     one of burst: 16 (at once), hold: 16 (outstanding all the time), rate: 2/s; and
           requests: 100, for: 30s   end a hold or a rate, which else needs background: true
           background: true          goes on to the next step; lasts until a stop or the end
           timeout: 3s               gives up each request after that time
  off      [node, …] or {nodes: [node, …], how: plug, within: 5m}
           how: shutdown asks the guest (the default), plug pulls the plug
  on       [node, …] or {nodes: [node, …], within: 5m}, for nodes that are off by an earlier step
  wait     detected (not Ready), endpoints out, evicted, replaced (as many pods again without
           the nodes), ready, restored (Ready, and all pods there); or
           {for: …, nodes: [node, …], within: 5m}, nodes: all that were switched off so far
  cordon   [node, …]: no more pods are put on them
  drain    [node, …] or {nodes: [node, …], within: 5m}: cordons, then evicts the pods as far as
           their disruption budgets let it; fails when that is not over within (10m)
  uncordon [node, …] that an earlier step has cordoned or drained; without such a step it is
           done when the node has returned, and at the end of the trial
  rollout  nothing (the plan's deployment), ns/name, or {deployment: ns/name, within: 10m}
  pause    5s
  stop     the name of a load in the background, or all; waits for the requests in flight

Expectations: 16, {min: 4, max: 6}, {max: 90s} or predicted (inside the forecast)
  of one load, with step: NAME
           sent, ok, failed, failed_after_detection, peak_served, peak_queued,
           error_window (time from the first to the last failed request)
  of a phase, its time from the first power-off; of every node, or one with node: NAME
           off, detected, endpoints_out, tainted, evicted, booted, ready
           replaced, restored (of the deployment)
  of the trial
           lowest_available (pods), skew, skew_before_rollout (most less fewest pods on a
           worker), balanced: true

Times are written like 90s, 5m or 1h30m. A plan may have 256 KiB, 200 steps and 200 expectations.`
