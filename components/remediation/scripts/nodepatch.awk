# The one patch of a node that turns.awk has decided: its taints as they are and as they are to be,
# labels and annotations, and why. Its variables are those of turns.awk.

# A patch writes all taints of a node anew, as the API server cannot merge them; so they are kept as
# they are. The node's version in the patch keeps those that are newer.
function see_taint(node, key, text, effect, since,   n) {
  taint[node, key] = 1; value[node, key] = text
  n = ++ntaints[node]
  keys[node, n] = key
  kept[node, n] = one_taint(key, text, effect, since)
}

function one_taint(key, text, effect, since) {
  return "{\"key\":\"" key "\"" (text == "" ? "" : ",\"value\":\"" text "\"") \
    ",\"effect\":\"" effect "\"" (since == "" ? "" : ",\"timeAdded\":\"" since "\"") "}"
}

function label(node, text) { labels[node] = "\"" TURN "\":" text }
function annotate(node, key, text) {
  annotations[node] = joined(annotations[node], "\"" key "\":" text)
}
function set_taint(node, key, text,   n) {
  drop_taint(node, key)
  n = ++ntaints[node]
  keys[node, n] = key
  kept[node, n] = one_taint(key, text, "NoSchedule", "")
}
function drop_taint(node, key,   n) {
  retainted[node] = 1
  for (n = 1; n <= ntaints[node]; n++) if (keys[node, n] == key) kept[node, n] = ""
}
function all_taints(node,   n, list) {
  for (n = 1; n <= ntaints[node]; n++) if (kept[node, n] != "") list = joined(list, kept[node, n])
  return list
}
function joined(a, b) { return a == "" ? b : a "," b }
function because(node, why) { whys[node] = whys[node] == "" ? why : whys[node] "; " why }

function print_patch(node,   metadata, spec) {
  if (whys[node] == "") return
  metadata = "\"resourceVersion\":\"" version[node] "\""
  if (labels[node] != "") metadata = metadata ",\"labels\":{" labels[node] "}"
  if (annotations[node] != "") metadata = metadata ",\"annotations\":{" annotations[node] "}"
  if (node in retainted) spec = ",\"spec\":{\"taints\":[" all_taints(node) "]}"
  print "patch", node, "{\"metadata\":{" metadata "}" spec "}", whys[node]
}
