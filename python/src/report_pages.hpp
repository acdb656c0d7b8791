// Answers as pages of HTML, where the component report was built; else page_of() says that it was not.
#pragma once

#ifdef DROVER_REPORT

#include "drover/report/diagnose_page.hpp"
#include "drover/report/herd_page.hpp"
#include "drover/report/learn_page.hpp"
#include "drover/report/pages.hpp"

#else

#include <string>

#include "drover/core/error.hpp"

namespace drover {

template <class... Any>
std::string page_of(const Any&...) {
  throw Error(
      ErrorKind::misfit,
      "this drover was built without its report, which needs ECharts (tools/setup_npm.sh fetches it)");
}

}  // namespace drover

#endif
