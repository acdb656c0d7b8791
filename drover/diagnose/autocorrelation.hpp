// Autocovariances by the fast Fourier transform, O(n log n) a chain.
//
// Wiener-Khinchin: the autocovariance is the inverse transform of the power spectrum of the centred series,
// padded with zeros to at least twice its length. The transform is linear, so the spectra of all chains are
// added and only the sum is transformed back; two real chains share one complex transform, because
// |Z_k|^2 + |Z_-k|^2 = 2 |X_k|^2 + 2 |Y_k|^2 for z = x + i y.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "drover/core/run_control.hpp"
#include "drover/diagnose/draws.hpp"

namespace drover {

/// Lags 0 .. draws - 1 of the autocovariance (divisor: draws, whatever the lag), averaged over the chains.
std::vector<double> mean_autocovariance(Draws draws, const RunControl& control = no_control());

/// Lags 0 .. max_lag of the autocorrelation within chains, averaged over chains by variance; NaN when
/// undiagnosable or when every chain sticks to one value.
std::vector<double> autocorrelation(Draws draws, std::size_t max_lag);

}  // namespace drover
