// The residual schedule between spins: the messages that would change most are sent first.
//
// Source: Elidan, McGraw and Koller, Residual belief propagation, UAI 2006; taking several of nearly equal
// residual at once as in Aksenov, Alistarh and Korhonen, Relaxed scheduling for scalable belief propagation,
// NeurIPS 2020.
//
// Every message has a proposal, what it would be now, and its change. In a round all messages are sent whose change
// exceeds nine tenths of the largest there is, in the order in which they lie, and then new proposals are made for
// all that their receivers send. On small and on frustrated graphs that is nearly one message after the other, and
// converges as often; where a large graph has become calm but for some places, a round goes through those. An
// iteration is as many messages as there are.
//
// Damping is laid aside as long as every iteration so far has at least halved the largest change, and kept from the
// first that has not: a calm problem needs none, and would send every message nearly four times as often for it; a frustrated
// one shows itself within the first iterations.
//
// There is no queue: changes lie beside the messages, with the largest of every 64 and of every 64 of those, so that a
// round finds what it sends by going down where something is. What a variable receives and what it sends lie by
// variable, in whole vectors: a proposal reads and writes nothing but stretches, and only what is sent goes elsewhere.
//
// When it is slow: a message to a variable of degree d costs d new proposals. One thread.
#pragma once

#include "drover/infer/spin_engine.hpp"

namespace drover {

std::unique_ptr<SpinEngine> spin_residual(const SpinProblem& problem);

}  // namespace drover
