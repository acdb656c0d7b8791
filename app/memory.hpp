// The memory limit that a person states holds for the whole program: what no method predicts (readers, plans,
// results) is refused by the system when it would go beyond.
#pragma once

namespace drover::app {

/// From now on the program's data may grow by this many gigabytes.
void limit_memory(double gigabytes);
/// What limit_memory() was told, 0 when nothing.
double memory_limit();

}  // namespace drover::app
