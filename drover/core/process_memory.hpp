// What this process takes of the machine's memory, as the system counts it.
#pragma once

namespace drover {

double resident_bytes();       ///< now; 0 where the system does not say
double peak_resident_bytes();  ///< the most it ever was

}  // namespace drover
