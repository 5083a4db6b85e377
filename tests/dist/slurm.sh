#!/usr/bin/env bash
# Runs the tests of several processes under Slurm on this machine alone: its daemons are started in a temporary
# folder, and ended. By hand, as root, with slurmctld, slurmd, slurm-client, munge and slurm-wlm-basic-plugins of
# Debian installed: no suite needs Slurm.
#
# usage: slurm.sh PROCESSES PROGRAM [MPI]      MPI: pmix (Open MPI, the default) or pmi2 (MPICH)
set -euo pipefail
processes=$1 program=$2 mpi=${3:-pmix}
folder=$(mktemp -d) host=$(hostname -s)
daemons=()
finish() {
  kill "${daemons[@]}" 2>/dev/null || true
  wait || true
  rm -rf "$folder"
}
trap finish EXIT

mkdir "$folder/state" "$folder/spool"
cat >"$folder/slurm.conf" <<END
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmdUser=root
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SlurmdParameters=config_overrides
NodeName=$host NodeAddr=127.0.0.1 CPUs=$processes State=UNKNOWN
PartitionName=test Nodes=$host Default=YES State=UP
END
export SLURM_CONF=$folder/slurm.conf
if ! munge -n >/dev/null 2>&1; then
  install -d -o munge /run/munge
  runuser -u munge -- munged --foreground >"$folder/munged.log" 2>&1 & daemons+=($!)
fi
slurmctld -D >"$folder/slurmctld.log" 2>&1 & daemons+=($!)
slurmd -D -N "$host" >"$folder/slurmd.log" 2>&1 & daemons+=($!)
for _ in $(seq 60); do
  if [ "$(sinfo -h -o %t 2>/dev/null)" = idle ]; then break; fi
  sleep 0.5
done
CPU_THREADS=1 timeout 280 srun --mpi="$mpi" -n "$processes" "$program" --gtest_brief=1
