# Wheel tags that the arm64 Lambda runtime (Amazon Linux 2023, glibc 2.34) accepts, newest first.
PLATFORM_TAGS := manylinux_2_34_aarch64 manylinux_2_28_aarch64 manylinux_2_17_aarch64 manylinux2014_aarch64
