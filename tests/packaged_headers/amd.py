"""What records and numbers of drivers/amd/hw are called in the headers that distributions package.

Fields bear the same names unless RENAMED says otherwise. Names in NEWER came later than the oldest header that a
supported distribution has: only those may be missing.
"""
from compare import Group, Record

KFD = Group(
    "linux/kfd_ioctl.h", package="linux-libc-dev", includes=["linux/kfd_ioctl.h"],
    ours=["drivers/amd/hw/kfd.h", "drivers/amd/hw/kfd/event.h", "drivers/amd/hw/kfd/memory.h",
          "drivers/amd/hw/kfd/process.h", "drivers/amd/hw/kfd/queue.h", "drivers/amd/hw/context_save.h"],
    records=[
        Record("KfdGetVersion", "kfd_ioctl_get_version_args", "AMDKFD_IOC_GET_VERSION"),
        Record("KfdCreateQueue", "kfd_ioctl_create_queue_args", "AMDKFD_IOC_CREATE_QUEUE"),
        Record("KfdDestroyQueue", "kfd_ioctl_destroy_queue_args", "AMDKFD_IOC_DESTROY_QUEUE"),
        Record("KfdSetMemoryPolicy", "kfd_ioctl_set_memory_policy_args", "AMDKFD_IOC_SET_MEMORY_POLICY"),
        Record("KfdGetClockCounters", "kfd_ioctl_get_clock_counters_args", "AMDKFD_IOC_GET_CLOCK_COUNTERS"),
        Record("KfdGetProcessApertures", "kfd_ioctl_get_process_apertures_args", "AMDKFD_IOC_GET_PROCESS_APERTURES"),
        Record("KfdUpdateQueue", "kfd_ioctl_update_queue_args", "AMDKFD_IOC_UPDATE_QUEUE"),
        Record("KfdCreateEvent", "kfd_ioctl_create_event_args", "AMDKFD_IOC_CREATE_EVENT"),
        Record("KfdDestroyEvent", "kfd_ioctl_destroy_event_args", "AMDKFD_IOC_DESTROY_EVENT"),
        Record("KfdSetEvent", "kfd_ioctl_set_event_args", "AMDKFD_IOC_SET_EVENT"),
        Record("KfdResetEvent", "kfd_ioctl_reset_event_args", "AMDKFD_IOC_RESET_EVENT"),
        Record("KfdWaitEvents", "kfd_ioctl_wait_events_args", "AMDKFD_IOC_WAIT_EVENTS"),
        Record("KfdSetScratchBackingVa", "kfd_ioctl_set_scratch_backing_va_args", "AMDKFD_IOC_SET_SCRATCH_BACKING_VA"),
        Record("KfdGetTileConfig", "kfd_ioctl_get_tile_config_args", "AMDKFD_IOC_GET_TILE_CONFIG"),
        Record("KfdSetTrapHandler", "kfd_ioctl_set_trap_handler_args", "AMDKFD_IOC_SET_TRAP_HANDLER"),
        Record("KfdGetProcessAperturesNew", "kfd_ioctl_get_process_apertures_new_args",
               "AMDKFD_IOC_GET_PROCESS_APERTURES_NEW"),
        Record("KfdAcquireVm", "kfd_ioctl_acquire_vm_args", "AMDKFD_IOC_ACQUIRE_VM"),
        Record("KfdAllocMemory", "kfd_ioctl_alloc_memory_of_gpu_args", "AMDKFD_IOC_ALLOC_MEMORY_OF_GPU"),
        Record("KfdFreeMemory", "kfd_ioctl_free_memory_of_gpu_args", "AMDKFD_IOC_FREE_MEMORY_OF_GPU"),
        Record("KfdMapMemory", "kfd_ioctl_map_memory_to_gpu_args", "AMDKFD_IOC_MAP_MEMORY_TO_GPU"),
        Record("KfdUnmapMemory", "kfd_ioctl_unmap_memory_from_gpu_args", "AMDKFD_IOC_UNMAP_MEMORY_FROM_GPU"),
        Record("KfdSetCuMask", "kfd_ioctl_set_cu_mask_args", "AMDKFD_IOC_SET_CU_MASK"),
        Record("KfdGetQueueWaveState", "kfd_ioctl_get_queue_wave_state_args", "AMDKFD_IOC_GET_QUEUE_WAVE_STATE"),
        Record("KfdGetDmabufInfo", "kfd_ioctl_get_dmabuf_info_args", "AMDKFD_IOC_GET_DMABUF_INFO"),
        Record("KfdImportDmabuf", "kfd_ioctl_import_dmabuf_args", "AMDKFD_IOC_IMPORT_DMABUF"),
        Record("KfdExportDmabuf", "kfd_ioctl_export_dmabuf_args", "AMDKFD_IOC_EXPORT_DMABUF"),
        Record("KfdAllocQueueGws", "kfd_ioctl_alloc_queue_gws_args", "AMDKFD_IOC_ALLOC_QUEUE_GWS"),
        Record("KfdSmiEvents", "kfd_ioctl_smi_events_args", "AMDKFD_IOC_SMI_EVENTS"),
        Record("KfdSetXnackMode", "kfd_ioctl_set_xnack_mode_args", "AMDKFD_IOC_SET_XNACK_MODE"),
        Record("KfdAvailableMemory", "kfd_ioctl_get_available_memory_args", "AMDKFD_IOC_AVAILABLE_MEMORY"),
        Record("KfdRuntimeEnable", "kfd_ioctl_runtime_enable_args", "AMDKFD_IOC_RUNTIME_ENABLE"),
        Record("KfdProcessDeviceApertures", "kfd_process_device_apertures"),
        Record("KfdMemoryException", "kfd_hsa_memory_exception_data",
               renamed={"not_present": "failure.NotPresent", "read_only": "failure.ReadOnly",
                        "no_execute": "failure.NoExecute", "imprecise": "failure.imprecise",
                        "error_type": "ErrorType"}),
        Record("KfdHwException", "kfd_hsa_hw_exception_data"),
        Record("KfdEventData", "kfd_event_data",
               fields=["memory_exception", "hw_exception", "last_event_age", "ext", "event_id"],
               renamed={"memory_exception": "memory_exception_data", "hw_exception": "hw_exception_data",
                        "last_event_age": "signal_event_data.last_event_age", "ext": "kfd_event_data_ext"}),
        Record("ContextSaveHeader", "kfd_context_save_area_header",
               renamed={"control_stack_offset": "wave_state.control_stack_offset",
                        "control_stack_size": "wave_state.control_stack_size",
                        "wave_state_offset": "wave_state.wave_state_offset",
                        "wave_state_size": "wave_state.wave_state_size"}),
    ],
    numbers={
        "kKfdMajor": "KFD_IOCTL_MAJOR_VERSION",
        "kKfdQueueCompute": "KFD_IOC_QUEUE_TYPE_COMPUTE",
        "kKfdQueueSdma": "KFD_IOC_QUEUE_TYPE_SDMA",
        "kKfdQueueComputeAql": "KFD_IOC_QUEUE_TYPE_COMPUTE_AQL",
        "kKfdQueueSdmaXgmi": "KFD_IOC_QUEUE_TYPE_SDMA_XGMI",
        "kKfdQueueSdmaByEngine": "KFD_IOC_QUEUE_TYPE_SDMA_BY_ENG_ID",
        "kKfdMaxQueuePercentage": "KFD_MAX_QUEUE_PERCENTAGE",
        "kKfdMaxQueuePriority": "KFD_MAX_QUEUE_PRIORITY",
        "kKfdMinQueueRingSize": "KFD_MIN_QUEUE_RING_SIZE",
        "kKfdCachePolicyCoherent": "KFD_IOC_CACHE_POLICY_COHERENT",
        "kKfdCachePolicyNoncoherent": "KFD_IOC_CACHE_POLICY_NONCOHERENT",
        "kKfdApertureNodes": "NUM_OF_SUPPORTED_GPUS",
        "kKfdEventSignal": "KFD_IOC_EVENT_SIGNAL",
        "kKfdEventNodeChange": "KFD_IOC_EVENT_NODECHANGE",
        "kKfdEventDeviceStateChange": "KFD_IOC_EVENT_DEVICESTATECHANGE",
        "kKfdEventHwException": "KFD_IOC_EVENT_HW_EXCEPTION",
        "kKfdEventSystem": "KFD_IOC_EVENT_SYSTEM_EVENT",
        "kKfdEventDebug": "KFD_IOC_EVENT_DEBUG_EVENT",
        "kKfdEventProfile": "KFD_IOC_EVENT_PROFILE_EVENT",
        "kKfdEventQueue": "KFD_IOC_EVENT_QUEUE_EVENT",
        "kKfdEventMemory": "KFD_IOC_EVENT_MEMORY",
        "kKfdWaitComplete": "KFD_IOC_WAIT_RESULT_COMPLETE",
        "kKfdWaitTimeout": "KFD_IOC_WAIT_RESULT_TIMEOUT",
        "kKfdWaitFail": "KFD_IOC_WAIT_RESULT_FAIL",
        "kKfdSignalEventLimit": "KFD_SIGNAL_EVENT_LIMIT",
        "kKfdResetWholeGpu": "KFD_HW_EXCEPTION_WHOLE_GPU_RESET",
        "kKfdResetPerEngine": "KFD_HW_EXCEPTION_PER_ENGINE_RESET",
        "kKfdResetGpuHang": "KFD_HW_EXCEPTION_GPU_HANG",
        "kKfdResetEcc": "KFD_HW_EXCEPTION_ECC",
        "kKfdMemNoRas": "KFD_MEM_ERR_NO_RAS",
        "kKfdMemSramEcc": "KFD_MEM_ERR_SRAM_ECC",
        "kKfdMemPoisonConsumed": "KFD_MEM_ERR_POISON_CONSUMED",
        "kKfdMemGpuHang": "KFD_MEM_ERR_GPU_HANG",
        "kKfdMemVram": "KFD_IOC_ALLOC_MEM_FLAGS_VRAM",
        "kKfdMemGtt": "KFD_IOC_ALLOC_MEM_FLAGS_GTT",
        "kKfdMemUserptr": "KFD_IOC_ALLOC_MEM_FLAGS_USERPTR",
        "kKfdMemDoorbell": "KFD_IOC_ALLOC_MEM_FLAGS_DOORBELL",
        "kKfdMemMmioRemap": "KFD_IOC_ALLOC_MEM_FLAGS_MMIO_REMAP",
        "kKfdMemWritable": "KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE",
        "kKfdMemExecutable": "KFD_IOC_ALLOC_MEM_FLAGS_EXECUTABLE",
        "kKfdMemPublic": "KFD_IOC_ALLOC_MEM_FLAGS_PUBLIC",
        "kKfdMemNoSubstitute": "KFD_IOC_ALLOC_MEM_FLAGS_NO_SUBSTITUTE",
        "kKfdMemAqlQueue": "KFD_IOC_ALLOC_MEM_FLAGS_AQL_QUEUE_MEM",
        "kKfdMemCoherent": "KFD_IOC_ALLOC_MEM_FLAGS_COHERENT",
        "kKfdMemUncached": "KFD_IOC_ALLOC_MEM_FLAGS_UNCACHED",
        "kKfdMemExtCoherent": "KFD_IOC_ALLOC_MEM_FLAGS_EXT_COHERENT",
        "kKfdMemContiguous": "KFD_IOC_ALLOC_MEM_FLAGS_CONTIGUOUS",
        "kKfdRuntimeEnable": "KFD_RUNTIME_ENABLE_MODE_ENABLE_MASK",
        "kKfdRuntimeTtmpSave": "KFD_RUNTIME_ENABLE_MODE_TTMP_SAVE_MASK",
    },
    newer={
        "kfd_ioctl_export_dmabuf_args": "1.12", "AMDKFD_IOC_EXPORT_DMABUF": "1.12",
        "kfd_ioctl_runtime_enable_args": "1.13", "AMDKFD_IOC_RUNTIME_ENABLE": "1.13",
        "KFD_RUNTIME_ENABLE_MODE_ENABLE_MASK": "1.13", "KFD_RUNTIME_ENABLE_MODE_TTMP_SAVE_MASK": "1.13",
        "kfd_context_save_area_header": "1.13", "last_event_age": "1.14",
        "KFD_IOC_ALLOC_MEM_FLAGS_EXT_COHERENT": "1.15", "KFD_IOC_ALLOC_MEM_FLAGS_CONTIGUOUS": "1.16",
        "KFD_IOC_QUEUE_TYPE_SDMA_BY_ENG_ID": "1.17", "sdma_engine_id": "1.17",
    },
    no_counterpart={
        "kKfdMinor": "the version that the project is written against", "kKfdOldestMinor": "a version that it takes",
        "kKfdExportMinor": "a version", "kKfdRuntimeMinor": "a version", "kKfdExtCoherentMinor": "a version",
        "kKfdCreateQueueOldBytes": "the size at versions before 1.17, compared where the header is one",
        # context_save.h: what firmware and the kernel's trap handler write.
        "RelaunchStateGfx9": "control stack", "RelaunchWaveGfx9": "control stack", "RelaunchState": "control stack",
        "RelaunchWave": "control stack", "RelaunchWaveMore": "control stack", "SavedRegistersGfx9": "saved waves",
        "SavedRegisters": "saved waves", "SavedRegistersGfx12": "saved waves", "kHaltedPcRewind": "saved waves",
        "kSavedRegisterBytes": "saved waves", "kSavedTrapRegisterBytes": "saved waves",
        "kSavedGapBytesGfx9": "saved waves", "kSavedScalars": "saved waves", "kStackHeaderWords": "control stack",
    },
    extra=["static_assert(sizeof(kfd_ioctl_create_queue_args) == sizeof(KfdCreateQueue) || "
           "sizeof(kfd_ioctl_create_queue_args) == kKfdCreateQueueOldBytes, \"kKfdCreateQueueOldBytes\");"],
    wrong=[(r"(struct kfd_ioctl_wait_events_args \{)", r"\1 __u32 wrong;", "KfdWaitEvents.events_ptr"),
           (r"(#define KFD_IOC_EVENT_MEMORY\s+)8", r"\g<1>9", "kKfdEventMemory")])

DRM = Group(
    "libdrm/amdgpu_drm.h", package="libdrm-dev", includes=["libdrm/drm.h", "libdrm/amdgpu_drm.h"],
    ours=["drivers/amd/hw/drm.h"],
    records=[
        Record("DrmVersion", "drm_version", "DRM_IOCTL_VERSION"),
        Record("DrmGetClient", "drm_client", "DRM_IOCTL_GET_CLIENT"),
        Record("DrmPrimeHandleToFd", "drm_prime_handle", "DRM_IOCTL_PRIME_HANDLE_TO_FD"),
        Record("DrmPrimeFdToHandle", "drm_prime_handle", "DRM_IOCTL_PRIME_FD_TO_HANDLE"),
        Record("DrmAmdgpuInfo", "drm_amdgpu_info", "DRM_IOCTL_AMDGPU_INFO",
               fields=["return_pointer", "return_size", "query", "argument[0]", "argument[3]"],
               renamed={"argument[0]": "read_mmr_reg.dword_offset", "argument[3]": "read_mmr_reg.flags"}),
        Record("DrmDeviceInfo", "drm_amdgpu_info_device", grows=True),
        Record("DrmHeapInfo", "drm_amdgpu_heap_info"),
        Record("DrmMemoryInfo", "drm_amdgpu_memory_info"),
    ],
    numbers={
        "kDrmInfoAccelWorking": "AMDGPU_INFO_ACCEL_WORKING", "kDrmInfoHwIpInfo": "AMDGPU_INFO_HW_IP_INFO",
        "kDrmInfoFwVersion": "AMDGPU_INFO_FW_VERSION", "kDrmInfoVramGtt": "AMDGPU_INFO_VRAM_GTT",
        "kDrmInfoReadMmrReg": "AMDGPU_INFO_READ_MMR_REG", "kDrmInfoDevInfo": "AMDGPU_INFO_DEV_INFO",
        "kDrmInfoMemory": "AMDGPU_INFO_MEMORY",
    },
    newer={"pcie_gen": "Linux 6.3, instead of padding,", "pcie_num_lanes": "Linux 6.3, instead of padding,"},
    wrong=[(r"(struct drm_amdgpu_heap_info \{)", r"\1 __u64 wrong;", "DrmHeapInfo.total_heap_size"),
           (r"(#define AMDGPU_INFO_MEMORY\s+)0x19", r"\g<1>0x1a", "kDrmInfoMemory")])

HSA = Group(
    "hsa/amd_hsa_queue.h", package="libhsa-runtime-dev",
    includes=["hsa/hsa.h", "hsa/amd_hsa_queue.h", "hsa/amd_hsa_signal.h"],
    folders=["/usr/include", "/opt/rocm/include"],
    ours=["drivers/amd/hw/aql.h"],
    records=[
        Record("AmdSignal", "amd_signal_s", renamed={"event_mailbox": "event_mailbox_ptr", "queue": "queue_ptr"}),
        Record("AmdQueue", ("amd_queue_v2_s", "amd_queue_s"), grows=True,
               renamed={"queue_type": "hsa_queue.type", "features": "hsa_queue.features",
                        "base_address": "hsa_queue.base_address", "doorbell_signal": "hsa_queue.doorbell_signal",
                        "size": "hsa_queue.size", "id": "hsa_queue.id"}),
        Record("ScratchLastUsed", "scratch_last_used_index_xcc_s", renamed={"alternate": "alt"}),
    ],
    bits=[
        Record("KernelDispatchPacket", "hsa_kernel_dispatch_packet_t",
               fields=["workgroup_size_x", "workgroup_size_y", "workgroup_size_z", "grid_size_x", "grid_size_y",
                       "grid_size_z", "private_segment_size", "group_segment_size", "kernel_object",
                       "kernarg_address", "completion_signal"]),
        Record("BarrierPacket", "hsa_barrier_and_packet_t",
               fields=[*(f"dep_{i}" for i in range(5)), "completion_signal"],
               renamed={f"dep_{i}": f"dep_signal[{i}]" for i in range(5)}),
        Record("Pm4IbPacket", "hsa_kernel_dispatch_packet_t", fields=["completion_signal"]),
    ],
    numbers={
        "AqlType::VendorSpecific": "HSA_PACKET_TYPE_VENDOR_SPECIFIC", "AqlType::Invalid": "HSA_PACKET_TYPE_INVALID",
        "AqlType::KernelDispatch": "HSA_PACKET_TYPE_KERNEL_DISPATCH",
        "AqlType::BarrierAnd": "HSA_PACKET_TYPE_BARRIER_AND",
        "AqlType::AgentDispatch": "HSA_PACKET_TYPE_AGENT_DISPATCH", "AqlType::BarrierOr": "HSA_PACKET_TYPE_BARRIER_OR",
        "FenceScope::None": "HSA_FENCE_SCOPE_NONE", "FenceScope::Agent": "HSA_FENCE_SCOPE_AGENT",
        "FenceScope::System": "HSA_FENCE_SCOPE_SYSTEM",
        "kAqlPacketBytes": "sizeof(hsa_kernel_dispatch_packet_t)",
        "kQueueEnableTrapHandler": "AMD_QUEUE_PROPERTIES_ENABLE_TRAP_HANDLER",
        "kQueueIsPtr64": "AMD_QUEUE_PROPERTIES_IS_PTR64",
        "kQueueEnableProfiling": "AMD_QUEUE_PROPERTIES_ENABLE_PROFILING",
        "kQueueCpAsyncReclaim": "AMD_QUEUE_CAPS_CP_ASYNC_RECLAIM",
        "kQueueSwAsyncReclaim": "AMD_QUEUE_CAPS_SW_ASYNC_RECLAIM",
        "AmdSignal{}.kind": "AMD_SIGNAL_KIND_USER", "alignof(AmdSignal)": "AMD_SIGNAL_ALIGN_BYTES",
        "alignof(AmdQueue)": "AMD_QUEUE_ALIGN_BYTES",
    },
    places={
        **{(packet, name): (f"HSA_PACKET_HEADER_{theirs}", f"HSA_PACKET_HEADER_WIDTH_{theirs}")
           for packet in ("AqlHeader", "KernelDispatchPacket", "BarrierPacket", "Pm4IbPacket")
           for name, theirs in (("type", "TYPE"), ("barrier", "BARRIER"), ("acquire", "SCACQUIRE_FENCE_SCOPE"),
                                ("release", "SCRELEASE_FENCE_SCOPE"))},
        ("KernelDispatchPacket", "dimensions"): (
            "offsetof(hsa_kernel_dispatch_packet_t, setup) * 8 + HSA_KERNEL_DISPATCH_PACKET_SETUP_DIMENSIONS",
            "HSA_KERNEL_DISPATCH_PACKET_SETUP_WIDTH_DIMENSIONS"),
    },
    newer={name: "a newer ROCm, instead of padding,"
           for name in ("caps", "scratch_max_use_index", "alt_scratch_max_use_index",
                        "alt_scratch_resource_descriptor", "alt_scratch_backing_memory_location",
                        "alt_scratch_dispatch_limit_x", "alt_scratch_dispatch_limit_y",
                        "alt_scratch_dispatch_limit_z", "alt_scratch_wave64_lane_byte_size",
                        "alt_compute_tmpring_size", "scratch_last_used_index_xcc_s",
                        "AMD_QUEUE_CAPS_CP_ASYNC_RECLAIM", "AMD_QUEUE_CAPS_SW_ASYNC_RECLAIM")},
    no_counterpart={
        "QueueError": "what firmware stores: see aql.h",
        **{f"Pm4IbPacket.{name}": "AMD's own packet, aql_test.cc" for name in (
            "vendor_header", "ib_jump_0", "ib_jump_1", "ib_jump_2", "ib_jump_3", "remaining")},
    },
    wrong=[(r"(uint32_t compute_tmpring_size;)", r"uint32_t wrong; \1", "AmdQueue.compute_tmpring_size"),
           (r"(AMD_QUEUE_PROPERTIES_IS_PTR64, )1", r"\g<1>2", "kQueueIsPtr64")],
    wrong_header="hsa/amd_hsa_queue.h")


def of_register(record, register, names):
    """{(record, field): where}, of LLVM's (prefix, first name, last name) by field."""
    places = {}
    for field, (prefix, *ends) in names.items():
        first, last = (f"{register}_{prefix}{name}" for name in (ends[0], ends[-1]))
        places[record, field] = (f"{first}_SHIFT", f"{last}_SHIFT + {last}_WIDTH - {first}_SHIFT")
    return places


RSRC1 = of_register("ComputePgmRsrc1", "COMPUTE_PGM_RSRC1", {
    "vgprs": ("", "GRANULATED_WORKITEM_VGPR_COUNT"), "sgprs": ("", "GRANULATED_WAVEFRONT_SGPR_COUNT"),
    "priority": ("", "PRIORITY"), "float_mode": ("", "FLOAT_ROUND_MODE_32", "FLOAT_DENORM_MODE_16_64"),
    "priv": ("", "PRIV"), "dx10_clamp": ("GFX6_GFX11_", "ENABLE_DX10_CLAMP"), "debug_mode": ("", "DEBUG_MODE"),
    "ieee_mode": ("GFX6_GFX11_", "ENABLE_IEEE_MODE"), "bulky": ("", "BULKY"), "cdbg_user": ("", "CDBG_USER"),
    "fp16_ovfl": ("GFX9_PLUS_", "FP16_OVFL"), "wgp_mode": ("GFX10_PLUS_", "WGP_MODE"),
    "mem_ordered": ("GFX10_PLUS_", "MEM_ORDERED"), "fwd_progress": ("GFX10_PLUS_", "FWD_PROGRESS")})
RSRC2 = of_register("ComputePgmRsrc2", "COMPUTE_PGM_RSRC2", {
    "scratch_en": ("", "ENABLE_PRIVATE_SEGMENT"), "tgid_x_en": ("", "ENABLE_SGPR_WORKGROUP_ID_X"),
    "tgid_y_en": ("", "ENABLE_SGPR_WORKGROUP_ID_Y"), "tgid_z_en": ("", "ENABLE_SGPR_WORKGROUP_ID_Z"),
    "tg_size_en": ("", "ENABLE_SGPR_WORKGROUP_INFO"), "tidig_comp_cnt": ("", "ENABLE_VGPR_WORKITEM_ID"),
    "excp_en_msb": ("", "ENABLE_EXCEPTION_ADDRESS_WATCH", "ENABLE_EXCEPTION_MEMORY"),
    "lds_size": ("", "GRANULATED_LDS_SIZE"),
    "excp_en": ("", "ENABLE_EXCEPTION_IEEE_754_FP_INVALID_OPERATION", "ENABLE_EXCEPTION_INT_DIVIDE_BY_ZERO")})
RSRC3 = {
    **of_register("ComputePgmRsrc3Gfx9", "COMPUTE_PGM_RSRC3_GFX90A", {
        "accum_offset": ("", "ACCUM_OFFSET"), "tg_split": ("", "TG_SPLIT")}),
    **of_register("ComputePgmRsrc3Gfx10", "COMPUTE_PGM_RSRC3", {
        "shared_vgpr_cnt": ("GFX10_GFX11_", "SHARED_VGPR_COUNT"), "inst_pref_size": ("GFX11_", "INST_PREF_SIZE"),
        "trap_on_start": ("GFX11_", "TRAP_ON_START"), "trap_on_end": ("GFX11_", "TRAP_ON_END"),
        "image_op": ("GFX11_PLUS_", "IMAGE_OP")}),
    **of_register("ComputePgmRsrc3Gfx12", "COMPUTE_PGM_RSRC3", {
        "inst_pref_size": ("GFX12_PLUS_", "INST_PREF_SIZE"), "glg_en": ("GFX12_PLUS_", "GLG_EN"),
        "image_op": ("GFX11_PLUS_", "IMAGE_OP")})}
PROPERTIES = {
    ("KernelDescriptor", name.lower()): (f"kProperties + KERNEL_CODE_PROPERTY_{name}_SHIFT",
                                         f"KERNEL_CODE_PROPERTY_{name}_WIDTH")
    for name in ("ENABLE_SGPR_PRIVATE_SEGMENT_BUFFER", "ENABLE_SGPR_DISPATCH_PTR", "ENABLE_SGPR_QUEUE_PTR",
                 "ENABLE_SGPR_KERNARG_SEGMENT_PTR", "ENABLE_SGPR_DISPATCH_ID", "ENABLE_SGPR_FLAT_SCRATCH_INIT",
                 "ENABLE_SGPR_PRIVATE_SEGMENT_SIZE", "ENABLE_WAVEFRONT_SIZE32", "USES_DYNAMIC_STACK")}
PRELOAD = {("KernelDescriptor", f"kernarg_preload_{name.lower()}"): (
    f"offsetof(kernel_descriptor_t, kernarg_preload) * 8 + KERNARG_PRELOAD_SPEC_{name}_SHIFT",
    f"KERNARG_PRELOAD_SPEC_{name}_WIDTH") for name in ("LENGTH", "OFFSET")}

LLVM = Group(
    "llvm/Support/AMDHSAKernelDescriptor.h", package="llvm-19-dev or newer",
    includes=["llvm/Support/AMDHSAKernelDescriptor.h", "llvm/BinaryFormat/ELF.h"],
    folders=[f"/usr/lib/llvm-{version}/include" for version in (22, 21, 20, 19)],
    ours=["drivers/amd/hw/abi/kernel_descriptor.h", "drivers/amd/hw/program_registers.h"],
    opening=["using namespace llvm::amdhsa; using namespace llvm::ELF;",
             "constexpr unsigned kProperties = offsetof(kernel_descriptor_t, kernel_code_properties) * 8;"],
    bits=[Record("KernelDescriptor", "kernel_descriptor_t",
                 fields=["group_segment_fixed_size", "private_segment_fixed_size", "kernarg_size", "entry_offset",
                         "rsrc3", "rsrc1", "rsrc2"],
                 renamed={"entry_offset": "kernel_code_entry_byte_offset", "rsrc1": "compute_pgm_rsrc1",
                          "rsrc2": "compute_pgm_rsrc2", "rsrc3": "compute_pgm_rsrc3"})],
    places={**RSRC1, **RSRC2, **RSRC3, **PROPERTIES, **PRELOAD},
    numbers={
        "kKernelDescriptorBytes": "sizeof(kernel_descriptor_t)", "kElfMachine": "EM_AMDGPU",
        "kRelocationAbs32Lo": "R_AMDGPU_ABS32_LO", "kRelocationAbs32Hi": "R_AMDGPU_ABS32_HI",
        "kRelocationAbs64": "R_AMDGPU_ABS64", "kRelocationRel32": "R_AMDGPU_REL32",
        "kRelocationRel64": "R_AMDGPU_REL64", "kRelocationAbs32": "R_AMDGPU_ABS32",
        "kRelocationRel32Lo": "R_AMDGPU_REL32_LO", "kRelocationRel32Hi": "R_AMDGPU_REL32_HI",
        "kRelocationRelative64": "R_AMDGPU_RELATIVE64",
    },
    chips=["drivers/amd/hw/isa/chip.h", "drivers/amd/hw/abi/elf_chip.cc"],
    newer={"EF_AMDGPU_MACH_AMDGCN_GFX950": "LLVM 20", "EF_AMDGPU_MACH_AMDGCN_GFX1153": "LLVM 20"},
    no_counterpart={
        "kCodeAlignment": "written in AMDGPUUsage only",
        "ComputePgmRsrc2.user_sgpr": "LLVM's name changes with its versions; of what registers_test.cc says",
        "ComputePgmRsrc2.trap_present": "as user_sgpr", "ComputePgmRsrc2.skip_usgpr0": "reserved in LLVM's header",
        "ComputePgmRsrc3Gfx9.trap_on_start": "reserved in LLVM's header",
        "ComputePgmRsrc3Gfx9.trap_on_end": "reserved in LLVM's header",
        "ComputePgmRsrc3Gfx12.shared_vgpr_cnt": "reserved in LLVM's header",
        "ScratchResource": "a buffer resource", "ScratchFormatGfx10": "a buffer resource",
        "ScratchFormatGfx9": "a buffer resource", "IndexStride": "a buffer resource",
    },
    wrong=[(r"(uint32_t kernarg_size;)", r"uint32_t wrong; \1", "KernelDescriptor.kernarg_size"),
           (r"(GRANULATED_LDS_SIZE, )15", r"\g<1>16", "ComputePgmRsrc2.lds_size")],
    wrong_header="llvm/Support/AMDHSAKernelDescriptor.h")

GROUPS = [KFD, DRM, HSA, LLVM]

# Files of drivers/amd/hw that no packaged header defines, and what checks them instead.
GOLDENS = {
    "drivers/amd/hw/abi/buffer_resource.h": "static_asserts beside it; LLVM and CK by tests/codegen",
    "drivers/amd/hw/abi/elf_chip.h": "the numbers are compared above",
    "drivers/amd/hw/abi/kernel_args.h": "Doorbell's own convention",
    "drivers/amd/hw/bare/byte_reader.h": "Doorbell's own",
    "drivers/amd/hw/bare/discovery.h": "bare_test.cc",
    "drivers/amd/hw/bare/fields.h": "bare_test.cc",
    "drivers/amd/hw/bare/firmware.h": "bare_test.cc",
    "drivers/amd/hw/bare/interrupts.h": "bare_test.cc",
    "drivers/amd/hw/bare/mqd.h": "bare_test.cc",
    "drivers/amd/hw/bare/page_table.h": "bare_test.cc",
    "drivers/amd/hw/bare/psp.h": "bare_test.cc",
    "drivers/amd/hw/bare/register_fields.h": "names of the records in fields.h and page_table.h",
    "drivers/amd/hw/bare/registers.h": "bare_test.cc",
    "drivers/amd/hw/compute_registers.h": "registers_test.cc, gfx10_test.cc, gfx12_test.cc",
    "drivers/amd/hw/generation.h": "Doorbell's own",
    "drivers/amd/hw/ioctl.h": "by every request that is compared above",
    "drivers/amd/hw/ioctl_text.h": "Doorbell's own",
    "drivers/amd/hw/isa/chip.h": "the numbers are compared above",
    "drivers/amd/hw/pm4/flow.h": "pm4_test.cc, gfx10_test.cc, gfx12_test.cc",
    "drivers/amd/hw/pm4/memory.h": "pm4_test.cc",
    "drivers/amd/hw/pm4/opcode.h": "pm4_test.cc",
    "drivers/amd/hw/pm4/packets.h": "a list of the others",
    "drivers/amd/hw/pm4/release.h": "pm4_test.cc, gfx10_test.cc, gfx12_test.cc",
    "drivers/amd/hw/pm4/set_register.h": "registers_test.cc",
    "drivers/amd/hw/pm4/sync.h": "pm4_test.cc, gfx10_test.cc, gfx12_test.cc",
    "drivers/amd/hw/saved_waves.h": "saved_waves_test.cc",
    "drivers/amd/hw/sdma/copy.h": "sdma_test.cc, gfx10_test.cc, gfx12_test.cc",
    "drivers/amd/hw/sdma/opcode.h": "sdma_test.cc",
    "drivers/amd/hw/sdma/packets.h": "a list of the others",
    "drivers/amd/hw/sdma/sync.h": "sdma_test.cc, gfx10_test.cc, gfx12_test.cc",
    "drivers/amd/hw/stream/describe.h": "Doorbell's own",
    "drivers/amd/hw/stream/stream.h": "Doorbell's own",
    "drivers/amd/hw/topology.h": "names of files under /sys, which no header has",
    "drivers/amd/hw/usb/asm2464.h": "usb_bridge_test.cc in tests/drivers/amd",
}
