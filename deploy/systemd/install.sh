#!/bin/sh
# Install Wirerank for systemd, or remove it again. It can be run again at any time: it upgrades the
# software and the units, and leaves configuration and state as they are.
#
#   deploy/systemd/install.sh [--wheel FILE] [--python PROGRAM] [--no-kernels]
#   deploy/systemd/install.sh --uninstall [--purge]
#
# Software goes to /opt/wirerank, from the hashes of locks/deploy.txt. A sample configuration goes to
# /etc/wirerank, units to /etc/systemd/system. State is in /var/lib/wirerank. DESTDIR=FOLDER puts
# everything below a folder, for tests and packages. Nothing is started or enabled.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
root=${DESTDIR:-}
software=$root/opt/wirerank
settings=$root/etc/wirerank
units=$root/etc/systemd/system
users=$root/etc/sysusers.d
python=python3
wheel=
action=install
kernels=yes
purge=

fail() {
  echo "install.sh: $1" >&2
  exit 2
}

while [ $# -gt 0 ]; do
  case $1 in
    --wheel) [ $# -gt 1 ] || fail "--wheel needs a file"; wheel=$2; shift ;;
    --python) [ $# -gt 1 ] || fail "--python needs a program"; python=$2; shift ;;
    --no-kernels) kernels= ;;
    --uninstall) action=uninstall ;;
    --purge) purge=yes ;;
    *) fail "unknown option $1; see the first lines of $0" ;;
  esac
  shift
done
[ -z "$purge" ] || [ $action = uninstall ] || fail "--purge has no meaning without --uninstall"
[ -n "$root" ] || [ "$(id -u)" = 0 ] || fail "run it as root, or set DESTDIR to a folder"

# A running systemd, and not a folder that is being prepared.
has_systemd() {
  [ -z "$root" ] && [ -d /run/systemd/system ]
}

uninstall() {
  if has_systemd; then
    systemctl disable --now wirerank-run.service 'wirerank-*@*.service' 2>/dev/null || true
  fi
  for unit in "$here"/wirerank-*.service; do
    rm -f "$units/$(basename "$unit")"
  done
  rm -f "$users/wirerank.conf"
  rm -rf "$software"
  if [ -n "$purge" ]; then
    rm -rf "$settings" "$root/var/lib/wirerank"
    if has_systemd && getent passwd wirerank > /dev/null; then userdel wirerank; fi
    echo "Removed the software, the configuration and the state of Wirerank."
  else
    echo "Removed the software. The configuration in $settings and the state in" \
      "$root/var/lib/wirerank stay; --purge removes them too."
  fi
  if has_systemd; then systemctl daemon-reload; fi
}

install_software() {
  "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
    || fail "$python is $("$python" -V); Wirerank needs 3.11 or newer. Try --python python3.12"
  [ -x "$software/bin/python" ] || "$python" -m venv "$software" \
    || fail "no virtual environment could be made; on Debian: apt install python3-venv"
  pip="$software/bin/python -m pip --disable-pip-version-check --quiet"
  $pip install --require-hashes --only-binary :all: --requirement "$source/locks/deploy.txt"
  build=$(mktemp -d)
  trap 'rm -rf "$build"' EXIT
  if [ -z "$wheel" ]; then
    (cd "$source" && cp -R learners pipeline consumers pyproject.toml setup.py README.md LICENSE "$build")
    find "$build" -name __pycache__ -prune -exec rm -rf {} +
    commit=$(git -C "$source" rev-parse HEAD 2> /dev/null || true)
    WIRERANK_COMMIT=$commit $pip wheel --no-index --no-deps --no-build-isolation --wheel-dir "$build" "$build"
    wheel=$(find "$build" -maxdepth 1 -name 'wirerank-*.whl')
  fi
  $pip install --no-index --no-deps --force-reinstall "$wheel"
  # Workers run as another user, who cannot write here: all kernels are compiled now.
  if [ -n "$kernels" ]; then
    mkdir -p "$software/share"
    cp "$source/deploy/kernels.py" "$software/share/"
    echo "Compiling kernels for this processor. This takes some minutes."
    (cd / && NUMBA_CACHE_DIR='' "$software/bin/python" "$software/share/kernels.py" > "$build/kernels.log") \
      || { cat "$build/kernels.log" >&2; fail "the kernels could not be compiled"; }
    tail -n 2 "$build/kernels.log"
  fi
}

install_files() {
  install -d -m 0755 "$settings" "$units" "$users"
  install -d -m 0700 "$settings/credentials"
  install -m 0644 "$here/wirerank.sysusers" "$users/wirerank.conf"
  install -m 0644 "$here"/wirerank-*.service "$units"
  if [ ! -e "$settings/wirerank.toml" ]; then
    (cd / && "$software/bin/wirerank" config --example) > "$settings/wirerank.toml.new"
    sed -i -e 's|^folder = "[^"]*".*|folder = "/var/lib/wirerank/snapshots"|' \
      -e 's|^targets_folder = "[^"]*".*|targets_folder = "/var/lib/wirerank/targets"|' \
      "$settings/wirerank.toml.new"
    mv "$settings/wirerank.toml.new" "$settings/wirerank.toml"
    chmod 0644 "$settings/wirerank.toml"
  fi
  if [ ! -e "$settings/wirerank.env" ]; then
    (umask 077 && printf '%s\n' '# Secrets of the workers, one per line; only root reads this file.' \
      '# WIRERANK__KAFKA__SASL_PASSWORD=...' > "$settings/wirerank.env")
  fi
  if [ -n "$root" ]; then
    systemd-sysusers --root="$root" wirerank.conf 2>/dev/null || true
  elif command -v systemd-sysusers > /dev/null; then
    systemd-sysusers wirerank.conf
  elif ! getent passwd wirerank > /dev/null; then
    useradd --system --home-dir /var/lib/wirerank --shell /usr/sbin/nologin wirerank
  fi
  if has_systemd; then systemctl daemon-reload; fi
}

if [ $action = uninstall ]; then
  uninstall
  exit
fi
install_software
install_files
echo "Installed Wirerank in $software. Next: edit $settings/wirerank.toml, try it with"
echo "  /opt/wirerank/bin/wirerank check /etc/wirerank/wirerank.toml"
echo "and start the workers: systemctl enable --now wirerank-run"
