# The command: a thin layer over the library. The papers' experiments are a second program, which `drover reproduce`
# starts, so that nobody waits for them to be built who does not want them.
find_package(CLI11 REQUIRED)
file(GLOB APP_SOURCES CONFIGURE_DEPENDS app/*.cpp)
list(FILTER APP_SOURCES EXCLUDE REGEX "/app/(drover|drover_mpi|drover_reproduce|reproduce)\\.cpp$")
add_library(drover_app STATIC ${APP_SOURCES})
target_link_libraries(drover_app PUBLIC drover PRIVATE drover_options CLI11::CLI11)
if(TARGET drover_serve)
  set_source_files_properties(app/serve.cpp PROPERTIES COMPILE_DEFINITIONS DROVER_SERVE)
endif()
# drover-reproduce has a run_reproduce() of its own: the linker can leave this one out while it is alone in its object.
set_source_files_properties(app/start_reproduce.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
drover_precompile(drover_app)
drover_batch(drover_app)
add_executable(drover_command app/drover.cpp)
set_target_properties(drover_command PROPERTIES OUTPUT_NAME drover)
target_link_libraries(drover_command PRIVATE drover_app drover_options)

# The same commands for several processes.
if(TARGET drover_cluster)
  add_executable(drover_mpi app/drover_mpi.cpp)
  set_target_properties(drover_mpi PROPERTIES OUTPUT_NAME drover-mpi)
  target_link_libraries(drover_mpi PRIVATE drover_app drover_cluster drover_options)
endif()

if(DROVER_SANITIZE)  # which look at what the tests run
  return()
endif()
file(GLOB EXPERIMENT_SOURCES CONFIGURE_DEPENDS experiments/*.cpp)
add_library(drover_experiments STATIC ${EXPERIMENT_SOURCES})
target_link_libraries(drover_experiments PUBLIC drover PRIVATE drover_options)
set_source_files_properties(experiments/pictures.cpp PROPERTIES COMPILE_DEFINITIONS DROVER_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
drover_precompile(drover_experiments)
drover_batch(drover_experiments)
# Its own run_reproduce() stands before the one in drover_app, which starts this program.
add_executable(drover_reproduce app/drover_reproduce.cpp app/reproduce.cpp)
set_target_properties(drover_reproduce PROPERTIES OUTPUT_NAME drover-reproduce)
target_link_libraries(drover_reproduce PRIVATE drover_app drover_experiments drover_options)
