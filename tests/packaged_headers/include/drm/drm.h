// <linux/kfd_ioctl.h> includes <drm/drm.h>, which Debian and Ubuntu keep in libdrm-dev elsewhere.
// Nothing but that.
#pragma once

#include <libdrm/drm.h>
