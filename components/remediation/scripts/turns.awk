# Which nodes get a turn, a taint, or lose one: from the site's lines and what was seen of the
# cluster to one change a node, which nodepatch.awk prints. It reads nothing else and remembers
# nothing, so that a round depends on no earlier one.
#
# Variables: site (1 while the site's lines are read), part (pods: print the nodes whose pods must
# be known; all: print changes; none: print changes without new turns), now (seconds since 1970).
#
# Lines of the site, between blanks:
#   attempts N            reboots of a node within the window, or half its turns; then quarantine
#   window SECONDS        the window in which these count
#   verdict SECONDS       after the reboot was asked for: when the fault has to be gone
#   percent N             share of a pool's nodes with a fault beyond which nothing is begun
#   healer POOL HEALER N  nodes of a pool that a healer may take out at a time
#   fault POOL HEALER FAULT CONDITION   what it mends there, in the order in which it is mended
# Lines of the cluster, between tabs: see the templates in turns.sh.
#
# A node's own memory: annotations under remediation.foresite.dev/
#   reboots      when it was rebooted to mend it, as seconds, with commas
#   reboot       of the present turn: OPERATION,BOOT ID BEFORE,SECONDS,STATE (reboot.sh writes it)
#   turns        when turns were given to it, as seconds, with commas; the last is the present one
#   job          of the present turn: OPERATION,SECONDS since when its job is there
#   quarantined  since when and why: left while a person takes the taint away

BEGIN {
  domain = "remediation.foresite.dev/"
  TURN = domain "turn"; FAULTY = domain "faulty"; QUARANTINED = domain "quarantined"
  REBOOTS = domain "reboots"; REBOOT = domain "reboot"; TURNS = domain "turns"; JOB = domain "job"
  POOL = "node.cluster.x-k8s.io/pool"
  attempts = 2; window = 86400; verdict = 1800; percent = 20
  OFS = "\t"
}

site && (/^#/ || NF == 0) { next }

site && $1 == "attempts" { attempts = $2 + 0 }
site && $1 == "window" { window = $2 + 0 }
site && $1 == "verdict" { verdict = $2 + 0 }
site && $1 == "percent" { percent = $2 + 0 }
site && $1 == "healer" {
  limit[$2, $3] = $4 + 0
  if (!($2 in known)) { known[$2]; pools[++npools] = $2 }
}
site && $1 == "fault" {
  n = ++faults[$2]
  fault[$2, n] = $4; condition[$2, $4] = $5; healer[$2, $4] = $3
}
site { next }

$1 == "node" {
  nodes[++nnodes] = $2; version[$2] = $3
  cordoned[$2] = $4 == "cordoned"; leaving[$2] = $5 == "deleted"
}
$1 == "label" && $3 == POOL { pool[$2] = $4 }
$1 == "label" && $3 == TURN { turn[$2] = $4 }
$1 == "annotation" { note[$2, $3] = unquoted($4) }
$1 == "taint" { see_taint($2, $3, $4, $5, $6) }
$1 == "condition" { status[$2, unquoted($3)] = unquoted($4) }
$1 == "remediation" { subject[$2] = unquoted($3); remediated[subject[$2]] = 1 }
$1 == "operation" { see_operation($2, unquoted($3), unquoted($4), unquoted($5), unquoted($6)) }
$1 == "held" { was_held[$2] = 1 }
$1 == "pod" { count_pod(unquoted($2), unquoted($3), $4, $5, $6) }

END {
  for (i = 1; i <= nnodes; i++) judge(nodes[i])
  for (i = 1; i <= npools; i++) hold(pools[i])
  for (i = 1; i <= nnodes; i++) if (!leaving[nodes[i]]) decide(nodes[i])
  for (i = 1; i <= npools; i++) choose(pools[i])
  if (part == "pods") exit
  for (i = 1; i <= nnodes; i++) print_patch(nodes[i])
  for (each in was_held) if (!(each in held_name)) print "release", each, "-", "repairs go on"
}

function unquoted(text) { return substr(text, 2, length(text) - 2) }

function see_operation(name, node, phase, owner, reason,   ours) {
  ours = subject[owner] == node
  if (phase != "Completed" && phase != "Failed") active[node] = 1
  if (phase == "Failed" && ours) failed[node] = 1
  if ((phase == "JobCreating" || phase == "Running") && ours) job[node] = name
  # The controller takes its own taint for another's, as after a flap or a kill between two writes,
  # and never looks again (node-operation-controller 0ac94deb, reconcilePending).
  if (phase == "Pending" && reason ~ /^Another NodeOperation/) stuck[node] = 1
}

# Pods that a drain would end. A pod that has ended is nobody's work any more.
function count_pod(node, phase, priority, owners, mirror) {
  if (phase == "Succeeded" || phase == "Failed") return
  if (mirror == "mirror" || (("," owners) ~ /,"DaemonSet",/)) return
  if (!(node in work) || priority + 0 > highest[node]) highest[node] = priority + 0
  work[node]++
}

# What a node has: its first fault (mine), whether one of its faults is unknown, reboots and turns.
function judge(node,   p, n, f, s, parts) {
  p = pool[node]
  if (p in known) total[p]++
  for (n = 1; n <= faults[p]; n++) {
    f = fault[p, n]; s = status[node, condition[p, f]]
    if (s == "True") { if (!(node in mine)) mine[node] = f }
    else if (s == "Unknown") unknown[node] = 1
  }
  # Nobody lets a quarantined node in because its detector is silent.
  if (node in mine || (node, QUARANTINED) in taint) faulty[p]++
  reboots[node] = split(recent(note[node, REBOOTS]), parts, ",")
  turns[node] = split(recent(note[node, TURNS]), parts, ",")
}

# The times within the window.
function recent(text,   n, each, parts, list) {
  n = split(text, parts, ",")
  for (each = 1; each <= n; each++)
    if (parts[each] ~ /^[0-9]+$/ && parts[each] + 0 > now - window) list = joined(list, parts[each])
  return list
}

# Too many faults at once are no host's: a driver, or a check that is wrong. Two are always hosts':
# one that is quarantined is not to keep the next of a small pool in use.
function hold(p,   name, why) {
  if (faulty[p] < 3 || faulty[p] * 100 <= percent * total[p]) return
  held[p] = 1
  name = "turns-held-" p; held_name[name]
  why = faulty[p] " of " total[p] " nodes of pool " p " have a fault: no repair is begun"
  if (part != "pods" && !(name in was_held)) print "hold", name, "-", why
}

function decide(node,   p, q) {
  p = pool[node]
  q = (node, QUARANTINED) in taint
  if (!q && ((node, QUARANTINED) in note)) { forget(node); return }
  taint_faulty(node, p)
  if (node in turn) end_turn(node, p, q)
  else if (!(node in mine) || q || held[p]) return
  else if (reboots[node] >= attempts)
    quarantine(node, mine[node], reboots[node] " reboots in " hours())
  else if (turns[node] >= 2 * attempts)
    quarantine(node, mine[node], turns[node] " turns in " hours())
}

function hours() { return int(window / 3600) " hours" }

# A person took the taint away: the node is as new.
function forget(node) {
  annotate(node, QUARANTINED, "null")
  annotate(node, REBOOTS, "null")
  annotate(node, REBOOT, "null")
  annotate(node, TURNS, "null")
  annotate(node, JOB, "null")
  because(node, "let in again by a person: its reboots are forgotten")
}

function taint_faulty(node, p,   has) {
  has = (node, FAULTY) in taint
  if (node in mine) {
    if (has ? value[node, FAULTY] != mine[node] : !held[p]) {
      set_taint(node, FAULTY, mine[node])
      because(node, "has " mine[node] ": no new pods")
    }
  } else if (has && !(node in unknown) && !(node in turn && node in active)) {
    drop_taint(node, FAULTY)
    because(node, "has no fault any more")
  }
}

# Whether a turn is over: the fault gone, nothing to be expected of it any more, or planned work.
function end_turn(node, p, quarantined,   f, s, parts, n) {
  f = turn[node]; s = (p, f) in condition ? status[node, condition[p, f]] : ""
  n = split(note[node, REBOOT], parts, ",")
  if (quarantined) { drop_turn(node, "is quarantined"); return }
  if (s != "True" && s != "Unknown") {
    if (!(node in active)) drop_turn(node, "is mended: " f)
    else taking[p, healer[p, f]]++
    return
  }
  if (n == 0 && vain(node, f)) return
  if (parts[4] ~ /^(late|refused-[a-z-]+)$/) quarantine(node, f, "reboot " parts[4])
  else if (node in failed && !(node in active)) quarantine(node, f, "operation failed")
  else if (n > 0 && parts[3] + verdict <= now) after_reboot(node, f, s, parts[4])
  else taking[p, healer[p, f]]++
}

# Whether a turn of which no reboot is noted is ended here. A drain takes as long as it takes.
function vain(node, f,   n, parts) {
  if (node in stuck) drop_turn(node, "its operation does not begin: once more")
  else if (cordoned[node]) drop_turn(node, "is cordoned: its turn comes later")
  else if (node in job) return idle(node, f)
  else if ((node in active) || (node in failed)) return 0
  else {
    n = split(note[node, TURNS], parts, ",")
    if (parts[n] !~ /^[0-9]+$/ || parts[n] + 0 > now) { begin_turn(node, "began"); return 0 }
    if (parts[n] + verdict > now) return 0
    drop_turn(node, "has no operation: once more")
  }
  return 1
}

# A job that does not begin, as its pod finds no place or no image.
function idle(node, f,   parts) {
  split(note[node, JOB], parts, ",")
  if (parts[1] == job[node] && parts[2] ~ /^[0-9]+$/) {
    if (parts[2] + 2 * verdict > now) return 0
    quarantine(node, f, "its job does not begin")
    return 1
  }
  annotate(node, JOB, "\"" job[node] "," now "\"")
  because(node, "its job is there")
  return 0
}

# A host that is not back gets no second reboot: nobody could drain it.
function after_reboot(node, f, s, outcome) {
  if (outcome != "done") quarantine(node, f, "reboot late")
  else if (s == "Unknown") quarantine(node, f, "its state is unknown after a reboot")
  else if (reboots[node] >= attempts) quarantine(node, f, reboots[node] " reboots in " hours())
  else drop_turn(node, "a reboot did not help: once more")
}

function quarantine(node, f, why) {
  set_taint(node, QUARANTINED, f)
  annotate(node, QUARANTINED, "\"" now " " f ": " why "\"")
  if (node in turn) label(node, "null")
  because(node, "quarantined, " f ": " why)
}

function drop_turn(node, why) { label(node, "null"); because(node, why) }

# New turns of a pool, for each of its healers: those first whose drain disturbs least.
function choose(p,   h, i, n, node, list) {
  if (held[p]) return
  for (h in limit) {
    split(h, list, SUBSEP)
    if (list[1] == p) choose_for(p, list[2])
  }
}

function choose_for(p, h,   i, n, free, best, list) {
  free = limit[p, h] - taking[p, h]
  n = 0
  for (i = 1; i <= nnodes; i++) if (waits(nodes[i], p, h)) list[++n] = nodes[i]
  if (free <= 0 || n == 0) return
  if (part == "pods") { if (n > free) for (i = 1; i <= n; i++) print list[i]; return }
  if (part != "all") return
  for (; free > 0 && n > 0; free--) {
    best = 1
    for (i = 2; i <= n; i++) if (before(list[i], list[best])) best = i
    give_turn(list[best])
    list[best] = list[n--]
  }
}

# Ready: a node that does not answer cannot be drained, and is left to Cluster API's health check.
function waits(node, p, h) {
  return pool[node] == p && node in mine && healer[p, mine[node]] == h && !(node in turn) \
    && !cordoned[node] && !leaving[node] && !((node, QUARANTINED) in taint) \
    && !((node, QUARANTINED) in note) && reboots[node] < attempts && turns[node] < 2 * attempts \
    && status[node, "Ready"] == "True" && !(node in remediated) && !(node in active)
}

function before(a, b) {
  if (!(a in work) || !(b in work)) {
    if ((a in work) != (b in work)) return !(a in work)
  } else {
    if (highest[a] != highest[b]) return highest[a] < highest[b]
    if (work[a] != work[b]) return work[a] < work[b]
  }
  return a "" < b ""
}

function give_turn(node) {
  label(node, "\"" mine[node] "\"")
  if ((node, REBOOT) in note) annotate(node, REBOOT, "null")
  if ((node, JOB) in note) annotate(node, JOB, "null")
  begin_turn(node, "its turn: " mine[node])
}

function begin_turn(node, why) {
  annotate(node, TURNS, "\"" joined(recent(note[node, TURNS]), now) "\"")
  because(node, why)
}
