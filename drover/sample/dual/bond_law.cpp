#include "drover/sample/dual/bond_law.hpp"

#include <algorithm>
#include <cmath>

namespace drover {

BondLaw bond_law(double strength, double share, std::uint32_t states) {
  const double a = std::exp(-strength), others = states - 1.0;
  BondLaw law;
  law.bond = share * -std::expm1(-strength);
  if (share == 1) return law;
  const double ratio = a / (1 - law.bond);
  const double unlike =
      (1 - share) * -std::expm1(-strength) / (1 - law.bond);  // 1 - ratio, without cancellation
  const double growth = ratio / (1 + std::sqrt(unlike * (1 + others * ratio)));
  law.follow = 1 / (1 + others * growth * growth);
  law.either = 1 / (2 + (others - 1) * growth);
  law.gain = -std::log(growth);
  return law;
}

Value draw_bond_dual(const BondLaw& law, Value x, Value y, std::uint32_t states, double u) {
  const std::uint32_t favoured = x == y ? 1 : 2;  // values that the dual prefers
  const double each = x == y ? law.follow : law.either;
  if (u < each) return x;
  if (u < favoured * each) return y;
  if (states == favoured) return y;
  // One of the others, each as likely; counted without the preferred ones.
  const double rest = (u - favoured * each) / (1 - favoured * each) * (states - favoured);
  auto dual = static_cast<Value>(std::clamp<double>(std::floor(rest), 0, states - favoured - 1));
  if (dual >= std::min(x, y)) ++dual;
  if (x != y && dual >= std::max(x, y)) ++dual;
  return dual;
}

}  // namespace drover
