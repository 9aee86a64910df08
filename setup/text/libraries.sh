#!/bin/sh
# Puts what libraries.txt lists into build/text-libs: a static library of stemmers with its header,
# and the stop words of each language as C++ literals.
# Usage: sh setup/text/libraries.sh
set -eu

here=$(cd "$(dirname "$0")" && pwd)
top=$(dirname "$(dirname "$here")")
work=$top/build/text-sources
result=$top/build/text-libs
fresh=$work/fresh
languages='danish dutch english finnish french german hungarian italian norwegian portuguese
           romanian russian spanish swedish turkish'

# The column of the line about a package.
about() {
    grep "| *$1 *|" "$here/libraries.txt" | cut -d '|' -f "$2" | tr -d ' '
}

# Unpacks an archive that has the bytes that are listed.
unpack() {
    echo "$(about "$1" 4)  $2" | sha256sum --check --quiet
    tar --extract --gzip --file "$2" --directory "$work"
}

rm -rf "$work" "$result"
mkdir -p "$fresh/include/snowball" "$fresh/lib" "$work/lists"

stemmers=liblingua-stem-snowball-perl
version=$(about $stemmers 3)
# The source package has a second archive, which is not needed and may be gone.
(cd "$work" && PYTHONPATH="$top/setup" python3 -c "
from apt_lists import Apt
apt = Apt('$work/lists', 'deb-src')
apt.update()
apt('source', '--download-only', '$stemmers')") || true
unpack $stemmers "$work/${stemmers}_$version.orig.tar.gz"
sources=$work/Lingua-Stem-Snowball-$version/libstemmer_c
mkdir "$work/objects"
for file in "$sources"/src_c/*.c "$sources"/runtime/*.c "$sources"/libstemmer/libstemmer.c; do
    cc -O2 -fPIC -fvisibility=hidden -ffile-prefix-map="$work"=. -I "$sources/include" -w \
        -c "$file" -o "$work/objects/$(basename "$file" .c).o"
done
ar rcsD "$fresh/lib/libsnowball2010.a" "$work"/objects/*.o
cp "$sources/include/libstemmer.h" "$fresh/include/snowball/"

words=stop-words
version=$(about $words 3)
python=$top/build/venv/bin/python
[ -x "$python" ] || python=python3
"$python" -m pip download --quiet --no-deps --no-binary :all: --dest "$work" "$words==$version"
unpack $words "$work/$words-$version.tar.gz"
for language in $languages; do
    printf '{"%s", R"(' "$language"
    tr -d '\r' < "$work/$words-$version/stop_words/stop-words/$language.txt" |
        sed -e 's/^ *//' -e 's/ *$//' -e '/^$/d' | LC_ALL=C sort -u
    printf ')"},\n'
done > "$fresh/include/snowball/stop_words.inc"

cp "$here/libraries.txt" "$fresh/installed.txt"
mv "$fresh" "$result" # whole or not at all
rm -rf "$work"
