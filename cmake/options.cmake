# drover_options: what every unit is compiled with.
add_library(drover_options INTERFACE)
# g++ 12 warns of overlapping copies inside std::string where there are none (-Wrestrict, its bug 105651).
target_compile_options(drover_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow
                       $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
# What sanitizers add to the code makes g++ see faults that are none: there its warnings stay warnings.
if(DROVER_DEVELOPER AND NOT DROVER_SANITIZE)
  target_compile_options(drover_options INTERFACE -Werror)
endif()
# -O2: -O3 costs a third more compiling, and only vector kernels gain by it (cmake/components.cmake gives it to them).
# Targets of pages, tables and parsing (DROVER_COLD) are compiled a fifth faster with -O1.
# A function may be inlined though the code could go into a shared library.
target_compile_options(drover_options INTERFACE
                       $<$<CONFIG:Release>:$<IF:$<BOOL:$<TARGET_PROPERTY:DROVER_COLD>>,-O1,-O2>>
                       $<$<CXX_COMPILER_ID:GNU>:-fno-semantic-interposition>)
# For ccache, where headers are precompiled.
target_compile_options(drover_options INTERFACE $<$<AND:$<CXX_COMPILER_ID:GNU>,$<BOOL:${CCACHE}>>:-fpch-preprocess>)

# The compiler gathers what it no longer needs from 128 MB on; a batch of sources needs more, and is done sooner without.
if(DROVER_BATCHES)
  target_compile_options(drover_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=1048576>)
endif()

# Addresses of other libraries' functions are found at the start and then cannot be written any more.
target_link_options(drover_options INTERFACE LINKER:-z,relro,-z,now)

# Kernels are compiled once per instruction set, and the processor chooses when the program runs: SSE4, AVX2, AVX-512
# with vector AES (which random numbers are made of). All other code may use the first of them too, AES included.
# An older processor needs -DDROVER_X86_LEVEL=x86-64, which adds a slow portable form of every kernel; without it the
# program says at its start that the processor is too old.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  set(DROVER_X86_LEVEL x86-64-v2 CACHE STRING "The oldest x86 processors that the build runs on")
  target_compile_options(drover_options INTERFACE -march=${DROVER_X86_LEVEL})
  if(NOT DROVER_X86_LEVEL STREQUAL x86-64)
    target_compile_options(drover_options INTERFACE -maes -mpclmul)
  endif()
  target_compile_definitions(drover_options INTERFACE HWY_WANT_AVX3_DL
                             "HWY_DISABLED_TARGETS=(HWY_SSSE3|HWY_AVX3)")
  include(CheckLinkerFlag)
  if(NOT DROVER_X86_LEVEL STREQUAL x86-64)
    check_linker_flag(CXX -Wl,-z,${DROVER_X86_LEVEL} DROVER_LINKER_MARKS_LEVEL)
    if(DROVER_LINKER_MARKS_LEVEL)
      target_link_options(drover_options INTERFACE -Wl,-z,${DROVER_X86_LEVEL})
    endif()
  endif()
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  # Vectors of a length that only the processor knows cannot stand in arrays, which kernels have.
  target_compile_definitions(drover_options INTERFACE "HWY_DISABLED_TARGETS=(HWY_SVE|HWY_SVE2|HWY_SVE_256|HWY_SVE2_128)")
endif()

if(DROVER_SANITIZE)
  if(DROVER_SANITIZE STREQUAL thread)  # see drover/core/parallel.cpp
    target_compile_definitions(drover_options INTERFACE DROVER_THREAD_SANITIZER)
    set_source_files_properties(drover/core/parallel.cpp PROPERTIES COMPILE_OPTIONS -fno-sanitize=thread SKIP_PRECOMPILE_HEADERS ON)
  endif()
  target_compile_options(drover_options INTERFACE -fsanitize=${DROVER_SANITIZE} -fno-omit-frame-pointer
                         -fno-sanitize-recover=all)
  target_link_options(drover_options INTERFACE -fsanitize=${DROVER_SANITIZE})
  target_compile_definitions(drover_options INTERFACE HWY_COMPILE_ONLY_STATIC)  # each line of a kernel once
  # Most of the time goes into loops of the library, and compiling a test takes longer than what it does itself.
  target_compile_options(drover_options INTERFACE $<$<BOOL:$<TARGET_PROPERTY:DROVER_COLD>>:-O0>)
endif()
if(DROVER_FUZZ)  # one instruction set: what is hunted are faults of readers
  # Inlining what has been instrumented takes a fifth of the compiling.
  target_compile_options(drover_options INTERFACE "SHELL:-mllvm -inline-threshold=10")
  # Checks of every pointer that is followed take a quarter of the compiling; the address sanitizer sees the ones that matter,
  # and `make sanitize` has them all.
  target_compile_options(drover_options INTERFACE -fsanitize=address,undefined,fuzzer-no-link
                         -fno-sanitize=null,alignment,vptr,object-size)
  # Checks of addresses by calls: a fifth less compiling than with each of them written out.
  target_compile_options(drover_options INTERFACE "SHELL:-mllvm -asan-instrumentation-with-call-threshold=0")
  target_compile_definitions(drover_options INTERFACE HWY_COMPILE_ONLY_STATIC)
endif()
