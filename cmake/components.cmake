# The library, in components, each a static library that needs no more than it says:
#   core    models, inference, sampling, learning, their files (fmt, oneTBB, zlib, Highway, CaDiCaL, libLBFGS)
#   image   pictures as models, PNG files (libpng)
#   text    words, collections of documents, naive Bayes (ICU, libzip)
#   tag     chain and skip-chain models of tagged text (ICU; text)
#   report  results as HTML pages (ECharts from npm, inlined; whichever of the others are built)
#   serve   the live page (cpp-httplib)
#   cluster runs that several machines share (MPI, METIS); not part of drover, which needs neither
# drover is all that were built but cluster. A component whose needs are not met is left out, and that is said.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(TBB REQUIRED)
find_package(ZLIB REQUIRED)
find_package(nlohmann_json REQUIRED)
find_library(HWY_LIBRARY hwy REQUIRED)
find_library(CADICAL_LIBRARY cadical REQUIRED)
find_library(LBFGS_LIBRARY lbfgs REQUIRED)
mark_as_advanced(HWY_LIBRARY CADICAL_LIBRARY LBFGS_LIBRARY)

set(DROVER_LEFT_OUT "")
set(DROVER_BUILT "")

# drover_precompile(TARGET): reads the headers that most units include once for all of them, half a second of each. Every
# unit still includes what it uses: `make tidy` and the fuzzing build do without (CMAKE_DISABLE_PRECOMPILE_HEADERS).
function(drover_precompile target)
  if(target MATCHES "_(report|serve|app|experiments)$")
    # A precompiled header would bring its own -O2 back.
    set_target_properties(${target} PROPERTIES DROVER_COLD ON)
  elseif(target STREQUAL drover_core)
    target_precompile_headers(drover_core PRIVATE <fmt/format.h> <algorithm> <array> <cmath> <cstddef> <cstdint>
      <filesystem> <functional> <limits> <map> <memory> <numeric> <optional> <span> <string> <string_view>
      <unordered_map> <utility> <variant> <vector>)
  else()
    target_precompile_headers(${target} REUSE_FROM drover_core)
  endif()
endfunction()

# drover_batch(TARGET): with DROVER_BATCHES, neighbouring sources of a folder are compiled as one: most of a unit's time goes
# into templates that its neighbours need too. Up to eight of them where many processors share the work, a whole folder where
# there are few, which takes a fifth less of each. So names in a folder's unnamed namespaces differ from each
# other. Of vector kernels three are, in a file that goes through the instruction sets once for all of them (highway.h takes
# longer to read than a kernel). Sources with other options of their own stay alone. What leads others through their work
# has no loops of its own, and is compiled a third faster with -O1.
cmake_host_system_information(RESULT PROCESSORS QUERY NUMBER_OF_LOGICAL_CORES)
set(DROVER_BATCH_SIZE 8)
if(PROCESSORS LESS 8)
  set(DROVER_BATCH_SIZE 32)
endif()

function(drover_batch target)
  if(NOT DROVER_BATCHES)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  set(folders "")
  foreach(source ${sources})
    get_filename_component(folder ${source} DIRECTORY)
    string(REPLACE "${PROJECT_SOURCE_DIR}/" "" folder "${folder}")
    get_source_file_property(options ${source} COMPILE_OPTIONS)
    get_source_file_property(is_kernel ${source} DROVER_KERNEL)
    if(is_kernel)
      string(REGEX REPLACE "^(drover/[a-z]+).*" "\\1 kernels" folder "${folder}")
    elseif(options)
      continue()
    endif()
    string(MAKE_C_IDENTIFIER "${folder}" folder)
    list(APPEND folders ${folder})
    list(APPEND in_${folder} ${source})
  endforeach()
  list(REMOVE_DUPLICATES folders)
  foreach(folder ${folders})
    set(most ${DROVER_BATCH_SIZE})
    if(folder MATCHES "_kernels$")
      set(most 3)
    endif()
    list(LENGTH in_${folder} count)
    math(EXPR batches "(${count} + ${most} - 1) / ${most}")
    set(place 0)
    foreach(source ${in_${folder}})
      math(EXPR batch "${place} * ${batches} / ${count}")
      list(APPEND in_${folder}_${batch} ${source})
      math(EXPR place "${place} + 1")
    endforeach()
    math(EXPR last "${batches} - 1")
    foreach(batch RANGE ${last})
      if(folder MATCHES "_kernels$")
        set(again "#undef HWY_TARGET_INCLUDE\n#define HWY_TARGET_INCLUDE \"@file@\"\n")
        drover_batch_file(${target} ${folder}_${batch} -O3 "${again}#include <hwy/foreach_target.h>\n" "${again}"
                          ${in_${folder}_${batch}})
      elseif(folder MATCHES "^drover_(draw|methods|task)$")
        drover_batch_file(${target} ${folder}_${batch} -O1 "" "" ${in_${folder}_${batch}})
      else()
        set_source_files_properties(${in_${folder}_${batch}} PROPERTIES UNITY_GROUP ${folder}_${batch})
      endif()
    endforeach()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP UNITY_BUILD_CODE_BEFORE_INCLUDE
                        "${DROVER_BATCH_QUIET}")
endfunction()

# Names of another source are no concern, nor are hidden types in what g++ takes for a header.
set(DROVER_BATCH_QUIET "#pragma GCC diagnostic ignored \"-Wshadow\"
#ifndef __clang__
#pragma GCC diagnostic ignored \"-Wsubobject-linkage\"
#endif
")

function(drover_batch_file target name level before after)
  set(file ${PROJECT_BINARY_DIR}/batches/${target}_${name}.cpp)
  set(text "${DROVER_BATCH_QUIET}${before}")
  foreach(source ${ARGN})
    string(APPEND text "#include \"${source}\"\n")
  endforeach()
  file(CONFIGURE OUTPUT ${file} CONTENT "${text}${after}" @ONLY)
  set_source_files_properties(${ARGN} PROPERTIES HEADER_FILE_ONLY ON)
  set_source_files_properties(${file} PROPERTIES SKIP_PRECOMPILE_HEADERS ON SKIP_UNITY_BUILD_INCLUSION ON
                              COMPILE_OPTIONS $<$<CONFIG:Release>:${level}>)
  target_sources(${target} PRIVATE ${file})
endfunction()

add_library(drover INTERFACE)
add_library(drover::drover ALIAS drover)

# Units with vector kernels are worth a longer compilation: -O3 keeps the words of a random number in registers, and
# halves the time of a sweep. (A precompiled header would bring its own -O2 back.)
function(drover_speed_up)
  foreach(source ${ARGN})
    file(STRINGS ${source} kernels REGEX "hwy/foreach_target.h" LIMIT_COUNT 1)
    get_source_file_property(options ${source} COMPILE_OPTIONS)
    if(kernels AND NOT options)
      set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS $<$<CONFIG:Release>:-O3>)
      set_source_files_properties(${source} PROPERTIES SKIP_PRECOMPILE_HEADERS ON DROVER_KERNEL ON)
    endif()
  endforeach()
endfunction()

# drover_component(NAME SOURCE ...): makes drover_NAME (drover::NAME).
function(drover_component name)
  set(sources ${ARGN})
  if(DROVER_FUZZ)  # readers, and what they read into
    list(FILTER sources INCLUDE REGEX
         "/drover/((core|model|compile|diagnose|io|image)/|herd/(features|consistency)|numeric/|text/(corpus|demo_corpus|text_model_file|tokeniser|word_counts)|tag/(conll|entities|tagged_text|feature_templates|crf_features|crf_file|crf_model|crf_chain|crf_rows)|sample/(lane_random|dual/(dynamic_|bond_law))|run/(edit_stream|part_log|checkpoint|draw_journal))")
  endif()
  drover_speed_up(${sources})
  add_library(drover_${name} STATIC ${sources})
  add_library(drover::${name} ALIAS drover_${name})
  set_target_properties(drover_${name} PROPERTIES EXPORT_NAME ${name})
  target_include_directories(drover_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                             $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(drover_${name} PUBLIC cxx_std_20)
  target_link_libraries(drover_${name} PRIVATE $<BUILD_INTERFACE:drover_options>)
  if(NOT name STREQUAL cluster)  # whoever wants it names it
    target_link_libraries(drover INTERFACE drover_${name})
  endif()
  drover_precompile(drover_${name})
  drover_batch(drover_${name})
  set(DROVER_BUILT ${DROVER_BUILT} ${name} PARENT_SCOPE)
endfunction()

# drover_wants(NAME FOUND NEEDS): sets BUILD_NAME when the component is wanted and what it NEEDS was FOUND.
function(drover_wants name found needs)
  set(BUILD_${name} FALSE PARENT_SCOPE)
  if(NOT DROVER_COMPONENTS STREQUAL auto AND NOT name IN_LIST DROVER_COMPONENTS)
    set(DROVER_LEFT_OUT ${DROVER_LEFT_OUT} ${name} PARENT_SCOPE)
  elseif(${found})
    set(BUILD_${name} TRUE PARENT_SCOPE)
  elseif(DROVER_COMPONENTS STREQUAL auto)
    message(STATUS "drover: without the component ${name}, which needs ${needs}")
    set(DROVER_LEFT_OUT ${DROVER_LEFT_OUT} ${name} PARENT_SCOPE)
  else()
    message(FATAL_ERROR "drover: the component ${name} needs ${needs}")
  endif()
endfunction()

file(GLOB_RECURSE CORE_SOURCES CONFIGURE_DEPENDS drover/*.cpp)
# One call per question for what a component knows is part of that component.
list(FILTER CORE_SOURCES EXCLUDE REGEX "/drover/((image|text|tag|report|serve|cluster)/|task/(denoise|text|tag)\\.cpp$)")
# Long sums that go through memory.
set_source_files_properties(${PROJECT_SOURCE_DIR}/drover/run/segment_store.cpp
                            ${PROJECT_SOURCE_DIR}/drover/machine/fit.cpp
                            ${PROJECT_SOURCE_DIR}/drover/machine/gradient.cpp
                            ${PROJECT_SOURCE_DIR}/drover/machine/update_rule.cpp PROPERTIES
                            COMPILE_OPTIONS $<$<CONFIG:Release>:-O3> SKIP_PRECOMPILE_HEADERS ON)
# A sampler without vectors of its own whose loops over trees gain a tenth.
set_source_files_properties(${PROJECT_SOURCE_DIR}/drover/sample/dual/tree_primal_dual.cpp PROPERTIES
                            COMPILE_OPTIONS $<$<CONFIG:Release>:-O3> SKIP_PRECOMPILE_HEADERS ON)
# The plain loop that kernels are compared with is compiled as well as they are.
set_source_files_properties(${PROJECT_SOURCE_DIR}/drover/task/kernel_rates.cpp PROPERTIES
                            COMPILE_OPTIONS $<$<CONFIG:Release>:-O3> SKIP_PRECOMPILE_HEADERS ON)
# Products and sums stay apart where every instruction set must give the same bits; small loops are unrolled.
set_source_files_properties(${PROJECT_SOURCE_DIR}/drover/sample/gibbs/gibbs_spin_bytes.cpp
                            ${PROJECT_SOURCE_DIR}/drover/diagnose/segment_block.cpp PROPERTIES
                            COMPILE_OPTIONS "-ffp-contract=off;-O3" SKIP_PRECOMPILE_HEADERS ON)
drover_component(core ${CORE_SOURCES})
set_source_files_properties(drover/core/version.cpp PROPERTIES COMPILE_DEFINITIONS DROVER_VERSION="${PROJECT_VERSION}")
target_link_libraries(drover_core PUBLIC fmt::fmt TBB::tbb ZLIB::ZLIB Threads::Threads nlohmann_json::nlohmann_json
                      PRIVATE hwy cadical lbfgs ${CMAKE_DL_LIBS})
# DROVER_SIMD is read before main by a constant that nothing refers to (drover/core/simd.cpp).
target_link_options(drover_core INTERFACE LINKER:-u,drover_simd_from_environment)

find_package(PNG QUIET)
drover_wants(image PNG_FOUND "libpng (libpng-dev)")
if(BUILD_image)
  file(GLOB IMAGE_SOURCES CONFIGURE_DEPENDS drover/image/*.cpp)
  drover_component(image ${IMAGE_SOURCES} ${PROJECT_SOURCE_DIR}/drover/task/denoise.cpp)
  target_link_libraries(drover_image PUBLIC drover_core PRIVATE PNG::PNG)
endif()

find_library(ICU_LIBRARY icuuc)
find_path(ICU_INCLUDE unicode/ubrk.h)
find_library(ZIP_LIBRARY zip)
find_path(ZIP_INCLUDE zip.h)
mark_as_advanced(ICU_LIBRARY ICU_INCLUDE ZIP_LIBRARY ZIP_INCLUDE)
set(TEXT_FOUND FALSE)
if(ICU_LIBRARY AND ICU_INCLUDE AND ZIP_LIBRARY AND ZIP_INCLUDE)
  set(TEXT_FOUND TRUE)
endif()
drover_wants(text TEXT_FOUND "ICU and libzip (libicu-dev, libzip-dev)")
if(BUILD_text)
  file(GLOB TEXT_SOURCES CONFIGURE_DEPENDS drover/text/*.cpp)
  drover_component(text ${TEXT_SOURCES} ${PROJECT_SOURCE_DIR}/drover/task/text.cpp)
  target_link_libraries(drover_text PUBLIC drover_core PRIVATE icuuc zip)
endif()

drover_wants(tag BUILD_text "the component text")
if(BUILD_tag)
  file(GLOB TAG_SOURCES CONFIGURE_DEPENDS drover/tag/*.cpp)
  drover_component(tag ${TAG_SOURCES} ${PROJECT_SOURCE_DIR}/drover/task/tag.cpp)
  target_link_libraries(drover_tag PUBLIC drover_text PRIVATE icuuc)
endif()

set(ECHARTS ${PROJECT_SOURCE_DIR}/node_modules/echarts/dist/echarts.min.js CACHE FILEPATH "The charts of the report")
set(ECHARTS_FOUND FALSE)
if(EXISTS ${ECHARTS})
  set(ECHARTS_FOUND TRUE)
endif()
drover_wants(report ECHARTS_FOUND "ECharts from npm (tools/setup_npm.sh fetches it)")
if(BUILD_report AND NOT DROVER_FUZZ)
  file(GLOB REPORT_SOURCES CONFIGURE_DEPENDS drover/report/*.cpp)
  # Pages of what other components answer, as far as those are built.
  foreach(component_and_pages "image=denoise" "text=text" "tag=tag|tagger")
    string(REGEX MATCH "^[a-z]+" component ${component_and_pages})
    string(REGEX REPLACE "^[a-z]+=" "" pages ${component_and_pages})
    if(NOT BUILD_${component})
      list(FILTER REPORT_SOURCES EXCLUDE REGEX "/(${pages})_page.cpp$")
    endif()
  endforeach()
  drover_component(report ${REPORT_SOURCES})
  target_link_libraries(drover_report PUBLIC drover_core)
  foreach(component image text tag)
    if(BUILD_${component})
      target_link_libraries(drover_report PUBLIC drover_${component})
    endif()
  endforeach()
  # The page carries its script, style and charts inside the library.
  include(cmake/embed.cmake)
  set(WEB ${PROJECT_SOURCE_DIR}/web)
  drover_embed(drover_report report_html ${WEB}/report.html report_css ${WEB}/report.css
               selftest_js ${WEB}/selftest.js draw_js ${WEB}/draw.js marginals_js ${WEB}/marginals.js
               sections_js ${WEB}/sections.js report_js ${WEB}/report.js echarts_js ${ECHARTS})
endif()

find_path(HTTPLIB_INCLUDE httplib.h)
find_library(HTTPLIB_LIBRARY cpp-httplib)
mark_as_advanced(HTTPLIB_INCLUDE HTTPLIB_LIBRARY)
set(UPLOT ${PROJECT_SOURCE_DIR}/node_modules/uplot/dist CACHE PATH "The charts of the live page")
set(SERVE_FOUND FALSE)
if(HTTPLIB_INCLUDE AND HTTPLIB_LIBRARY AND EXISTS ${UPLOT}/uPlot.esm.js)
  set(SERVE_FOUND TRUE)
endif()
drover_wants(serve SERVE_FOUND "cpp-httplib (libcpp-httplib-dev) and uPlot from npm (tools/setup_npm.sh fetches it)")
if(BUILD_serve AND NOT DROVER_FUZZ)
  include(cmake/embed.cmake)
  file(GLOB SERVE_SOURCES CONFIGURE_DEPENDS drover/serve/*.cpp)
  drover_component(serve ${SERVE_SOURCES})
  target_link_libraries(drover_serve PUBLIC drover_core PRIVATE cpp-httplib)
  # As Debian built the library: the size of its types depends on it.
  set_source_files_properties(drover/serve/http_server.cpp PROPERTIES COMPILE_DEFINITIONS CPPHTTPLIB_OPENSSL_SUPPORT)
  set(LIVE ${PROJECT_SOURCE_DIR}/web/live)
  drover_embed(drover_serve live_index_html ${LIVE}/index.html live_live_css ${LIVE}/live.css
               live_main_js ${LIVE}/main.js live_tools_js ${LIVE}/tools.js live_network_js ${LIVE}/network.js
               live_panels_js ${LIVE}/panels.js live_run_js ${LIVE}/run.js live_plot_js ${LIVE}/plot.js
               live_picture_js ${LIVE}/picture.js live_uplot_js ${UPLOT}/uPlot.esm.js
               live_uplot_css ${UPLOT}/uPlot.min.css
               live_sprinkler_bif ${PROJECT_SOURCE_DIR}/models/sprinkler.bif)
endif()

find_package(MPI QUIET COMPONENTS CXX)
find_library(METIS_LIBRARY metis)
find_path(METIS_INCLUDE metis.h)
mark_as_advanced(METIS_LIBRARY METIS_INCLUDE)
set(CLUSTER_FOUND FALSE)
if(MPI_CXX_FOUND AND METIS_LIBRARY AND METIS_INCLUDE)
  set(CLUSTER_FOUND TRUE)
endif()
drover_wants(cluster CLUSTER_FOUND "MPI and METIS (make mpi installs them)")
if(BUILD_cluster AND NOT DROVER_FUZZ)
  file(GLOB CLUSTER_SOURCES CONFIGURE_DEPENDS drover/cluster/*.cpp)
  drover_component(cluster ${CLUSTER_SOURCES})
  target_link_libraries(drover_cluster PUBLIC drover_core PRIVATE MPI::MPI_CXX metis)
endif()
