#!/usr/bin/env bash
# Plants one incident and records it.
#
#   play.sh SCENE SIDE DIR      SIDE is `before` or `after` (scenes that are no pair plant the same on both); leaves
#                               DIR/bundle.nmb and DIR/evidence.txt; exit code 4: this machine cannot plant it
#
# client 10.9.1.2 (c0) - (rc) router (rs) - (s0) 10.9.2.2 server, and where a scene asks for it other 10.9.3.2 (d0) at the router's rd; each in a
# namespace named nmlab-<pid>-..., all in this kernel. A scene (scenes/*.sh) has `plant`, which makes the network what it is and
# starts the servers, and `traffic`, which is recorded. $LAB is the recorder (`netmortem-lab`).
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
scene=$1 side=$2 dir=$3
id=${NMLAB_ID:-nmlab-$$}
export NMLAB_ID=$id

client() { ip netns exec "$id-client" "$@"; }
router() { ip netns exec "$id-router" "$@"; }
server() { ip netns exec "$id-server" "$@"; }
other() { ip netns exec "$id-other" "$@"; }
pod() { ip netns exec "$id-pod" "$@"; }
service() { ip netns exec "$id-service" "$@"; }
# serve NAMESPACE KIND PORT ...: a server, listening when this returns
serve() {
    local where=$1 port=$3
    shift
    "$where" python3 "$here/traffic.py" serve "$@" &
    for _ in $(seq 50); do
        "$where" ss -Hltun "sport = :$port" | grep -q . && return
        sleep 0.1
    done
}
iperf_server() {
    server iperf3 -s -1 -p "$1" > /dev/null &
    sleep 0.4
}
ask() { client python3 "$here/traffic.py" "$@"; }
# rule WORDS: a rule of the router for what it forwards
rule() {
    router nft add table ip lab 2> /dev/null
    router nft add chain ip lab forward '{ type filter hook forward priority 0; }' 2> /dev/null
    router nft add rule ip lab forward "$@"
}
# path MS [DEVICE [EACH [SCALE]]]: a TUN device that holds packets so long; one bit of each so many'th that is large is another behind it, and the window
# scale of SYNs is SCALE
path() {
    local device=${2:-tun0}
    router python3 "$here/delay.py" "$device" "$1" "${3:-0}" ${4:-} &
    for _ in $(seq 50); do
        router ip -br link show "$device" 2> /dev/null | grep -q UP && break
        sleep 0.1
    done
    router sysctl -qw net.ipv4.conf.all.rp_filter=0 "net.ipv4.conf.$device.rp_filter=0"
}
# delay MS [SCALE]: every packet, both ways, is so long on its way
delay() {
    path "$1" tun0 0 ${2:-}
    router ip route add default dev tun0 table 100
    router ip rule add iif rc lookup 100 pref 10
    router ip rule add iif rs lookup 100 pref 11
}
# slow_disk IOPS: a cgroup, $group, whose processes may do so many writes each second to the disk under $dir
slow_disk() {
    local disk
    disk=$(stat -c '%d' "$dir")
    disk=$((disk >> 8)):$((disk & 255))
    [ -e "/sys/dev/block/$disk" ] || cannot "$dir is on no disk"
    [ -e "/sys/dev/block/$disk/partition" ] && disk=$(cat "/sys/dev/block/$disk/../dev")
    group=/sys/fs/cgroup/blkio/$id
    { mkdir -p "$group" && echo "$disk $1" > "$group/blkio.throttle.write_iops_device"; } 2> /dev/null && return
    group=/sys/fs/cgroup/$id
    { echo +io > /sys/fs/cgroup/cgroup.subtree_control; mkdir -p "$group" && echo "$disk wiops=$1" > "$group/io.max"; } 2> /dev/null ||
        cannot "no limits of disks"
}
# cpu_group US: a cgroup, $group, whose processes may have the CPU for so many us of each 100 ms
cpu_group() {
    group=/sys/fs/cgroup/cpu/$id
    { mkdir -p "$group" && echo 100000 > "$group/cpu.cfs_period_us" && echo "$1" > "$group/cpu.cfs_quota_us"; } 2> /dev/null || {
        group=/sys/fs/cgroup/$id
        { echo +cpu > /sys/fs/cgroup/cgroup.subtree_control; mkdir -p "$group" && echo "$1 100000" > "$group/cpu.max"; } 2> /dev/null ||
            cannot "no CPU quotas"
    }
}
# fast_disk FILE: its processes end, and what they wrote goes
fast_disk() {
    group=$(ls -d /sys/fs/cgroup/blkio/"$id" /sys/fs/cgroup/"$id" 2> /dev/null | head -1)
    xargs -r kill -9 < "$group/cgroup.procs"
    sleep 0.3
    rm -f "$1"
    rmdir "$group"
}
third() {
    namespace other
    ip link add d0 netns "$id-other" type veth peer name rd netns "$id-router"
    address other d0 10.9.3.2/24
    address router rd 10.9.3.1/24
    other ip route add default via 10.9.3.1
}
# beside_server: 10.9.2.3 (other), a host beside the server on a bridge of the router, br0
beside_server() {
    namespace other
    ip link add d0 netns "$id-other" type veth peer name rd netns "$id-router"
    router ip addr flush dev rs
    router ip link add br0 type bridge
    router ip link set rs master br0
    router ip link set rd master br0 up
    address router br0 10.9.2.1/24
    address other d0 10.9.2.3/24
    other ip route add default via 10.9.2.1
}
# name_server PAUSE EACH: 10.9.2.3 answers names at once, but asks 10.9.3.2, which takes so long, for each so many'th
name_server() {
    third
    server ip addr add 10.9.2.3/32 dev s0
    router ip route add 10.9.2.3 dev rs
    other python3 "$here/traffic.py" serve resolver 53 pause="$1" &
    server python3 "$here/traffic.py" serve resolver 53 address=10.9.2.3 to=10.9.3.2 each="$2" &
    sleep 0.4
}
# node NAMESPACE DEVICE OWN OTHER POD NET NET2 MTU DF: a node with one pod behind a bridge, whose packets for the other node's pods a VXLAN carries
node() {
    namespace "$5"
    ip -n "$id-$1" link add cni0 type bridge
    ip link add eth0 netns "$id-$5" type veth peer name "veth-$5" netns "$id-$1"
    ip -n "$id-$1" link set "veth-$5" master cni0 up
    address "$1" cni0 "$6.1/24"
    address "$5" eth0 "$6.2/24"
    "$5" ip route add default via "$6.1"
    ip -n "$id-$1" link add flannel.1 type vxlan id 1 dev "$2" local "$3" remote "$4" dstport 8472 df "${9:-unset}"
    address "$1" flannel.1 "$6.0/32"
    "$1" ip route add "$7.0/24" via "$7.0" dev flannel.1 onlink
    for n in "$1.veth-$5" "$1.cni0" "$5.eth0" "$1.flannel.1"; do
        ip -n "$id-${n%%.*}" link set "${n#*.}" mtu "$8"
    done
    "$1" sysctl -qw net.ipv4.ip_forward=1
}
# overlay [MTU [DF]]: the client and the server are nodes; 10.244.1.2 (pod) and 10.244.2.2 (service) are pods on them
overlay() {
    node client c0 10.9.1.2 10.9.2.2 pod 10.244.1 10.244.2 "${1:-1450}" "${2:-}"
    node server s0 10.9.2.2 10.9.1.2 service 10.244.2 10.244.1 "${1:-1450}" "${2:-}"
    for _ in $(seq 20); do
        [[ $(pod timeout 1 bash -c '</dev/tcp/10.244.2.2/9' 2>&1) == *refused* ]] && return
        sleep 0.2
    done
}
# tunnel_to ADDRESS: the client's VXLAN sends what is for the other node to that address
tunnel_to() {
    client bridge fdb del 00:00:00:00:00:00 dev flannel.1 dst 10.9.2.2
    client bridge fdb add 00:00:00:00:00:00 dev flannel.1 dst "$1"
    client bridge fdb replace "$(server cat /sys/class/net/flannel.1/address)" dev flannel.1 dst "$1"
}
# beside: 10.244.1.3 (other), a pod beside 10.244.1.2
beside() {
    namespace other
    ip link add eth0 netns "$id-other" type veth peer name veth-other netns "$id-client"
    ip -n "$id-client" link set veth-other master cni0 up mtu 1450
    address other eth0 10.244.1.3/24
    ip -n "$id-other" link set eth0 mtu 1450
    other ip route add default via 10.244.1.1
}
# translated PORT [BRIDGED]: the pod's node translates 10.96.0.10:PORT, in turn, to 10.244.1.3 and 10.244.2.2; BRIDGED 1: also what its bridge hands on
translated() {
    client sysctl -qw "net.bridge.bridge-nf-call-iptables=${2:-0}" 2> /dev/null
    client nft add table ip services
    client nft add chain ip services pre '{ type nat hook prerouting priority -100; }'
    client nft add rule ip services pre ip daddr 10.96.0.10 tcp dport "$1" dnat to numgen inc mod 2 map '{ 0 : 10.244.1.3, 1 : 10.244.2.2 }'
}
namespace() {
    ip netns add "$id-$1" && ip -n "$id-$1" link set lo up
    ip netns exec "$id-$1" sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1
}
address() {
    ip -n "$id-$1" addr add "$3" dev "$2"
    ip -n "$id-$1" link set "$2" up
}
ipv6() {
    local n
    for n in client router server; do
        "$n" sysctl -qw net.ipv6.conf.all.disable_ipv6=0 net.ipv6.conf.default.disable_ipv6=0
    done
    for n in "client c0 fd09:1::2" "router rc fd09:1::1" "router rs fd09:2::1" "server s0 fd09:2::2"; do
        set -- $n
        "$1" sysctl -qw "net.ipv6.conf.$2.disable_ipv6=0"
        "$1" ip addr add "$3/64" dev "$2" nodad
    done
    router sysctl -qw net.ipv6.conf.all.forwarding=1
    client ip -6 route add default via fd09:1::1
    server ip -6 route add default via fd09:2::1
}
network() {
    namespace client && namespace router && namespace server || exit 1
    ip link add c0 netns "$id-client" type veth peer name rc netns "$id-router"
    ip link add s0 netns "$id-server" type veth peer name rs netns "$id-router"
    address client c0 10.9.1.2/24
    address router rc 10.9.1.1/24
    address server s0 10.9.2.2/24
    address router rs 10.9.2.1/24
    client ip route add default via 10.9.1.1
    server ip route add default via 10.9.2.1
    router sysctl -qw net.ipv4.ip_forward=1
    # Neighbours are resolved before anything is recorded.
    for _ in $(seq 20); do
        [[ $(client timeout 1 bash -c '</dev/tcp/10.9.2.2/9' 2>&1) == *refused* ]] && return
        sleep 0.2
    done
}
cleanup() {
    local n
    for n in /sys/fs/cgroup/cpu/"$id" /sys/fs/cgroup/"$id"; do
        [ -d "$n" ] || continue
        xargs -r kill -9 < "$n/cgroup.procs" 2> /dev/null
        sleep 0.2
        rmdir "$n" 2> /dev/null
    done
    for n in client router server other pod service; do
        ip netns pids "$id-$n" 2> /dev/null | xargs -r kill -9 2> /dev/null
        ip netns del "$id-$n" 2> /dev/null
    done
}
cannot() {
    echo "$1"
    exit 4
}

. "$here/scenes/$scene.sh"
if [ "${4:-}" = traffic ]; then
    sleep 0.3
    traffic
    sleep 0.3
    exit 0
fi
for need in python3 ss nft ethtool iperf3 tc; do
    command -v "$need" > /dev/null || cannot "no $need"
done
mkdir -p "$dir"
trap cleanup EXIT
trap 'exit 130' INT TERM
{
    network
    plant
    "$LAB" record --force -o "$dir/bundle.nmb" -d 20s -- bash "$0" "$scene" "$side" "$dir" traffic
    echo "--- $(router nft list ruleset 2> /dev/null | grep counter)"
    for n in "router rc" "router rs" "client c0"; do
        set -- $n
        "$1" tc -s qdisc show dev "$2" | grep -v noqueue
    done
    for n in client router server; do
        echo "--- $n: $("$n" nstat -as 2> /dev/null | awk '/^(Tcp|Udp|IpExt|Ip)/ && $2 {printf "%s %s; ", $1, $2}')"
    done
} > "$dir/evidence.txt" 2>&1 < /dev/null
[ -s "$dir/bundle.nmb" ]
