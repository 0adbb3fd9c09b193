#!/usr/bin/env bash
# Many recordings: `netmortem batch` over copies of the sample recordings, its time, CPU seconds and peak memory; then one question of the
# dataset to every engine that is there, which must all answer alike. Exit code 1 when they do not, when the memory is above the limit,
# or when the batch had less than CPU_SHARE per cent (default 80) of all CPUs. That wants an idle machine: where others ran before it began
# (load of the last minute above a quarter of the CPUs) or beside it (the CPUs idled less than the batch left them), the share is printed
# and not judged.
#
#   tests/benches/scale.sh [COPIES_OF_EACH]        default 50 (of four recordings: 200)
#
# Needs GNU time, python3. Engines beside netmortem: DuckDB and PySpark (a local cluster of two workers), where python3 finds them
# (`pip install duckdb pyspark`; Spark needs Java). NETMORTEM names the program (default: target/release/netmortem, built when absent).
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
copies=${1:-50}
limit_mib=2048
least_share=${CPU_SHARE:-80}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
netmortem=${NETMORTEM:-${CARGO_TARGET_DIR:-$root/target}/release/netmortem}
[ -x "$netmortem" ] || (cd "$root" && cargo build -q --release)

mkdir "$tmp/in"
for n in $(seq "$copies"); do
    mkdir "$tmp/in/$n"
    for of in sawtooth/sawtooth rpc/rpc opens/opens kernel-6.1/netem; do
        ln -s "$root/sample-data/$of.nmb" "$tmp/in/$n/"
    done
done
# Copies, not links: each is a recording of its own.
cp -rL "$tmp/in" "$tmp/recordings"
du -sm "$tmp/recordings" | awk '{print $1 " MB of recordings"}'

load=$(cut -d' ' -f1 /proc/loadavg)
cpu_before=$(head -1 /proc/stat)
/usr/bin/time -f '%e %U %S %M' -o "$tmp/time" "$netmortem" batch "$tmp/recordings" -o "$tmp/out" --memory 2G > "$tmp/said" 2>&1
cpu_after=$(head -1 /proc/stat)
python3 - "$tmp" "$copies" "$limit_mib" "$least_share" "$load" "$cpu_before" "$cpu_after" <<'PY'
import glob, os, sys
tmp, copies, limit = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
least, load, before, after = float(sys.argv[4]) / 100, float(sys.argv[5]), sys.argv[6].split()[1:], sys.argv[7].split()[1:]
wall, user, system, kib = (float(x) for x in open(f"{tmp}/time").read().split())
size = lambda pattern: sum(os.path.getsize(p) for p in glob.glob(f"{tmp}/out/{pattern}", recursive=True)) / 1e6
print(f"batch of {4 * copies}: {wall:.1f} s, {user + system:.1f} CPU seconds ({(user + system) / wall / os.cpu_count():.0%} of {os.cpu_count()} CPUs), "
      f"{kib / 1024:.0f} MiB at most; {size('dataset/**/*.parquet'):.0f} MB of Parquet, {size('reports/*.html'):.0f} MB of pages")
# user nice system idle iowait irq softirq steal, in ticks of all CPUs.
ticks = [(int(b) - int(a)) / os.sysconf("SC_CLK_TCK") for a, b in zip(before, after)]
others = sum(ticks[:3]) + sum(ticks[5:8]) - (user + system)
share, busy_before = (user + system) / wall / os.cpu_count(), load / os.cpu_count()
too_little = False
if busy_before > 0.25 or others > 0.05 * wall * os.cpu_count():
    print(f"CPU share {share:.0%}: not judged, the machine is not idle (load {load} before, {others:.1f} CPU seconds of others meanwhile)")
else:
    too_little = share < least
    print(f"CPU share {share:.0%}: {'BELOW' if too_little else 'at least'} {least:.0%}")
sys.exit(kib / 1024 > limit or too_little)
PY

"$netmortem" query "$tmp/out" 'SELECT COUNT(DISTINCT bundle) AS recordings, COUNT(*) AS n, SUM(total_ns) AS ns FROM rx' --format csv > "$tmp/answer"
python3 - "$tmp" <<'PY'
import sys
tmp = sys.argv[1]
question = "SELECT COUNT(DISTINCT bundle), COUNT(*), SUM(total_ns) FROM rx"
answers = {"netmortem query": tuple(int(x) for x in open(f"{tmp}/answer").read().split()[-1].split(","))}
try:
    import duckdb
    db = duckdb.connect()
    db.execute(f"CREATE VIEW rx AS SELECT * FROM read_parquet('{tmp}/out/dataset/rx/*/*.parquet', hive_partitioning = true)")
    answers[f"DuckDB {duckdb.__version__}"] = tuple(int(x) for x in db.execute(question).fetchone())
except ImportError:
    print("DuckDB: skipped, python3 has no duckdb")
try:
    import os
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    import pyspark
    from pyspark.sql import SparkSession
    spark = (SparkSession.builder.master("local-cluster[2,1,1024]").config("spark.executor.memory", "900m")
             .config("spark.ui.enabled", "false").getOrCreate())
    spark.sparkContext.setLogLevel("ERROR")
    spark.read.parquet(f"{tmp}/out/dataset/rx").createOrReplaceTempView("rx")
    answers[f"PySpark {pyspark.__version__}, local-cluster"] = tuple(int(x) for x in spark.sql(question).first())
    spark.stop()
except ImportError:
    print("PySpark: skipped, python3 has no pyspark")
for engine, (recordings, rows, ns) in answers.items():
    print(f"{engine}: {recordings} recordings, {rows:,} rows, {ns:,} ns")
if len(set(answers.values())) > 1:
    sys.exit("the engines do not agree")
PY
