#!/usr/bin/env bash
# Tiers with a known bandwidth: ext4 on loop devices that the kernel throttles (cgroup v1 blkio).
# Needs root. Reads and writes of a tier are limited separately, each to the tier's rate.
#
#   throttled_tiers.sh up DIR SIZE_MIB RATE_MIB...   make tiers DIR/t0, DIR/t1 ...; rate 0 is no limit
#   throttled_tiers.sh rate DIR TIER RATE_MIB        change one tier's limit while in use
#   throttled_tiers.sh run DIR COMMAND...            run a command under the limits
#   throttled_tiers.sh down DIR                      remove everything again
set -euo pipefail

usage() { sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2; }
[ $# -ge 2 ] || usage
verb=$1 dir=$2
shift 2
group=/sys/fs/cgroup/blkio/kvstream-$(printf %s "$dir" | cksum | cut -d' ' -f1)

set_rate() {  # TIER RATE_MIB
  local device number
  device=$(cat "$dir/t$1.loop")
  number=$(lsblk -ndo MAJ:MIN "$device" | tr -d ' ')
  for operation in read write; do
    echo "$number $(($2 * 1048576))" > "$group/blkio.throttle.${operation}_bps_device"
  done
}

unmount() {  # DIR. A killed process's ring keeps files open for a moment.
  local attempt
  for attempt in {1..40}; do
    ! mountpoint -q "$1" || umount "$1" 2>/dev/null || { sleep 0.25; continue; }
    return 0
  done
  echo "cannot unmount $1" >&2
  exit 1
}

case $verb in
  up)
    [ $# -ge 2 ] || usage
    size_mib=$1
    shift
    [ -d /sys/fs/cgroup/blkio ] || { echo "no cgroup v1 blkio controller here" >&2; exit 1; }
    mkdir -p "$dir" "$group"
    tier=0
    for rate in "$@"; do
      fallocate -l "${size_mib}M" "$dir/t$tier.img"
      mkfs.ext4 -qF -E nodiscard "$dir/t$tier.img"
      device=$(losetup --find --show --direct-io=on "$dir/t$tier.img")
      echo "$device" > "$dir/t$tier.loop"
      mkdir -p "$dir/t$tier"
      mount "$device" "$dir/t$tier"
      chmod 700 "$dir/t$tier"
      set_rate "$tier" "$rate"
      tier=$((tier + 1))
    done
    ;;
  rate) [ $# -eq 2 ] || usage; set_rate "$1" "$2" ;;
  run)
    [ $# -ge 1 ] || usage
    echo $BASHPID > "$group/cgroup.procs"
    exec "$@"
    ;;
  down)
    for loop in "$dir"/t*.loop; do
      [ -e "$loop" ] || continue
      unmount "${loop%.loop}"
      losetup -d "$(cat "$loop")" || true
      rm -f "$loop" "${loop%.loop}.img"
    done
    rmdir "$group" 2>/dev/null || true
    ;;
  *) usage ;;
esac
