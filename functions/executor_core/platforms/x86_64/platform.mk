# Wheel tags that the x86_64 Lambda runtime (Amazon Linux 2023, glibc 2.34) accepts, newest first.
PLATFORM_TAGS := manylinux_2_34_x86_64 manylinux_2_28_x86_64 manylinux_2_17_x86_64 manylinux2014_x86_64
