#!/bin/bash
# Downloads a dataset from the place that publishes it, converts it to Adjoint's HDF5 (data/README.md) and counts what came out.
#   data/fetch.sh NAME [OUT.h5]
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: data/fetch.sh NAME [OUT.h5]

Downloads a dataset from the place that publishes it and converts it to OUT.h5 (default: NAME.h5 here).

  NAME           nodes       edges  from
  cora            2708       10556  github.com/kimiyoung/planetoid
  citeseer        3327        9104  github.com/kimiyoung/planetoid
  pubmed         19717       88648  github.com/kimiyoung/planetoid
  ogbn-arxiv    169343     1166243  snap.stanford.edu/ogb
  ogbn-products 2449029  123718280  snap.stanford.edu/ogb
  reddit        232965   114615892  data.dgl.ai
  PROTEINS       43471      162088  www.chrsmrrs.com/graphkerneldatasets

Edges are directed ones, as the dataset's own loader has them. What is downloaded and unpacked lies in a folder beside OUT.h5, which
goes in the end, whatever happens; OUT.h5 appears when it is complete and has as many nodes, edges, features and classes as are known.
Needs curl or wget, python3 with h5py and numpy, and but for the first three build/bin/convert (`make build`). Licences are those
of the publishers.

  ADJOINT_FETCH_MIRROR   a URL (https://, http:// or file:///) under which the same files lie under their own names
  ADJOINT_FETCH_COUNTS   "NODES EDGES FEATURES CLASSES" to expect, where a mirror has other files under these names
  ADJOINT_BIN_DIR        where convert is (default: as built or installed beside this)
TEXT
}

die() { echo "fetch.sh: $*" >&2; exit 1; }
wrong_usage() { echo "fetch.sh: $*; see --help" >&2; exit 2; }

for word in "$@"; do
  case $word in
    -h | --help) usage; exit 0 ;;
    -*) wrong_usage "unknown option '$word'" ;;
  esac
done
[[ $# -ge 1 && $# -le 2 ]] || wrong_usage "expected NAME [OUT.h5], got $# words"

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
bin=$here/../build/bin
[[ -d $bin ]] || bin=$here/../../../bin  # where cmake --install puts it
convert=${ADJOINT_BIN_DIR:-$bin}/convert
name=$1
out=${2:-$name.h5}
planetoid=https://raw.githubusercontent.com/kimiyoung/planetoid/master/data

# Downloads, and the nodes, edges, features and classes of the result.
case $name in
  cora) counts="2708 10556 1433 7" ;;
  citeseer) counts="3327 9104 3703 6" ;;
  pubmed) counts="19717 88648 500 3" ;;
  ogbn-arxiv) counts="169343 1166243 128 40" ;;
  ogbn-products) counts="2449029 123718280 100 47" ;;
  reddit) counts="232965 114615892 602 41" ;;
  PROTEINS) counts="43471 162088 3 2" ;;
  *) wrong_usage "no dataset '$name', expected cora, citeseer, pubmed, ogbn-arxiv, ogbn-products, reddit or PROTEINS" ;;
esac
counts=${ADJOINT_FETCH_COUNTS:-$counts}

[[ ! -d $out ]] || die "$out: is a folder"
folder=$(dirname -- "$out")
[[ -d $folder && -w $folder ]] || die "$folder: is no folder that can be written to"
if command -v curl >/dev/null; then client=curl; elif command -v wget >/dev/null; then client=wget; else
  die "neither curl nor wget is here; one of them is needed to download (apt-get install curl)"
fi
command -v python3 >/dev/null || die "python3 is missing (apt-get install python3 python3-h5py python3-numpy)"
# Debian's h5py belongs to the system's interpreter, which need not be the first one.
python=
for candidate in python3 /usr/bin/python3; do
  if "$candidate" -c 'import h5py, numpy' 2>/dev/null; then python=$candidate; break; fi
done
[[ -n $python ]] || die "python3 has no h5py or no numpy (apt-get install python3-h5py python3-numpy)"
case $name in
  cora | citeseer | pubmed) ;;
  *) [[ -x $convert ]] || die "$convert is missing: make build makes it" ;;
esac

work=$(mktemp -d "$folder/.fetch-$name.XXXXXX") || die "$folder: no folder can be made in it"
trap 'rm -rf -- "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

curl_options=(--fail --location --retry 3 --connect-timeout 20 --speed-limit 1 --speed-time 60)

# download URL: into $work, under the URL's last part.
download() {
  local url=$1 to=$work/${1##*/} said
  [[ -z ${ADJOINT_FETCH_MIRROR:-} ]] || url=${ADJOINT_FETCH_MIRROR%/}/${url##*/}
  if [[ $url == file://* ]]; then
    said=$(cp -- "${url#file://}" "$to" 2>&1) && return
  elif [[ -t 2 && $client == curl ]]; then  # interactive
    echo "downloading $url" >&2
    curl "${curl_options[@]}" --progress-bar --output "$to" -- "$url" && return
    said="see above"
  elif [[ $client == curl ]]; then
    said=$(curl "${curl_options[@]}" --silent --show-error --output "$to" -- "$url" 2>&1) && return
  else
    said=$(wget --no-verbose --tries=3 --timeout=60 --output-document="$to" -- "$url" 2>&1) && return
  fi
  said=$(tail -n 1 <<<"$said")
  die "could not download $url: is there a network? (${said:-$client failed})"
}

# unpack ARCHIVE: into $work; the archive goes, for room.
unpack() {
  local said
  said=$("$python" -m zipfile --extract "$work/$1" "$work" 2>&1) ||
    die "$1: is no whole zip archive: $(tail -n 1 <<<"$said")"
  rm -- "$work/$1"
}

# converted FORMAT INPUT [OPTION]...: writes the result.
converted() {
  "$convert" "$1" "$2" "$result" --name "$name" "${@:3}" >&2 || die "convert $1 did not read what was downloaded for $name"
}

result=$work/$name.h5
case $name in
  cora | citeseer | pubmed)
    for part in x y tx ty allx ally graph test.index; do download "$planetoid/ind.$name.$part"; done
    "$python" "$here/to_adjoint.py" planetoid --from "$work" --name "$name" --out "$result" >/dev/null ||
      die "to_adjoint.py did not read what was downloaded for $name"
    ;;
  ogbn-arxiv)
    download http://snap.stanford.edu/ogb/data/nodeproppred/arxiv.zip
    unpack arxiv.zip
    converted ogb "$work/arxiv"
    ;;
  ogbn-products)  # undirected edges, each listed once
    download http://snap.stanford.edu/ogb/data/nodeproppred/products.zip
    unpack products.zip
    converted ogb "$work/products" --add-inverse-edges
    ;;
  reddit)
    download https://data.dgl.ai/dataset/reddit.zip
    unpack reddit.zip
    converted npz "$work/reddit_data.npz"
    ;;
  PROTEINS)
    download https://www.chrsmrrs.com/graphkerneldatasets/PROTEINS.zip
    unpack PROTEINS.zip
    converted tu "$work/PROTEINS"
    ;;
esac

"$python" - "$result" "$counts" <<'PYTHON' || die "$name: not what is known of it; nothing was written"
import sys
import h5py
with h5py.File(sys.argv[1], "r") as file:
    nodes = file.get("nodes", {})
    features = file["nodes/x"].shape[1] if "x" in nodes else file["nodes"].attrs.get("x_cols", 0) if nodes else 0
    found = [int(file.attrs["num_nodes"]), file["edges/src"].shape[0], int(features), int(file.attrs.get("num_classes", 0))]
expected = [int(count) for count in sys.argv[2].split()]
if found != expected:
    print("fetch.sh: {} nodes, {} edges, {} features, {} classes, expected {}, {}, {} and {}".format(*found, *expected),
          file=sys.stderr)
    sys.exit(1)
print("{} nodes, {} directed edges, {} features, {} classes".format(*found), file=sys.stderr)
PYTHON
mv -- "$result" "$out"
echo "$out: $name"
