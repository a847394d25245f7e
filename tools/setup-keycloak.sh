#!/bin/sh
# Brings Keycloak into .make/keycloak by Maven, for the tests of `make keycloak`. It needs Java 17 and 180 MB.
set -eu

version=26.7.4
folder=.make/keycloak
command -v mvn >/dev/null && command -v java >/dev/null || {
    echo "setup: Keycloak needs java and mvn (Debian: default-jre-headless maven)" >&2
    exit 1
}
[ -x "$folder/bin/kc.sh" ] && exit 0
rm -rf "$folder.new" && mkdir -p "$folder.new/packed"
mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy \
    -Dartifact=org.keycloak:keycloak-quarkus-dist:$version:tar.gz -DoutputDirectory="$PWD/$folder.new/packed"
tar -xzf "$folder.new/packed/keycloak-quarkus-dist-$version.tar.gz" -C "$folder.new" --strip-components 1
rm -rf "$folder" "$folder.new/packed" && mv "$folder.new" "$folder"
