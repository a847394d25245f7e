#!/bin/sh
# Unpacks an LDAP server for the tests into .make/slapd: packages by name, nothing installed, no service started, no root needed.
set -eu

command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || {
    echo "setup: without apt-get there is no LDAP server; its tests are skipped" >&2
    exit 0
}
folder=.make/slapd
rm -rf "$folder.new" && mkdir -p "$folder.new/packages"
cd "$folder.new/packages"
if ! apt-get download -q slapd ldap-utils libldap-2.5-0 libltdl7 libodbc2 libwrap0 2>/dev/null; then
    echo "setup: the packages of slapd cannot be had; the tests of LDAP are skipped" >&2
    exit 0
fi
cd ../../..
for package in "$folder.new"/packages/*.deb; do
    dpkg-deb -x "$package" "$folder.new"
done
rm -rf "$folder" "$folder.new/packages" && mv "$folder.new" "$folder"
