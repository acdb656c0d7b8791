// The residual schedule between spins: the messages that would change most are sent first.
//
// Source: Elidan, McGraw and Koller, Residual belief propagation, UAI 2006; taking several of nearly equal
// residual at once as in Aksenov, Alistarh and Korhonen, Relaxed scheduling for scalable belief propagation,
// NeurIPS 2020.
//
// Every message has a proposal, what it would be now, and its change. Messages wait in queues by the binary
// exponent of their change. A step takes the first ones of the highest queue (at most one in 512 of all, so
// that small graphs are done one by one), sends them, and makes new proposals for all that their receivers
// send, in one vector stretch. So what is sent always has more than half of the largest change there is. An
// iteration is as many messages as there are.
//
// When it is slow: a message to a variable of degree d costs d new proposals. One thread.
#pragma once

#include "drover/infer/spin_engine.hpp"

namespace drover {

std::unique_ptr<SpinEngine> spin_residual(const SpinProblem& problem);

}  // namespace drover
