#!/bin/sh
# Make the image localhost/wirerank-base:bookworm from Debian's packages, where no registry of images
# can be reached: Debian and its Python, nothing else. Needs root, debootstrap, and podman or docker.
#
#   deploy/image/debian_base.sh [podman|docker]
#   make image BASE=localhost/wirerank-base:bookworm
set -eu

builder=${1:-podman}
mirror=${MIRROR:-http://deb.debian.org/debian}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
chmod 0755 "$folder"
debootstrap --variant=minbase --include=python3,python3-venv,ca-certificates bookworm "$folder" "$mirror"
rm -rf "$folder"/var/cache/apt/* "$folder"/var/lib/apt/lists/* "$folder"/var/log/*
find "$folder/usr/share/doc" -type f ! -name copyright -delete
tar -C "$folder" --numeric-owner -c . | "$builder" import - localhost/wirerank-base:bookworm
