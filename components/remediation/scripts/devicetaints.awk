# Decides for devicetaints.sh which rules to make and which to delete, from a line a fact:
#   node    NODE POOL "CONDITION" "STATUS" "MESSAGE"
#   device  NODE DRIVER SLICES_POOL DEVICE ATTRIBUTE "VALUE"
#   rule    NAME POOL SLICES_POOL DRIVER DEVICE FAULT
# Prints, with tabs: add NAME POOL DRIVER SLICES_POOL DEVICE FAULT; delete NAME; say TEXT.

# An address without its function, as the driver's kernel messages have it, means all of the card.
function same(short, address) { return address == short || index(address, short ".") == 1 }

function unquoted(text) { return substr(text, 2, length(text) - 2) }

BEGIN {
    OFS = FS
    hex = "[0-9a-f]"
    byte = hex hex
    ADDRESS = byte byte hex "*:" byte ":" byte "([.][0-7])?"
    count = split(types, type, ",")
    split(faults, fault, ",")
    for (i = 1; i <= count; i++) fault_of[type[i]] = fault[i]
}

$1 == "node" {
    pool[$2] = $3
    kind = unquoted($4)
    if (kind in fault_of) {
        status[$2, fault_of[kind]] = unquoted($5)
        message[$2, fault_of[kind]] = tolower($6)
    }
}

# resource.kubernetes.io/pciBusID (Kubernetes 1.36), and what drivers called it before.
$1 == "device" && tolower($6) ~ /(^|\/)pcie?(busid|address)$/ {
    if (!(($2, $3, $4, $5) in known)) {
        known[$2, $3, $4, $5] = 1
        number[$2]++
        node[++devices] = $2
        driver[devices] = $3
        slices[devices] = $4
        name[devices] = $5
        address[devices] = tolower(unquoted($7))
        if (!($4 in host)) host[$4] = $2
    }
}

$1 == "rule" {
    rule[++rules] = $2
    rule_pool[rules] = $3
    rule_slices[rules] = $4
    rule_fault[rules] = $7
    taken[$4, $5, $6] = 1
}

END {
    for (i = 1; i <= devices; i++) if (node[i] in pool) total[pool[node[i]]]++
    for (i = 1; i <= rules; i++) keep_or_delete(i)
    for (i = 1; i <= devices; i++)
        for (j = 1; j <= count; j++) take_out(i, fault[j])
}

# A node is known by its own name where its slices are gone, as drivers name their pools after it.
function keep_or_delete(i,    on) {
    on = rule_slices[i] in host ? host[rule_slices[i]] : rule_slices[i]
    if (!(on in pool) || status[on, rule_fault[i]] == "False") {
        print "delete", rule[i]
        return
    }
    out[rule_pool[i]]++
    out_of[on]++
}

function take_out(i, of,    on, most) {
    on = node[i]
    if (!(on in pool) || status[on, of] != "True" || taken[slices[i], driver[i], name[i]]) return
    if (!named(address[i], message[on, of])) return
    most = int(total[pool[on]] * percent / 100)
    if (out[pool[on]] + 1 > (most > 1 ? most : 1)) {
        print "say", "pool " pool[on] ": " out[pool[on]] + 0 " of " total[pool[on]] \
            " cards are out, " name[i] " of " on " stays in use"
        return
    }
    if ((out_of[on] + 1) * 2 > number[on] && number[on] > 1) {
        print "say", on ": " out_of[on] + 0 " of " number[on] " cards are out, " name[i] \
            " stays in use: the fault is the host's"
        return
    }
    out[pool[on]]++
    out_of[on]++
    taken[slices[i], driver[i], name[i]] = 1
    print "add", on "-" name[i], pool[on], driver[i], slices[i], name[i], of
}

# Whether a message names a card's address.
function named(full, text) {
    while (match(text, ADDRESS)) {
        if (same(substr(text, RSTART, RLENGTH), full)) return 1
        text = substr(text, RSTART + RLENGTH)
    }
    return 0
}
