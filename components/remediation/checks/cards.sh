# Read by the checks of accelerators.

cards() { # SYS VENDOR CLASSES DEVICES: the PCI addresses of a model's cards; no DEVICES mean any
    for each in "$1"/bus/pci/devices/*; do
        # Virtual functions are parts of a card.
        [ -r "$each/vendor" ] && [ ! -e "$each/physfn" ] || continue
        read -r vendor <"$each/vendor"
        read -r class <"$each/class"
        read -r device <"$each/device"
        [ "$vendor" = "0x$2" ] || continue
        class=${class#0x}
        case ,$3, in *,"${class%??}",*) ;; *) continue ;; esac
        case ,${4:-${device#0x}}, in *,"${device#0x}",*) ;; *) continue ;; esac
        echo "${each##*/}"
    done
}
