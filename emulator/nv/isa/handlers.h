// The handlers that the table of isa/opcode.cc names. Each executes one instruction for the running
// lanes of a warp.
#pragma once

#include <optional>

#include "emulator/nv/isa/opcode.h"

namespace doorbell::emu::nvgpu {

Flow move(Warp& warp, const Operation& op);
Flow predicates_to_register(Warp& warp, const Operation& op);
Flow register_to_predicates(Warp& warp, const Operation& op);
Flow clock_to_register(Warp& warp, const Operation& op);
Flow vote(Warp& warp, const Operation& op);
Flow select(Warp& warp, const Operation& op);
Flow select_float(Warp& warp, const Operation& op);
Flow permute(Warp& warp, const Operation& op);
Flow predicate_logic(Warp& warp, const Operation& op);
Flow special_to_register(Warp& warp, const Operation& op);
Flow compare_integers(Warp& warp, const Operation& op);
Flow minimum_of_three(Warp& warp, const Operation& op);
Flow add3(Warp& warp, const Operation& op);
Flow add3_64(Warp& warp, const Operation& op);
Flow scaled_add(Warp& warp, const Operation& op);
Flow logic3(Warp& warp, const Operation& op);
Flow absolute(Warp& warp, const Operation& op);
Flow absolute_difference(Warp& warp, const Operation& op);
Flow minimum_integer(Warp& warp, const Operation& op);
Flow funnel_shift(Warp& warp, const Operation& op);
Flow sign_extend(Warp& warp, const Operation& op);
Flow bit_mask(Warp& warp, const Operation& op);
Flow multiply_add(Warp& warp, const Operation& op);
Flow multiply_add_wide(Warp& warp, const Operation& op);
Flow dot_product(Warp& warp, const Operation& op);
Flow multiply_add_high(Warp& warp, const Operation& op);
Flow add2(Warp& warp, const Operation& op);
Flow add_minimum(Warp& warp, const Operation& op);
Flow minimum_vector(Warp& warp, const Operation& op);
Flow find_leading_one(Warp& warp, const Operation& op);
Flow reverse_bits(Warp& warp, const Operation& op);
Flow count_ones(Warp& warp, const Operation& op);
Flow minimum_float(Warp& warp, const Operation& op);
Flow set_float(Warp& warp, const Operation& op);
Flow compare_floats(Warp& warp, const Operation& op);
Flow multiply_float(Warp& warp, const Operation& op);
Flow add_float(Warp& warp, const Operation& op);
Flow fused_float(Warp& warp, const Operation& op);
Flow check_division(Warp& warp, const Operation& op);
Flow approximate(Warp& warp, const Operation& op);
Flow multiply_double(Warp& warp, const Operation& op);
Flow add_double(Warp& warp, const Operation& op);
Flow compare_doubles(Warp& warp, const Operation& op);
Flow fused_double(Warp& warp, const Operation& op);
Flow add_halves(Warp& warp, const Operation& op);
Flow fused_halves(Warp& warp, const Operation& op);
Flow multiply_halves(Warp& warp, const Operation& op);
Flow set_halves(Warp& warp, const Operation& op);
Flow compare_halves(Warp& warp, const Operation& op);
Flow minimum_halves(Warp& warp, const Operation& op);
Flow pack_floats(Warp& warp, const Operation& op);
Flow integer_to_float(Warp& warp, const Operation& op);
Flow float_to_float(Warp& warp, const Operation& op);
Flow float_to_integer(Warp& warp, const Operation& op);
Flow round_float(Warp& warp, const Operation& op);
Flow load_constant(Warp& warp, const Operation& op);
Flow register_to_uniform(Warp& warp, const Operation& op);
Flow reduce_lanes(Warp& warp, const Operation& op);
Flow load_generic(Warp& warp, const Operation& op);
Flow load_global(Warp& warp, const Operation& op);
Flow load_local(Warp& warp, const Operation& op);
Flow load_shared(Warp& warp, const Operation& op);
Flow store_generic(Warp& warp, const Operation& op);
Flow store_global(Warp& warp, const Operation& op);
Flow store_local(Warp& warp, const Operation& op);
Flow store_shared(Warp& warp, const Operation& op);
Flow atomic_generic(Warp& warp, const Operation& op);
Flow atomic_shared(Warp& warp, const Operation& op);
Flow compare_exchange_shared(Warp& warp, const Operation& op);
Flow reduce_global(Warp& warp, const Operation& op);
Flow atomic_global(Warp& warp, const Operation& op);
Flow compare_exchange_global(Warp& warp, const Operation& op);
// Where a branch or a call at `pc` goes; 0: where a register says. Nothing for other instructions,
// and for those that return.
std::optional<u64> jump_target(const Operation& op, u64 pc);
Flow register_beyond_count(Warp& warp, const Operation& op);  // in place of the instruction
Flow no_operation(Warp& warp, const Operation& op);
Flow drop_cached(Warp& warp, const Operation& op);  // the L1 forgets what it holds
Flow multiply_matrices(Warp& warp, const Operation& op);
Flow multiply_warpgroup(Warp& warp, const Operation& op);
Flow load_matrix(Warp& warp, const Operation& op);
Flow transpose_matrix(Warp& warp, const Operation& op);
Flow store_matrix(Warp& warp, const Operation& op);
Flow copy_block(Warp& warp, const Operation& op);
Flow copy_box(Warp& warp, const Operation& op);
Flow elect_lane(Warp& warp, const Operation& op);
Flow copy_to_shared(Warp& warp, const Operation& op);
Flow commit_copies(Warp& warp, const Operation& op);
Flow wait_for_scoreboard(Warp& warp, const Operation& op);
Flow synchronize(Warp& warp, const Operation& op);
Flow exchange_mbarrier(Warp& warp, const Operation& op);
Flow invalidate_mbarrier(Warp& warp, const Operation& op);
Flow arrive_after_copies(Warp& warp, const Operation& op);
Flow shuffle(Warp& warp, const Operation& op);
Flow match_lanes(Warp& warp, const Operation& op);
Flow barrier_to_register(Warp& warp, const Operation& op);
Flow block_barrier(Warp& warp, const Operation& op);
Flow convergence_wait(Warp& warp, const Operation& op);
Flow convergence_break(Warp& warp, const Operation& op);
Flow call_absolute(Warp& warp, const Operation& op);
Flow call_relative(Warp& warp, const Operation& op);
Flow convergence_set(Warp& warp, const Operation& op);
Flow yield_lanes(Warp& warp, const Operation& op);
Flow branch(Warp& warp, const Operation& op);
Flow end_collective(Warp& warp, const Operation& op);
Flow warp_sync(Warp& warp, const Operation& op);
Flow branch_indexed(Warp& warp, const Operation& op);
Flow exit_lanes(Warp& warp, const Operation& op);
Flow return_lanes(Warp& warp, const Operation& op);
Flow convergence_to_register(Warp& warp, const Operation& op);
Flow register_to_convergence(Warp& warp, const Operation& op);
Flow move_return_address(Warp& warp, const Operation& op);
Flow trap(Warp& warp, const Operation& op);

// Of whatever has no other handler: stops the warp.
Flow unknown_instruction(Warp& warp, const Operation& op);
// False: not all lanes execute an instruction that they must execute together, and the warp is
// stopped.
bool check_whole_warp(Warp& warp, const Operation& op);
// Of an operation with an operand beyond a constant bank: stops the warp.
Flow constant_beyond_bank(Warp& warp, const Operation& op);

}  // namespace doorbell::emu::nvgpu
