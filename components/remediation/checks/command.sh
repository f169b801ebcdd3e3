# Read by the checks that run a command of the host.

ask() { # SECONDS ROOT CODES COMMAND...: sets name, said and code (124: it hung); ends the check
    # where the command says nothing: CODES are its exit codes, with commas, that mean that.
    seconds=$1 root=$2 codes=$3
    shift 3
    name=${1##*/}
    began=$(date +%s)
    # In the foreground timeout does not kill itself with the command: it waits for one that no
    # signal ends, and so does this check, beside which settled.sh starts no second one.
    said=$(timeout --foreground -k 1 "$seconds" chroot "$root" "$@" 2>/dev/null </dev/null)
    code=$?
    # 137 is what a kill leaves, whoever killed: at the time limit, or for want of memory.
    if [ "$code" = 137 ] && [ $(($(date +%s) - began)) -ge "$seconds" ]; then code=124; fi
    case ,$codes,125,126,127,137, in
    *,"$code",*)
        echo "$name told nothing (exit code $code)"
        exit 2
        ;;
    esac
}
