# Read by the checks that run a command of the host.

most_bytes=1048576

ask() { # SECONDS ROOT CODES COMMAND...: sets name, said and code (124: it hung); ends the check
    # where the command says nothing: CODES are its exit codes, with commas, that mean that. Of its
    # output most_bytes are kept, as the memory is the detector's; the rest is read all the same.
    seconds=$1 root=$2 codes=$3
    shift 3
    name=${1##*/}
    began=$(date +%s)
    # In the foreground timeout does not kill itself with the command: it waits for one that no
    # signal ends, and so does this check, beside which settled.sh starts no second one.
    # The exit code comes first: what was said is in a variable until both have ended.
    said=$(
        exec 3>&1
        said=$({
            timeout --foreground -k 1 "$seconds" chroot "$root" "$@" 2>/dev/null </dev/null 3>&-
            echo $? >&3
        } | { head -c "$most_bytes" && cat >/dev/null; })
        printf '%s\n' "$said"
    )
    code=${said%%[!0-9]*}
    said=${said#"$code"} said=${said#?}
    # 137 is what a kill leaves, whoever killed: at the time limit, or for want of memory.
    if [ "$code" = 137 ] && [ $(($(date +%s) - began)) -ge "$seconds" ]; then code=124; fi
    case ,$codes,125,126,127,137, in
    *,"$code",*)
        echo "$name told nothing (exit code $code)"
        exit 2
        ;;
    esac
}

count() { # LINES: sets working: how many lines of what was said an expression names
    working=$(printf '%s\n' "$said" | grep -cE -e "$1" 2>/dev/null) || [ $? = 1 ] || {
        echo "grep refuses the expression"
        exit 2
    }
    if [ "${#said}" -ge $((most_bytes - 1)) ]; then
        echo "$name told too much"
        exit 2
    fi
}
