// How a program stops the host's waits for queues: a language's runtime that handles Ctrl-C, say,
// gives a function that every long wait asks now and then.
//
// Thread safety: from any thread.
#pragma once

namespace doorbell::hcq {

// True: the wait ends with an error; the queue goes on.
using InterruptCheck = bool (*)();
void set_interrupt_check(InterruptCheck check);
bool is_interrupted();

}  // namespace doorbell::hcq
