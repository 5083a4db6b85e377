# Sourced by the other scripts: makes sure that what the build needs is installed (Debian 12 and 13, Ubuntu 24.04
# and 26.04), and sets `setup_args`, the arguments for `meson setup`. When all is there, apt is not called at all.
# shellcheck shell=bash

# ccache does not see the files within a precompiled header, only the whole of it; its own manual asks for these.
export CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS-pch_defines,time_macros}

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
python_env=${DOORBELL_PYTHON_ENV:-${XDG_CACHE_HOME:-$HOME/.cache}/doorbell/python}
setup_args=()
jobs=$(nproc)

has_command() { command -v "$1" >/dev/null 2>&1; }
has_library() { has_command pkg-config && pkg-config --exists "$1"; }

# test | package | why
needs() {
  cat <<'EOF'
has_command g++|g++|compiles the project
has_command meson|meson|describes the build
has_command ninja|ninja-build|runs the build
has_command pkg-config|pkg-config|finds the libraries
has_command python3|python3|runs tests/tidy and counts the tests
has_library fmt|libfmt-dev|text formatting
has_library spdlog|libspdlog-dev|the log
has_library absl_flat_hash_map|libabsl-dev|hash maps, inlined vectors
has_library sqlite3|libsqlite3-dev|the compile cache
has_library zlib|zlib1g-dev|compressed data sets
has_library libarchive|libarchive-dev|zip and tar archives
has_library libcurl|libcurl4-openssl-dev|tensors from URLs
has_library libusb-1.0|libusb-1.0-0-dev|GPUs behind USB
has_library CLI11|libcli11-dev|command line of the tools
has_library nlohmann_json|nlohmann-json3-dev|JSON in and out
has_library gtest_main|libgtest-dev|the tests
has_header catch2/catch.hpp catch2/catch_test_macros.hpp|catch2|the test that our headers get on with others
has_header glog/logging.h|libgoogle-glog-dev|the same test
has_header doctest/doctest.h|doctest-dev|the same test
has_library benchmark|libbenchmark-dev|the benchmarks
has_command doxygen|doxygen|the reference of the public headers
has_command ccache|ccache|compiles once what pip builds again
has_python_headers|python3-dev|the Python module
has_venv|python3-venv|the Python module
has_command cmake|cmake|the test that builds against what is installed
has_clang|clang|the CLANG renderer of the CPU device
has_command rocminfo|rocminfo|a client of AMD GPUs that is not ours, for a test of the emulator
has_library libdrm_amdgpu|libdrm-dev|the kernel's headers of AMD GPUs, for tests
has_header linux/kfd_ioctl.h|linux-libc-dev|the same
has_header hsa/amd_hsa_queue.h|libhsa-runtime-dev|what AMD's runtime shares with its GPUs, for tests
has_library OpenCL-Headers|opencl-c-headers|OpenCL devices
has_command mpirun|openmpi-bin|programs of several processes, for tests
has_mpi_headers|libopenmpi-dev|the same
EOF
}

has_mpi_headers() { has_library ompi-c || has_library mpich; }

# Any of the names, where the system's compiler looks.
has_header() {
  local name
  for name in "$@"; do [ -e "${INCLUDE_FOLDER:-/usr/include}/$name" ] && return 0; done
  return 1
}

has_clang() {
  local version
  for version in '' -22 -21 -20 -19; do has_command "clang$version" && return 0; done
  return 1
}

has_python_headers() {
  python3 -c 'import os, sysconfig; os.stat(sysconfig.get_path("include") + "/Python.h")' 2>/dev/null
}
has_venv() { python3 -c 'import ensurepip' 2>/dev/null; }

# Some OpenCL implementation, and the ICD loader, which finds them.
has_opencl() {
  compgen -G "${OCL_ICD_VENDORS:-/etc/OpenCL/vendors}/*.icd" >/dev/null &&
    compgen -G "${OPENCL_FOLDER:-/usr/lib/*-linux-gnu}/libOpenCL.so.1" >/dev/null
}

# Mesa's Vulkan on the CPU (lavapipe), and the loader.
has_lavapipe() {
  compgen -G "${VULKAN_ICD_FOLDER:-/usr/share/vulkan/icd.d}/lvp_icd*.json" >/dev/null &&
    compgen -G "${VULKAN_FOLDER:-/usr/lib/*-linux-gnu}/libvulkan.so.1" >/dev/null
}

# AMD's compiler as a library.
has_comgr() {
  compgen -G "${COMGR_FOLDER:-/usr/lib/*-linux-gnu}/libamd_comgr.so.*" >/dev/null ||
    [ -e /opt/rocm/lib/libamd_comgr.so ]
}

# An LLVM to build with: headers and the shared library, not only llvm-config.
has_llvm() {
  local prefix
  has_command "llvm-config-$1" || return 1
  prefix=$("llvm-config-$1" --prefix)
  [ -e "$prefix/include/llvm/Config/llvm-config.h" ] && compgen -G "$prefix/lib/libLLVM*.so" >/dev/null
}

any_llvm() {
  local version
  for version in 22 21 20 19; do has_llvm "$version" && return 0; done
  return 1
}

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"
  elif has_command sudo; then sudo "$@"
  else
    echo "setup: these need root, and there is no sudo: $*" >&2
    return 1
  fi
}

install_packages() {
  if ! has_command apt-get; then
    echo "setup: no apt-get here; install by other means: $*" >&2
    return 1
  fi
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@" >&2
}

setup_doorbell() {
  local test package why missing=() version updated=
  while IFS='|' read -r test package why; do
    $test && continue
    echo "setup: installing $package: $why" >&2
    missing+=("$package")
  done < <(needs)

  if [ ${#missing[@]} -gt 0 ] || ! any_llvm || ! has_opencl || ! has_lavapipe || ! has_comgr; then
    if has_command apt-get; then as_root apt-get update -qq >&2 && updated=1; fi
  fi
  if [ ${#missing[@]} -gt 0 ]; then install_packages "${missing[@]}" || return 1; fi

  # The tests of OpenCL skip without a device of it; nothing else needs one.
  if ! has_opencl && [ -n "$updated" ]; then
    echo "setup: installing pocl-opencl-icd, ocl-icd-libopencl1: an OpenCL device for the tests" >&2
    install_packages pocl-opencl-icd ocl-icd-libopencl1 || echo "setup: the tests of OpenCL will be skipped" >&2
  fi

  # So for WebGPU's, which take wgpu-native from PyPI.
  if ! has_lavapipe && [ -n "$updated" ]; then
    echo "setup: installing mesa-vulkan-drivers, libvulkan1: a WebGPU adapter for the tests" >&2
    install_packages mesa-vulkan-drivers libvulkan1 || echo "setup: the tests of WebGPU will be skipped" >&2
  fi

  # So for the HIP renderer's.
  if ! has_comgr && [ -n "$updated" ]; then
    for package in libamd-comgr3 libamd-comgr2; do
      apt-cache show "$package" >/dev/null 2>&1 || continue
      echo "setup: installing $package: the HIP renderer of AMD" >&2
      if install_packages "$package"; then break; fi
      echo "setup: the tests of HIP will be skipped" >&2
    done
  fi

  # LLVM last, newest first; the project builds without it and then compiles with clang.
  if ! any_llvm && [ -n "$updated" ]; then
    for version in 22 21 20 19; do
      apt-cache show "llvm-$version-dev" >/dev/null 2>&1 || continue
      echo "setup: installing llvm-$version-dev: compilers in process" >&2
      if install_packages "llvm-$version-dev" && has_llvm "$version"; then break; fi
    done
  fi
  if ! any_llvm; then
    echo "setup: no LLVM 19 to 22 here: building with -Dllvm=disabled, kernels compile with clang" >&2
    setup_args+=(-Dllvm=disabled)
  fi
}

# setup_python FILES...: a virtual environment with the packages of these lists, and the arguments that build the Python
# module for it. Several copies of the project share it. Fails without PyPI; then the module is not built.
setup_python() {
  local env=$python_env list lists=() new=
  for list in "$@"; do
    lists+=(-r "$list")
    cmp -s "$list" "$env/$(basename "$list")" || new=$list
  done
  if [ -n "$new" ]; then
    echo "setup: installing the packages of $(basename -a "$@" | paste -sd ' ') in $env" >&2
    if python3 -m venv "$env" >&2 && "$env/bin/pip" install --quiet --no-cache-dir "${lists[@]}" >&2; then
      cp "$@" "$env"
    else
      echo "setup: $(basename -a "$@" | paste -sd ' ') cannot be had from PyPI: the Python module lacks them" >&2
      return 1
    fi
  fi
  setup_args+=("-Dpython_program=$env/bin/python" -Dpython=enabled)
}

# configure FOLDER ARGS...: meson setup. A folder configured before keeps its options, but for those that are asked for
# now and were not then.
configure() {
  local folder=$root/$1 options=(-Dprecompile=true "${setup_args[@]}" "${@:2}") changed
  if [ ! -e "$folder/build.ninja" ]; then
    meson setup "$folder" "$root" "${options[@]}"
    return
  fi
  changed=$(python3 "$root/scripts/changed_options.py" "$folder" "${options[@]}") || return
  [ -z "$changed" ] && return
  echo "setup: changing options of $folder:" $changed >&2
  mapfile -t options <<<"$changed"
  meson setup --reconfigure "$folder" "$root" "${options[@]}"
}

setup_doorbell || exit 1
