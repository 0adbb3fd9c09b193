#!/usr/bin/env bash
# Many recordings: `netmortem batch` over copies of the sample recordings, its time, CPU seconds and peak memory; then one question of the
# dataset to every engine that is there, which must all answer alike. Exit code 1 when they do not, or when the memory is above the limit.
#
#   tests/benches/scale.sh [COPIES_OF_EACH]        default 50 (of four recordings: 200)
#
# Needs GNU time, python3. Engines beside netmortem: DuckDB and PySpark (a local cluster of two workers), where python3 finds them
# (`pip install duckdb pyspark`; Spark needs Java). NETMORTEM names the program (default: target/release/netmortem, built when absent).
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
copies=${1:-50}
limit_mib=2048
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

/usr/bin/time -f '%e %U %S %M' -o "$tmp/time" "$netmortem" batch "$tmp/recordings" -o "$tmp/out" --memory 2G > "$tmp/said" 2>&1
python3 - "$tmp" "$copies" "$limit_mib" <<'PY'
import glob, os, sys
tmp, copies, limit = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
wall, user, system, kib = (float(x) for x in open(f"{tmp}/time").read().split())
size = lambda pattern: sum(os.path.getsize(p) for p in glob.glob(f"{tmp}/out/{pattern}", recursive=True)) / 1e6
print(f"batch of {4 * copies}: {wall:.1f} s, {user + system:.1f} CPU seconds ({(user + system) / wall / os.cpu_count():.0%} of {os.cpu_count()} CPUs), "
      f"{kib / 1024:.0f} MiB at most; {size('dataset/**/*.parquet'):.0f} MB of Parquet, {size('reports/*.html'):.0f} MB of pages")
sys.exit(kib / 1024 > limit)
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
