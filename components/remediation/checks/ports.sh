# Read by the checks of network links. A LINK is <interface>:<rail, if any>:<Gbit/s, or 0>.

port_of() { # SYS INTERFACE: the folder of its port of an RDMA device; nothing where it has none
    for ports in "$1/class/net/$2"/device/infiniband/*/ports; do
        number=0
        [ ! -r "$1/class/net/$2/dev_port" ] || read -r number <"$1/class/net/$2/dev_port"
        for port in "$ports/$((number + 1))" "$ports/1"; do
            [ ! -d "$port" ] || { echo "$port" && return; }
        done
    done
}

split_link() { # LINK: sets interface, rail, gbps and label
    interface=${1%%:*} gbps=${1##*:} rail=${1#*:}
    rail=${rail%:*}
    label="$interface${rail:+ (rail $rail)}"
}
