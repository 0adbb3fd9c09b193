#!/usr/bin/env bash
# What recording costs on one of Debian's kernels in an emulated machine, where trace-cmd can be a peer:
#
#   recorder-cost-vm.sh RECORDER [SERIES] [OPTION...]
#
# RECORDER is a netmortem-record (or a program that is one when called `PROGRAM record`: give 'PROGRAM record'), SERIES 6.1 or
# 6.12 (the default), OPTIONs those of recorder-cost.py. Needs what tests/lab/boot-kernel needs, and iperf3, trace-cmd, python3.
# An emulated CPU is 10 to 30 times slower than a real one, all alike: compare rows, not with other machines.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
[ $# -ge 1 ] || { sed -n '2,8s/^# \{0,1\}//p' "$0" >&2; exit 2; }
recorder=$1 series=6.12
shift
case ${1:-} in 6.*) series=$1; shift ;; esac
read -r program words <<< "$recorder"
python=$(python3 -c 'import sys; print(sys.executable)')
library=$(python3 -c 'import os; print(os.path.dirname(os.__file__))')
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
# Of Python's library what the script imports; all of it would fill the guest's memory.
mkdir "$tmp/python"
(cd "$library" && find . \( -name test -o -name tests -o -name site-packages -o -name dist-packages -o -name __pycache__ -o -name idlelib \
    -o -name tkinter -o -name ensurepip -o -name lib2to3 -o -name 'config-*' \) -prune -o -type f -print | cpio -pdm --quiet "$tmp/python")
ln -s "$(realpath "$program")" "$tmp/netmortem-record"
ln -s "$(realpath "$python")" "$tmp/python3"
status=0
"$here/../lab/boot-kernel" -t 240 -m 2048 -p "$tmp/python3" -p "$tmp/netmortem-record" -p iperf3 -p trace-cmd -f "$tmp/python" \
    -f "$here/recorder-cost.py" "$series" "$tmp/out" \
    sh -c 'p=/usr/lib/$(basename "$0"); mkdir -p /usr/lib; ln -s /in/python "$p"; PYTHONHOME=/usr PYTHONPATH=$p:$p/lib-dynload exec python3 -u "$@"' \
    "$(basename "$library")" recorder-cost.py --recorder "netmortem-record${words:+ $words}" \
    --loads tcp,rpc --only nothing,floor,netmortem,flight,netmortem-perf,trace-cmd --rounds 1 --seconds 2 --pairs 0 "$@" || status=$?
cat "$tmp/out/stdout" 2> /dev/null || true
[ "$status" = 0 ] || { cat "$tmp/out/stderr" >&2 2> /dev/null || true; }
exit "$status"
