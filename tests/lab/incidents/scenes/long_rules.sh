# ticket: Everything behind the gateway has become slow for its clients, small questions and pages alike. Its servers are idle, nothing is lost, and the line is not full.
# planted: 40,000 addresses are blocked in the router's forward chain by a rule each, loaded by `nft -f` while requests run; no rule lets established connections pass before them.
# first: rc
# first: rs
# first: a packet
# first: rules
plant() {
    serve server echo 7118
    {
        echo 'table ip blocklist {'
        echo '    chain forward {'
        echo '        type filter hook forward priority 0; policy accept;'
        for n in $(seq 0 39999); do
            echo "        ip saddr 100.$((64 + n / 65536)).$((n / 256 % 256)).$((n % 256)) drop"
        done
        echo '    }'
        echo '}'
    } > "$dir/blocklist.nft"
}
traffic() {
    ask requests 10.9.2.2 7118 8 new=1 gap=0.01 threads=6 &
    sleep 2.5
    router nft -f "$dir/blocklist.nft"
    wait
}
