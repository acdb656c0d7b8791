// How the program takes memory. The memory limit that a person states holds for the whole program: what no method predicts (readers, plans,
// results) is refused by the system when it would go beyond.
#pragma once

namespace drover::app {

/// Freed memory of some size is kept for the next use of it; to be called before there is much of either.
void keep_freed_memory();
/// From now on the program's data may grow by this many gigabytes.
void limit_memory(double gigabytes);
/// What limit_memory() was told, 0 when nothing.
double memory_limit();

}  // namespace drover::app
